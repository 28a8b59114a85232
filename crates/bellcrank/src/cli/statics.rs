//! `bellcrank statics MODEL`.

use crate::cli::{Failure, output, print};
use bellcrank_model::System;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::dynamics::roles::*;
use bellcrank_results::Folder;
use bellcrank_results::csv::quoted;
use bellcrank_results::json::Object;
use bellcrank_results::names::{STATICS_CSV, STATICS_JSON};
use bellcrank_solve::analyses::continuation::{Continuation, ContinuationError, Rest, values};
use bellcrank_solve::analyses::statics::Stability;
use bellcrank_solve::record::{Header, Recorder};
use clap::Args;
use serde_json::{Map, Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `statics`.
#[derive(Args)]
pub struct Statics {
    /// The model file (.toml or .json).
    model: String,
    /// Changes a value of the file in steps and follows the equilibrium, such as --follow force.push.force.1=0..-500:10.
    #[arg(long, value_name = "K=FROM..TO:STEPS", allow_hyphen_values = true)]
    follow: Option<String>,
    /// Evaluates loads and drives at this time, in s.
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    time: f64,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes statics.json, statics.csv and a scene of the equilibria, for `bellcrank view`, to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints one JSON object with poses, reactions and stability.
    #[arg(long)]
    json: bool,
}

/// A value that is followed: its path and the values it takes.
struct Follow {
    path: String,
    values: Vec<f64>,
}

impl Follow {
    fn parse(text: &str) -> Result<Follow, Failure> {
        let wrong = |what: &str| {
            let help = "write it like --follow force.push.force.1=0..-500:10, from and to a number in 10 steps";
            Failure::BadInput(format!("--follow {text}: {what}\nhelp: {help}"))
        };
        let (path, range) = text.rsplit_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (span, steps) = range.rsplit_once(':').ok_or_else(|| wrong("the number of steps is missing"))?;
        let (from, to) = span.split_once("..").ok_or_else(|| wrong("there is no range `from..to`"))?;
        let number = |x: &str| x.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(wrong("the range is not of two numbers"));
        };
        let steps = steps.trim().parse::<usize>().ok().filter(|n| (1..=100_000).contains(n));
        let steps = steps.ok_or_else(|| wrong("the number of steps must lie between 1 and 100000"))?;
        Ok(Follow { path: path.trim().to_string(), values: values(from, to, steps).collect() })
    }
}

/// An equilibrium, and the value it was found at.
struct EquilibriumAt {
    value: Option<f64>,
    rest: Rest,
}

/// Finds the equilibrium of a model, or a row of them.
pub fn run(args: Statics) -> Result<(), Failure> {
    let follow = args.follow.as_deref().map(Follow::parse).transpose()?;
    let values: Vec<Option<f64>> = match &follow {
        Some(f) => f.values.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    let mut continuation = Continuation::new(args.time);
    let mut found: Vec<EquilibriumAt> = Vec::new();
    let (mut last, mut failure) = (None, None);
    for value in values {
        let (mut set, mut at) = (args.set.clone(), String::new());
        if let (Some(f), Some(value)) = (&follow, value) {
            set.push(format!("{}={value:?}", f.path));
            at = format!(" at {} = {value}", f.path);
        }
        let system = Arc::new(output::read(&args.model, &set)?.model.compile());
        match continuation.next(&system) {
            Ok(rest) => found.push(EquilibriumAt { value, rest }),
            Err(ContinuationError::Assembly(e)) => return Err(Failure::BadInput(format!("{}: {e}", args.model))),
            Err(ContinuationError::Statics(e)) => {
                // what was found up to there is told all the same
                failure = Some(Failure::Failed(format!("{}{at}: {e}", args.model)));
                break;
            }
        }
        last = Some(system);
    }
    if let Some(system) = &last {
        tell(&args, follow.as_ref(), system, &found)?;
    }
    failure.map_or(Ok(()), Err)
}

/// Channels that mean something at rest: no rates, no accelerations.
fn still(unit: &str, name: &str) -> bool {
    !matches!(unit, "m/s" | "rad/s" | "m/s²") && !name.starts_with("energy.kinetic")
}

/// What was found, and the channels that are told of it.
struct Told<'a> {
    system: &'a Arc<System>,
    follow: Option<&'a Follow>,
    found: &'a [EquilibriumAt],
    channels: Vec<Channel>,
    /// Which of the channels mean something at rest.
    kept: Vec<usize>,
}

fn tell(args: &Statics, follow: Option<&Follow>, system: &Arc<System>, found: &[EquilibriumAt]) -> Result<(), Failure> {
    let channels = system.channels();
    let kept = (0..channels.len()).filter(|i| still(channels[*i].unit, &channels[*i].name)).collect();
    let told = Told { system, follow, found, channels, kept };
    let object = told.object();
    match args.json {
        true => print(&object.to_string())?,
        false => told.to_people()?,
    }
    let Some(dir) = &args.out else { return Ok(()) };
    let mut folder = output::folder_of("statics", dir, system)?;
    folder.add(STATICS_JSON, format!("{object:#}\n"));
    folder.add(STATICS_CSV, told.csv());
    output::recorded(dir, told.record(&mut folder))
}

impl Told<'_> {
    fn object(&self) -> Value {
        let one = |f: &EquilibriumAt| {
            let value = |i: &usize| (self.channels[*i].name.clone(), json!(f.rest.channels[*i]));
            let values: Map<String, Value> = self.kept.iter().map(value).collect();
            let e = &f.rest.equilibrium;
            let eigenvalues = |s: &Stability| s.eigenvalues.iter().take(20).copied().collect::<Vec<_>>();
            json!({
                "value": f.value,
                "stability": f.label(),
                "stiffness_eigenvalues": e.stability.as_ref().map(eigenvalues),
                "negative": e.stability.as_ref().map(|s| s.negative),
                "beyond": e.beyond.iter().map(|b| format!("{} {}", b.name, b.limit.words(b.ratio))).collect::<Vec<_>>(),
                "free": e.stability.as_ref().map(|s| s.free.clone()),
                "residual": e.residual,
                "steps": e.steps,
                "iterations": e.iterations,
                "redundant_equations": e.redundant,
                "reactions_unique": e.redundant == 0,
                "final": values,
            })
        };
        json!({
            "model": self.system.model.name,
            "follows": self.follow.map(|f| f.path.clone()),
            "equilibria": self.found.iter().map(one).collect::<Vec<_>>(),
        })
    }

    /// A frame for each equilibrium, one second apart; each is a chapter of its own.
    fn record(&self, out: &mut Folder) -> io::Result<()> {
        let mut channels = self.channels.clone();
        if let Some(follow) = self.follow {
            channels.push(Channel { name: follow.path.clone(), unit: "" });
        }
        out.begin(&Header { model: self.system.model.name.clone(), channels })?;
        let mut chapters = Vec::new();
        for (k, f) in self.found.iter().enumerate() {
            let mut values = f.rest.channels.clone();
            values.extend(f.value.filter(|_| self.follow.is_some()));
            out.frame(k as f64, &values)?;
            let name = match (self.follow, f.value) {
                (Some(follow), Some(value)) => format!("{} = {value}", follow.path),
                _ => "Equilibrium".to_string(),
            };
            chapters.push(json!({"name": name, "from": k, "to": k, "facts": f.facts()}));
        }
        let t = self.found.len().saturating_sub(1);
        out.end(&Object::new(json!({"analysis": "statics", "status": "finished", "t": t, "chapters": chapters})))
    }

    fn to_people(&self) -> Result<(), Failure> {
        if let Some(follow) = self.follow {
            crate::cli::tell(&format!("{}: follows {}", self.system.model.name, follow.path));
            let mut out = format!("{:>16}  {:>9}  {:>12}  {:>6}\n", "value", "stability", "residual", "steps");
            for f in self.found {
                out += &format!(
                    "{:>16}  {:>9}  {:>12.2e}  {:>6}\n",
                    output::nine_digits(f.value.unwrap_or(0.0)),
                    f.label(),
                    f.rest.equilibrium.residual,
                    f.rest.equilibrium.steps
                );
            }
            print(&out)?;
        }
        let Some(last) = self.found.last() else { return Ok(()) };
        let e = &last.rest.equilibrium;
        crate::cli::tell(&format!(
            "{}: {} in {} and {}, {:.1e} of the forces unbalanced",
            self.system.model.name,
            last.words(),
            output::plural(e.steps, "step", "steps"),
            output::plural(e.iterations, "iteration", "iterations"),
            e.residual
        ));
        if let Some(s) = e.stability.as_ref().filter(|s| s.negative > 0) {
            crate::cli::tell(&format!("  it can fall in {}", output::plural(s.negative, "way", "ways")));
        }
        for beyond in &e.beyond {
            crate::cli::tell(&format!("  warning: {} {}", beyond.name, beyond.limit.words(beyond.ratio)));
        }
        if let Some(s) = e.stability.as_ref().filter(|s| !s.free.is_empty() && s.word() != "neutral") {
            crate::cli::tell(&format!("  nothing resists it in {}", s.free.join(", ")));
        }
        if e.redundant > 0 {
            crate::cli::tell(&format!(
                "  reactions are not unique ({}): those of least size are shown",
                output::plural(e.redundant, "redundant equation", "redundant equations")
            ));
        }
        let name = |i: &usize| self.channels[*i].name.as_str();
        let width = self.kept.iter().map(|i| name(i).chars().count()).max().unwrap_or(0);
        let line = |i: &usize| {
            let value = output::nine_digits(last.rest.channels[*i]);
            format!("  {:width$}  {value} {}\n", name(i), self.channels[*i].unit)
        };
        print(&self.kept.iter().map(line).collect::<String>())
    }

    fn csv(&self) -> String {
        let mut table = self.follow.map_or_else(String::new, |f| quoted(f.path.clone()) + ",");
        let head = |i: &usize| match self.channels[*i].unit {
            "" => quoted(self.channels[*i].name.clone()),
            unit => quoted(format!("{} [{unit}]", self.channels[*i].name)),
        };
        table += &self.kept.iter().map(head).collect::<Vec<_>>().join(",");
        table.push('\n');
        for f in self.found {
            let values = f.value.into_iter().chain(self.kept.iter().map(|i| f.rest.channels[*i]));
            table += &values.map(|x| format!("{x:?}")).collect::<Vec<_>>().join(",");
            table.push('\n');
        }
        table
    }
}

impl EquilibriumAt {
    /// Whether the equilibrium is stable, in a word.
    fn label(&self) -> &'static str {
        self.rest.equilibrium.stability.as_ref().map_or("not told", |s| s.word())
    }

    /// What the page tells of it.
    fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("{} equilibrium", self.label())];
        if let Some(s) = self.rest.equilibrium.stability.as_ref().filter(|s| !s.free.is_empty()) {
            facts.push(format!("free to move in {}", s.free.join(", ")));
        }
        facts
    }

    /// What kind of equilibrium it is: one that nothing resists in some motions says in which.
    fn words(&self) -> String {
        match &self.rest.equilibrium.stability {
            Some(s) if s.word() == "neutral" && !s.free.is_empty() => {
                format!("an equilibrium that is free to move in {}, found", s.free.join(", "))
            }
            _ => format!("{} equilibrium", self.label()),
        }
    }
}
