//! Sensitivities of some twenty machines against differences of tight runs: `cargo bench -p bellcrank-study --bench sensitivity`, with
//! parts of names to choose some; with `--adjoint`, those on the way back; with
//! `--both`, both ways against each other; with `--many`, processor seconds of 1 to 1000 parameters.

#[path = "../tests/common/mod.rs"]
mod common;

use bellcrank_study::sensitivity::Mode;
use std::fmt::Write;

/// Processor seconds of this process.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        text.rsplit(')').next().unwrap_or("").split_whitespace().filter_map(|x| x.parse().ok()).collect();
    // user and system time are the 14th and 15th, of which the first two are no numbers and a letter precedes the rest; in hundredths
    fields.get(10).zip(fields.get(11)).map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

/// A chain of masses on springs with a stiffness, a damping and a mass of its own for each.
fn chain(links: usize) -> String {
    let mut text = String::from("model = { plane = \"xy\" }\n[parameter]\n");
    for k in 0..links {
        let _ = writeln!(text, "k{k} = {}\nc{k} = 0.2\nm{k} = {}", 40.0 + k as f64 % 7.0, 1.0 + 0.1 * (k % 3) as f64);
    }
    for k in 0..links {
        let _ = writeln!(text, "[body.b{k}]\nmass = \"m{k}\"\nat = [{k}, 0]\nvelocity = [{}, 0]", (k % 5) as f64 * 0.1);
        let before = if k == 0 { "ground".into() } else { format!("b{}", k - 1) };
        let _ = writeln!(
            text,
            "[force.f{k}]\ntype = \"spring-damper\"\nbetween = [\"{before}\", \"b{k}\"]\nat = [[{}, 0], [{k}, 0]]\n\
             stiffness = \"k{k}\"\ndamping = \"c{k}\"\nlength = 0.9",
            k as f64 - 1.0,
        );
    }
    text
}

/// The cost of a gradient by ever more parameters of one machine.
fn many() {
    let text: &str = Box::leak(chain(334).into_boxed_str());
    let machine = common::machine(text, &["b333.x"], &[], 20.0).solved(&["method=dop853"]);
    let all: Vec<String> = (0..334).flat_map(|k| ["k", "c", "m"].map(|name| format!("{name}{k}"))).collect();
    for count in [1, 10, 100, 1000] {
        let begun = seconds();
        let found = machine.answer_by(Mode::Adjoint, &all[all.len() - count..]).unwrap_or_else(|e| panic!("{e}"));
        println!("{count:5} parameters: {:7.2} s of processor time, {} steps", seconds() - begun, found.steps);
    }
}

fn main() {
    let has = |flag: &str| std::env::args().any(|a| a == flag);
    if has("--many") {
        return many();
    }
    let both = has("--both");
    let mode = if has("--adjoint") { Mode::Adjoint } else { Mode::Forward };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    for (k, machine) in common::machines::ALL.iter().enumerate() {
        let name = machine.model.lines().find(|l| !l.is_empty()).unwrap_or("");
        let name = format!(
            "{k:2} {}",
            if machine.model.contains('\n') { machine.model.lines().nth(2).unwrap_or(name) } else { name }
        );
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let found = std::panic::catch_unwind(|| if both { machine.both_ways() } else { machine.compare(mode) });
        match found {
            Ok((error, place)) => println!("{name:40} {error:.1e}  {place}"),
            Err(e) => println!("{name:40} {:?}", e.downcast_ref::<String>()),
        }
    }
}
