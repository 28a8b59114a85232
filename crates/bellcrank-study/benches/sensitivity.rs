//! Sensitivities of some twenty machines against differences of tight runs: `cargo bench -p bellcrank-study --bench sensitivity`, with
//! parts of names to choose some.

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
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
        let found = std::panic::catch_unwind(|| machine.compare());
        match found {
            Ok((error, place)) => println!("{name:40} {error:.1e}  {place}"),
            Err(e) => println!("{name:40} {:?}", e.downcast_ref::<String>()),
        }
    }
}
