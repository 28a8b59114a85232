//! Spoiled copies of good models: whatever they say, reading, compiling, starting and stepping them ends
//! without a panic, and so does looking at them. More of them with the variables `FUZZ_ROUNDS` and `FUZZ_SEED`.

mod common;
#[path = "fuzz/readers.rs"]
mod readers;

use bellcrank_model::read::read_text;
use bellcrank_results::json;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::events::Event;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Header, Recorder, RunReport};
use bellcrank_solve::run::Simulation;
use common::{Dice, Scratch};
use readers::READERS;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps no frames, and ends the run after five steps or events.
struct Five {
    seen: usize,
    interrupt: Arc<AtomicBool>,
}

impl Five {
    fn count(&mut self) {
        self.seen += 1;
        self.interrupt.store(self.seen >= 5, Ordering::Relaxed);
    }
}

impl Recorder for Five {
    fn begin(&mut self, _: &Header) -> std::io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> std::io::Result<()> {
        Ok(())
    }
    fn step(&mut self, _: &AcceptedStep) {
        self.count();
    }
    fn event(&mut self, _: &Event) -> std::io::Result<()> {
        self.count();
        Ok(())
    }
    fn end(&mut self, report: &dyn RunReport) -> std::io::Result<()> {
        assert!(json::report(report).contains_key("steps"));
        Ok(())
    }
}

const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "1e-300",
    "1e300",
    "-1e300",
    "1e-9",
    "1e9",
    "nan",
    "inf",
    "true",
    "\"\"",
    "\"t\"",
    "\"1/t\"",
    "\"sqrt(0.001 - t)\"",
    "\"1/(t - 0.001)\"",
    "\"k\"",
    "\"exp(1e3*t)\"",
    "[0, 0]",
    "[0, 0, 0]",
    "[1, 0]",
    "[0, 1, 0]",
    "[]",
    "[[0, 0], [1, 0]]",
    "[[0, 0, 0], [1, 0, 0]]",
    "{}",
    "\"ground\"",
    "\"xy\"",
    "9007199254740993",
    "-0.0",
    "4e-324",
];

const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "7", "0.1", "0.5", "0.9", "1e-300", "1e300", "1e-9", "1e9", "1e-3", "1e3", "4e-324", "nan",
    "1e17",
];

const WORDS: &[&str] = &[
    "ground",
    "crank",
    "link",
    "string",
    "bob",
    "top",
    "arm",
    "stick",
    "brick",
    "pin",
    "rail",
    "revolute",
    "prismatic",
    "spherical",
    "distance",
    "fixed",
    "bushing",
    "force",
    "torque",
    "spring-damper",
    "natural",
    "xy",
    "nobody",
    "",
];

/// A copy of the model with a few lines dropped, doubled, exchanged, or with other values or names.
fn spoil(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..=dice.below(3) {
        let (i, j) = (dice.below(lines.len()), dice.below(lines.len()));
        let line = lines[i].clone();
        match dice.below(12) {
            0 => drop(lines.remove(i)),
            1 => lines.insert(j, line),
            2 => lines.swap(i, j),
            // another value for a key
            3 | 4 => {
                if let Some((key, _)) = line.split_once(" = ") {
                    lines[i] = format!("{key} = {}", dice.pick(VALUES));
                }
            }
            // another number for a number
            5..=9 => {
                let digits = |c: char| c.is_ascii_digit() || c == '.';
                let starts: Vec<usize> = line.match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
                if !starts.is_empty() {
                    let start = starts[dice.below(starts.len())];
                    let end = start + line[start..].find(|c| !digits(c)).unwrap_or(line.len() - start);
                    lines[i] = format!("{}{}{}", &line[..start], dice.pick(NUMBERS), &line[end..]);
                }
            }
            // another word for a word
            10 => {
                let quotes: Vec<usize> = line.match_indices('"').map(|(i, _)| i).collect();
                if quotes.len() >= 2 {
                    let k = dice.below(quotes.len() / 2) * 2;
                    lines[i] = format!("{}{}{}", &line[..=quotes[k]], dice.pick(WORDS), &line[quotes[k + 1]..]);
                }
            }
            // noise
            _ => {
                let mut chars: Vec<char> = line.chars().collect();
                let noise: Vec<char> = "[]{}=\",.#\\-\u{0}\u{202e}é".chars().collect();
                chars.insert(dice.below(chars.len() + 1), noise[dice.below(noise.len())]);
                lines[i] = chars.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

const METHODS: &[(MethodName, Option<f64>)] = &[
    (MethodName::Auto, None),
    (MethodName::Bdf, None),
    (MethodName::Dop853, None),
    (MethodName::GeneralizedAlpha, Some(1e-3)),
    (MethodName::Rk4, Some(1e-3)),
];

/// Reads, compiles, starts and takes a few steps; tells how far it came.
fn attempt(text: &str, method: (MethodName, Option<f64>)) -> usize {
    let read = match read_text("model.toml", text, &[]) {
        Ok(read) => read,
        Err(report) => {
            assert!(report.to_string().starts_with("error: "));
            return 0;
        }
    };
    let system = Arc::new(read.model.compile());
    if method.0 == MethodName::Auto {
        let found = bellcrank_solve::check::check(&system, &Options::default());
        assert!(json::check(&found).is_object() && !found.to_string().is_empty());
    }
    let options = Options { method: method.0, step: method.1, until: 0.01, ..Options::default() };
    let interrupt = options.resources.interrupt.clone();
    match Simulation::new(system, options) {
        Err(e) => {
            assert!(!e.to_string().is_empty());
            1
        }
        Ok(mut simulation) => {
            let summary = simulation.run(&mut Five { seen: 0, interrupt });
            assert!(json::whole(&summary)["final"].is_object());
            2
        }
    }
}

/// Every kind of body, joint and force, and the models of the repository.
fn models() -> Vec<String> {
    let mut paths: Vec<_> = ["plane", "space", "drives", "shafts"]
        .map(|name| common::root().join(format!("crates/bellcrank/tests/fuzz/{name}.toml")))
        .into();
    paths.extend(common::models());
    let texts: Vec<String> = paths.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect();
    // a text has no folder to read modes, tables and parts from
    let reads = |t: &String| [".modal\"", ".csv\"", ".toml\"", ".tir\""].iter().any(|file| t.contains(file));
    let texts: Vec<String> = texts.into_iter().filter(|t| !reads(t)).collect();
    let joints = bellcrank_model::joints::CATALOG.iter().map(|k| k.name);
    for kind in joints.chain(bellcrank_model::forces::CATALOG.iter().map(|k| k.name)) {
        let named = |text: &String| text.contains(&format!("type = \"{kind}\""));
        assert!(texts.iter().any(named), "add `{kind}` to a model in crates/bellcrank/tests/fuzz");
    }
    texts
}

#[test]
fn no_model_makes_it_panic() {
    let texts = models();
    for text in &texts {
        for method in METHODS {
            assert_eq!(attempt(text, *method), 2, "{method:?} on {text}");
        }
    }
    let variable = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ variable("FUZZ_SEED").unwrap_or(0));
    let mut reached = [0; 3];
    for round in 0..variable("FUZZ_ROUNDS").unwrap_or(3000) as usize {
        // the models that have everything take every other round
        let text = if round % 2 == 0 { &texts[round / 2 % 4] } else { &texts[dice.below(texts.len())] };
        let spoiled = spoil(text, &mut dice);
        let method = METHODS[round % METHODS.len()];
        let came = std::panic::catch_unwind(|| attempt(&spoiled, method));
        reached[came.unwrap_or_else(|_| panic!("{method:?} on this model:\n{spoiled}"))] += 1;
    }
    assert!(reached[0] > 500 && reached[1] > 10 && reached[2] > 500, "{reached:?}");
}

/// A copy of some bytes with a few of them changed, dropped, doubled or taken from elsewhere.
fn spoil_bytes(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let (i, j) = (dice.below(out.len()), dice.below(out.len()));
        let (from, to) = (i.min(j), i.max(j));
        match dice.below(8) {
            0 => out.truncate(to),
            1 => drop(out.drain(from..to.min(from + 16))),
            2 => drop(out.splice(i..i, bytes[from.min(bytes.len())..to.min(bytes.len())].to_vec())),
            3 => out.iter_mut().skip(i).take(4).for_each(|b| *b = 0xff),
            4 => drop(out.splice(i..i, b"9999999999".to_vec())),
            5 => out.iter_mut().skip(i).take(8).for_each(|b| *b = 0),
            _ => out.iter_mut().skip(i).take(1).for_each(|b| *b ^= 1 << (j % 8)),
        }
        if out.is_empty() {
            break;
        }
    }
    out
}

/// Good files for the readers, by the readers' names.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let read = |path: &str| std::fs::read(common::root().join(path)).unwrap();
    let mut seeds = vec![
        ("toml", read("crates/bellcrank/tests/fuzz/space.toml")),
        ("toml", read("examples/hydraulic-lift.toml")),
        ("assembly", read("examples/quarter-car-parts/assembly.toml")),
    ];
    let kept = [
        ("json", "pendulum.json"),
        ("urdf", "arm.urdf"),
        ("mjcf", "arm.xml"),
        ("sdf", "arm.sdf"),
        ("stl", "triangle.stl"),
        ("obj", "square.obj"),
        ("dae", "square.dae"),
        ("glb", "triangle.glb"),
    ];
    seeds.extend(kept.map(|(name, file)| (name, read(&format!("crates/bellcrank/tests/fuzz/seeds/{file}")))));
    let s = Scratch::new("seeds");
    s.write("m.toml", read("examples/pendulum.toml"));
    assert_eq!(s.bellcrank(&["run", "m.toml", "--until", "1", "--out", "r"]).code, 0);
    seeds.push(("parquet", s.read("r/results.parquet")));
    seeds.push(("csv", s.read("r/results.csv")));
    seeds.push(("state", s.read("r/end.state")));
    seeds
}

#[test]
fn no_file_makes_a_reader_panic() {
    let seeds = seeds();
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for (name, reader) in READERS {
        let own: Vec<&Vec<u8>> = seeds.iter().filter(|(n, _)| n == name).map(|(_, bytes)| bytes).collect();
        assert!(!own.is_empty(), "no seed for {name}");
        for round in 0..200 {
            let bytes = spoil_bytes(own[round % own.len()], &mut dice);
            let began = std::time::Instant::now();
            if std::panic::catch_unwind(|| reader(&bytes)).is_err() {
                let path = std::env::temp_dir().join(format!("bellcrank-panic.{name}"));
                std::fs::write(&path, &bytes).unwrap();
                panic!("the reader of {name} panics on {}", path.display());
            }
            assert!(began.elapsed().as_secs() < 30, "{name} took {:?}", began.elapsed());
        }
    }
}

/// The targets for cargo-fuzz have the names of the readers: each runs one of them.
#[test]
fn every_reader_has_a_fuzz_target() {
    let manifest = std::fs::read_to_string(common::root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in READERS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), READERS.len());
}
