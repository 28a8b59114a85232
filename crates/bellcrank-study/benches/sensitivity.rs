//! Sensitivities of some twenty machines against differences of tight runs: `cargo bench -p bellcrank-study --bench sensitivity`, with
//! parts of names to choose some; with `--adjoint`, those on the way back; with
//! `--both`, both ways against each other; with `--many`, processor seconds of 1 to 1000 parameters; with `--one plain|forward|adjoint NUMBER
//! [PARAMETERS]`, one run of a machine and nothing else, for `benches/sensitivity/count`.

#[path = "../tests/common/mod.rs"]
mod common;

use bellcrank_study::sensitivity::Mode;

/// Processor seconds of this process.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        text.rsplit(')').next().unwrap_or("").split_whitespace().filter_map(|x| x.parse().ok()).collect();
    // user and system time are the 14th and 15th, of which the first two are no numbers and a letter precedes the rest; in hundredths
    fields.get(10).zip(fields.get(11)).map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

/// A chain of 334 masses for 20 s.
fn chained() -> common::Machine {
    let text: &str = Box::leak(common::chain(334).into_boxed_str());
    common::machine(text, &["b333.x"], &[], 20.0).solved(&["method=dop853"])
}

fn all_of_chain() -> Vec<String> {
    (0..334).flat_map(|k| ["k", "c", "m"].map(|name| format!("{name}{k}"))).collect()
}

/// The cost of a gradient by ever more parameters of one machine.
fn many() {
    let (machine, all) = (chained(), all_of_chain());
    for count in [1, 10, 100, 1000] {
        let begun = seconds();
        let found = machine.answer_by(Mode::Adjoint, &all[all.len() - count..]).unwrap_or_else(|e| panic!("{e}"));
        println!("{count:5} parameters: {:7.2} s of processor time, {} steps", seconds() - begun, found.steps);
    }
}

/// The machines that are counted: those of the comparison, and the chain.
fn counted(number: usize) -> common::Machine {
    match common::machines::ALL.get(number) {
        Some(machine) => *machine,
        None => chained(),
    }
}

/// One run, plain or with derivatives by some of the machine's parameters.
fn one(way: &str, number: usize, parameters: usize) {
    let machine = counted(number);
    let to: Vec<String> = match number < common::machines::ALL.len() {
        true => machine.to.iter().map(|s| s.to_string()).collect(),
        false => all_of_chain(),
    };
    let to = &to[..parameters.clamp(1, to.len())];
    let steps = match way {
        "nothing" => return,
        "plain" => machine.plain().statistics.steps,
        "forward" => machine.answer_by(Mode::Forward, to).unwrap_or_else(|e| panic!("{e}")).steps,
        _ => machine.answer_by(Mode::Adjoint, to).unwrap_or_else(|e| panic!("{e}")).steps,
    };
    println!("{} {} {steps}", machine.name(), to.len());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--one") {
        let number = |k: usize| arguments.get(at + k).and_then(|a| a.parse().ok());
        let way = arguments.get(at + 1).map_or("plain", String::as_str);
        return one(way, number(2).unwrap_or(0), number(3).unwrap_or(usize::MAX));
    }
    let has = |flag: &str| std::env::args().any(|a| a == flag);
    if has("--many") {
        return many();
    }
    let both = has("--both");
    let mode = if has("--adjoint") { Mode::Adjoint } else { Mode::Forward };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    for (k, machine) in common::machines::ALL.iter().enumerate() {
        let name = format!("{k:2} {}", machine.name());
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
