//! `bellcrank modes MODEL`.

use crate::cli::places::spoken;
use crate::cli::{Failure, output, print};
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_results::json::Object;
use bellcrank_results::names::{MODES_CSV, MODES_JSON};
use bellcrank_results::{Folder, csv, json as reports};
use bellcrank_solve::analyses::about::{About, AboutError, operating_point};
use bellcrank_solve::analyses::modes::{self as analysis, Mode};
use bellcrank_solve::analyses::shapes::{PERIOD, Swing, swing};
use bellcrank_solve::linearization::moves;
use bellcrank_solve::record::Recorder;
use clap::Args;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `modes`.
#[derive(Args)]
pub struct Modes {
    /// The model file (.toml or .json).
    model: String,
    /// The state to linearize about: equilibrium, start, or a time of the run in s (default: the start if the model
    /// moves there, else the equilibrium).
    #[arg(long, value_name = "STATE")]
    at: Option<String>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes modes.json and modes.csv with all shapes to this folder, and animated shapes of the first modes for
    /// `bellcrank view`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints one JSON object with all modes and shapes.
    #[arg(long)]
    json: bool,
    /// Number of modes to print and to draw.
    #[arg(long, value_name = "N", default_value_t = 30)]
    count: usize,
}

/// Linearizes a model and prints its modes.
pub fn run(args: Modes) -> Result<(), Failure> {
    let read = output::read(&args.model, &args.set)?;
    let options = output::options(&read, &[])?;
    let system = Arc::new(read.model.compile());
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
    let words = about.to_string();
    let found = analysis::modes(&*system, &point).map_err(|e| failed(&e))?;
    let object = reports::modes(&found, &system.model.name, &words);
    if args.json {
        print(&object.to_string())?;
    } else {
        let (d, _, nz) = found.linearization.counts;
        let states = if nz > 0 { format!(" and {}", output::plural(nz, "state", "states")) } else { String::new() };
        crate::cli::tell(&format!(
            "{}: modes about {words}, {}{states}",
            system.model.name,
            output::plural(d, "degree of freedom", "degrees of freedom")
        ));
        if moves(&*system, &point) {
            crate::cli::tell(
                "  the model is moving: these are instantaneous eigenvalues, exact only for steady rotation",
            );
        }
        print(&table(&found, args.count))?;
        let growing = found.modes.iter().filter(|m| m.grows()).count();
        if growing > 0 {
            crate::cli::tell(&format!("unstable: {} grow", output::plural(growing, "mode", "modes")));
        }
        if found.modes.len() > args.count {
            crate::cli::tell(&format!("and {} more (--count N, --json or --out DIR)", found.modes.len() - args.count));
        }
    }
    let Some(dir) = &args.out else { return Ok(()) };
    let mut folder = output::folder_of("modes", dir, &system)?;
    folder.add(MODES_JSON, format!("{object:#}\n"));
    folder.add(MODES_CSV, csv::modes(&found));
    output::recorded(dir, record(&system, &point, &found, &args, &words, &mut folder))
}

/// Records the moving shapes of the first modes; each is a chapter with its frequency and damping.
fn record(
    system: &Arc<System>,
    point: &Point,
    found: &analysis::Modes,
    args: &Modes,
    about: &str,
    out: &mut Folder,
) -> io::Result<()> {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let swings = swing(&dynamics, &system.model.name, point, found, args.count, out)?;
    let chapter = |s: &Swing| {
        let mode = &found.modes[s.mode];
        let mut facts = match mode {
            m if m.rigid => vec!["nothing drives it back".to_string()],
            m if m.oscillates() => {
                let growing = if m.grows() { ", grows" } else { "" };
                vec![format!("{:.6} Hz", m.frequency()), format!("damping {}{growing}", damping(m))]
            }
            m => vec![format!("{}, eigenvalue {} 1/s", damping(m), eigenvalue(m))],
        };
        facts.push(format!("moves most: {}", most(found, s.mode)));
        if !s.closed {
            facts.push("joints open in this drawing: the shape is a tangent".into());
        }
        json!({
            "name": format!("Mode {}", s.mode + 1), "from": s.span.0, "to": s.span.1, "facts": facts,
            "frequency": mode.frequency(), "damping": mode.damping(), "amplitude": s.amplitude,
        })
    };
    let t = swings.last().map_or(0.0, |s| s.span.1);
    let chapters: Vec<Value> = swings.iter().map(chapter).collect();
    out.end(&Object::new(json!({
        "analysis": "modes", "about": about, "status": "finished", "t": t, "seconds_per_period": PERIOD,
        "chapters": chapters,
    })))
}

/// What moves most in a mode.
fn most(found: &analysis::Modes, mode: usize) -> &str {
    let shape = &found.shapes[mode];
    let size = |i: &usize| shape[*i].0.hypot(shape[*i].1);
    let most = (0..shape.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
    most.map_or("", |i| found.components[i].0.as_str())
}

fn table(found: &analysis::Modes, count: usize) -> String {
    let mut out =
        format!("{:>5}  {:>16}  {:>12}  {:>26}  moves most\n", "mode", "frequency [Hz]", "damping", "eigenvalue [1/s]");
    for (k, mode) in found.modes.iter().enumerate().take(count) {
        let name = most(found, k);
        out += &format!(
            "{:>5}  {:>16.9}  {:>12}  {:>26}  {name}\n",
            k + 1,
            mode.frequency(),
            damping(mode),
            eigenvalue(mode),
        );
    }
    out
}

fn damping(mode: &Mode) -> String {
    match mode {
        m if m.rigid => "rigid".into(),
        m if !m.oscillates() => if m.grows() { "grows" } else { "decays" }.into(),
        m => format!("{:.6}", if m.damping().abs() < 5e-10 { 0.0 } else { m.damping() }),
    }
}

fn eigenvalue(mode: &Mode) -> String {
    let (re, im) = mode.eigenvalue;
    let re = if re.abs() < 1e-9 * re.hypot(im) { 0.0 } else { re };
    if im > 0.0 { format!("{re:.6} ± {im:.6}i") } else { format!("{re:.6}") }
}
