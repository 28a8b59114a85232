//! `bellcrank response MODEL --input … --output …`: frequency responses, and the linear model behind them.

use crate::cli::places::spoken;
use crate::cli::{Failure, output, plot, print, print_drawn, tell};
use bellcrank_model::System;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::file::suggest;
use bellcrank_results::{csv::quoted, npy};
use bellcrank_solve::analyses::about::{About, AboutError, operating_point};
use bellcrank_solve::analyses::response::{Gain, rows, unwrapped};
use bellcrank_solve::analyses::state_space::{Shown, StateSpace, state_space};
use bellcrank_view::plot::{Axis, Curve, Figure};
use clap::Args;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of `response`.
#[derive(Args)]
pub struct Response {
    /// The model file (.toml or .json).
    model: String,
    /// Inputs of the model, separated by commas.
    #[arg(long, value_delimiter = ',', required = true)]
    input: Vec<String>,
    /// Channels and outputs of the model, separated by commas.
    #[arg(long, value_delimiter = ',', required = true)]
    output: Vec<String>,
    /// The lowest frequency, in Hz.
    #[arg(long, value_name = "F", default_value_t = 0.1)]
    from: f64,
    /// The highest frequency, in Hz.
    #[arg(long, value_name = "F", default_value_t = 100.0)]
    to: f64,
    /// Number of frequencies, evenly spaced on a logarithmic scale.
    #[arg(long, value_name = "N", default_value_t = 200)]
    points: usize,
    /// The state to linearize about: equilibrium, start, or a time of the run in s (default: the start if the model moves
    /// there, else the equilibrium).
    #[arg(long, value_name = "STATE")]
    at: Option<String>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes response.csv, the matrices A, B, C, D as response.json and as A.npy … D.npy to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes the Bode plot to this file, FILE.svg or FILE.png; may be repeated.
    #[arg(long, value_name = "FILE")]
    save: Vec<PathBuf>,
    /// Prints one JSON object instead of the plot.
    #[arg(long)]
    json: bool,
}

/// What was found: gains at every frequency, row after row of outputs by inputs.
struct Gains<'a> {
    args: &'a Response,
    about: String,
    units: Vec<&'static str>,
    linear: StateSpace,
    frequencies: Vec<f64>,
    gains: Vec<Option<Vec<Gain>>>,
}

/// Linearizes a model and tells how its outputs answer its inputs.
pub fn run(args: Response) -> Result<(), Failure> {
    args.save.iter().try_for_each(|path| plot::Format::of(path).map(|_| ()))?;
    let frequencies = args.frequencies()?;
    let read = output::read(&args.model, &args.set)?;
    let options = output::options(&read, &[])?;
    let system = Arc::new(read.model.compile());
    let inputs = args.inputs(&system)?;
    let shown = args.shown(&system)?;
    let about = match args.at.as_deref() {
        None => None,
        Some(word) => Some(About::parse(word).ok_or_else(|| {
            let help = "use `equilibrium`, `start`, or a time in s such as --at 2.5";
            Failure::BadInput(format!("unknown state `{word}` for --at\nhelp: {help}"))
        })?),
    };
    let failed = |e: &dyn std::fmt::Display| Failure::Failed(format!("{}: {e}", args.model));
    let (point, about) = operating_point(&system, about, &options).map_err(|e| match e {
        AboutError::Assembly(e) => Failure::BadInput(format!("{}: {e}", args.model)),
        AboutError::Run(e) => failed(&spoken(e)),
        AboutError::Statics(e) => failed(&e),
    })?;
    let linear = state_space(&system, &point, &inputs, &shown).map_err(|e| failed(&e))?;
    let gains = frequencies.iter().map(|f| linear.response(TAU * f)).collect();
    let found = Gains { args: &args, about: about.to_string(), units: shown.units(), linear, frequencies, gains };
    found.tell()
}

impl Response {
    fn frequencies(&self) -> Result<Vec<f64>, Failure> {
        let (a, b, n) = (self.from, self.to, self.points);
        if !(a > 0.0 && b > a && b.is_finite() && (2..=100_000).contains(&n)) {
            let help = "for example --from 0.1 --to 100 --points 200";
            let message = format!("no range of frequencies: from {a} to {b} Hz in {n} points");
            return Err(Failure::BadInput(format!("{message}\nhelp: {help}")));
        }
        Ok((0..n).map(|k| a * (b / a).powf(k as f64 / (n - 1) as f64)).collect())
    }

    fn inputs(&self, system: &System) -> Result<Vec<usize>, Failure> {
        let names: Vec<&str> = system.model.inputs.iter().map(|i| i.name.as_str()).collect();
        let of = |name: &String| {
            system.model.input(name.trim()).ok_or_else(|| match names.is_empty() {
                true => {
                    let help = "add [input.NAME] to the model, and use it in a load, an actuator or a controller";
                    Failure::BadInput(format!("{}: the model has no inputs\nhelp: {help}", self.model))
                }
                false => unknown("input", name, &names),
            })
        };
        self.input.iter().map(of).collect()
    }

    fn shown(&self, system: &System) -> Result<Shown, Failure> {
        let asked: Vec<&str> = self.output.iter().map(|name| name.trim()).collect();
        Shown::new(system, &asked).map_err(|name| {
            let channels = system.all_channels();
            let outputs = system.model.outputs.iter().map(|o| o.name.as_str());
            let names: Vec<&str> = outputs.chain(channels.iter().map(|c| c.name.as_str())).collect();
            unknown("channel or output", &name, &names)
        })
    }
}

fn unknown(what: &str, name: &str, names: &[&str]) -> Failure {
    let near = suggest::nearest(name, names.iter().copied()).map(|n| format!("did you mean `{n}`? "));
    let help = format!("{}there are {}", near.unwrap_or_default(), suggest::list(names.to_vec()));
    Failure::BadInput(format!("there is no {what} {}\nhelp: {help}", suggest::quoted(name)))
}

impl Gains<'_> {
    fn tell(&self) -> Result<(), Failure> {
        let object = self.object();
        if self.args.json {
            print(&object.to_string())?;
        } else {
            tell(&format!("{}: response about {}", self.args.model, self.about));
        }
        let missing = self.gains.iter().filter(|g| g.is_none()).count();
        if missing > 0 {
            let points = output::plural(missing, "frequency has", "frequencies have");
            tell(&format!("warning: {points} no response: an undamped mode lies there"));
        }
        let figures = self.bode();
        if !self.args.save.is_empty() {
            plot::show(&figures, &self.args.save)?;
        } else if !self.args.json && self.args.out.is_none() {
            print_drawn(&plot::in_terminal(&figures))?;
        }
        match &self.args.out {
            Some(folder) => self.write(folder, &object),
            None => Ok(()),
        }
    }

    fn write(&self, folder: &Path, object: &Value) -> Result<(), Failure> {
        output::write(folder, &[("response.csv", self.csv()), ("response.json", format!("{object:#}\n"))])?;
        let l = &self.linear;
        for (name, matrix) in [("A", &l.a), ("B", &l.b), ("C", &l.c), ("D", &l.d)] {
            let path = folder.join(format!("{name}.npy"));
            let written = std::fs::write(&path, npy::matrix(matrix.rows, matrix.columns, &matrix.values));
            written.map_err(|e| Failure::Failed(format!("cannot write {}: {e}", path.display())))?;
        }
        Ok(())
    }

    /// Outputs by inputs, as the gains stand.
    fn pairs(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        let outputs = self.args.output.iter();
        let names = outputs.flat_map(|o| self.args.input.iter().map(move |i| format!("{}/{}", o.trim(), i.trim())));
        names.enumerate()
    }

    fn gain(&self, point: usize, pair: usize) -> Option<Gain> {
        self.gains[point].as_ref().map(|g| g[pair])
    }

    /// Phases of a pair in degrees, without jumps.
    fn phases(&self, pair: usize) -> Vec<f64> {
        let mut last = 0.0;
        let of = |k: usize| {
            last = self.gain(k, pair).map_or(last, |g| g.phase());
            last
        };
        let raw: Vec<f64> = (0..self.frequencies.len()).map(of).collect();
        unwrapped(&raw).into_iter().map(f64::to_degrees).collect()
    }

    fn csv(&self) -> String {
        let mut header = vec!["frequency [Hz]".to_string()];
        let inputs = self.args.input.len();
        for (k, name) in self.pairs() {
            let unit = self.units[k / inputs];
            let unit = if unit.is_empty() { String::new() } else { format!(" [{unit} per input]") };
            header.push(quoted(format!("|{name}|{unit}")));
            header.push(quoted(format!("arg {name} [deg]")));
        }
        let phases: Vec<Vec<f64>> = self.pairs().map(|(k, _)| self.phases(k)).collect();
        let mut out = header.join(",") + "\n";
        for (i, f) in self.frequencies.iter().enumerate() {
            out += &format!("{f:?}");
            for (k, phases) in phases.iter().enumerate() {
                let (size, phase) = self.gain(i, k).map_or((f64::NAN, f64::NAN), |g| (g.magnitude(), phases[i]));
                out += &format!(",{size:?},{phase:?}");
            }
            out.push('\n');
        }
        out
    }

    fn object(&self) -> Value {
        let l = &self.linear;
        let pair = |(k, name): (usize, String)| {
            let of = |part: fn(&Gain) -> f64| -> Vec<Option<f64>> {
                (0..self.frequencies.len()).map(|i| self.gain(i, k).map(|g| part(&g))).collect()
            };
            (name, json!({ "re": of(|g| g.re), "im": of(|g| g.im) }))
        };
        json!({
            "model": self.args.model,
            "about": self.about,
            "inputs": self.args.input,
            "outputs": self.args.output,
            "units": self.units,
            "A": rows(&l.a),
            "B": rows(&l.b),
            "C": rows(&l.c),
            "D": rows(&l.d),
            "input_values": l.inputs,
            "output_values": l.outputs,
            "frequencies": self.frequencies,
            "response": self.pairs().map(pair).collect::<serde_json::Map<_, _>>(),
        })
    }

    fn bode(&self) -> [Figure; 2] {
        let curve = |(k, name): (usize, String), values: &dyn Fn(usize) -> f64| {
            let known = |i: &usize| self.gain(*i, k).is_some();
            let points = (0..self.frequencies.len()).filter(known).map(|i| (self.frequencies[i], values(i))).collect();
            Curve { name, points, marked: false }
        };
        let sizes = |pair: (usize, String)| {
            let k = pair.0;
            curve(pair, &|i| self.gain(i, k).map_or(f64::NAN, |g| g.magnitude()))
        };
        let phases = |pair: (usize, String)| {
            let values = self.phases(pair.0);
            curve(pair, &|i| values[i])
        };
        let figure = |ordinate: Axis, curves: Vec<Curve>| Figure {
            abscissa: Axis::logarithmic("frequency [Hz]"),
            ordinate,
            curves,
            ..Figure::default()
        };
        [
            figure(Axis::logarithmic("magnitude"), self.pairs().map(sizes).collect()),
            figure(Axis::linear("phase [deg]"), self.pairs().map(phases).collect()),
        ]
    }
}
