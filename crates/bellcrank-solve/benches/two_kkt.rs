//! Times of a step with exact velocities against one of index 3: `cargo bench -p bellcrank-solve --bench two_kkt`.

use bellcrank_model::read::read_text;
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::Options;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::Simulation;
use std::sync::Arc;

/// A row of squares of rods in the plane, held on the left.
fn ladder(squares: usize) -> String {
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    let mut pin = 0;
    for i in 0..squares {
        let (a, b) = (i as f64, i as f64 + 1.0);
        for (name, from, to) in [("t", [a, 0.0], [b, 0.0]), ("b", [a, -1.0], [b, -1.0]), ("r", [b, 0.0], [b, -1.0])] {
            text += &format!("body.{name}{i} = {{ rod = {{ from = {from:?}, to = {to:?}, mass = 1 }} }}\n");
        }
        let before = |row: &str| if i == 0 { "ground".into() } else { format!("{row}{}", i - 1) };
        for (one, other, at) in [
            (before("t"), format!("t{i}"), [a, 0.0]),
            (before("b"), format!("b{i}"), [a, -1.0]),
            (format!("t{i}"), format!("r{i}"), [b, 0.0]),
            (format!("b{i}"), format!("r{i}"), [b, -1.0]),
        ] {
            pin += 1;
            text +=
                &format!("joint.j{pin} = {{ type = \"revolute\", between = [\"{one}\", \"{other}\"], at = {at:?} }}\n");
        }
    }
    text
}

/// A chain of rods in the plane.
fn chain(n: usize) -> String {
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for i in 0..n {
        let (a, b) = (i as f64, i as f64 + 1.0);
        text += &format!("body.b{i} = {{ rod = {{ from = [{a}, 0], to = [{b}, 0], mass = 1 }} }}\n");
        let before = if i == 0 { "ground".into() } else { format!("b{}", i - 1) };
        text += &format!("joint.j{i} = {{ type = \"revolute\", between = [\"{before}\", \"b{i}\"], at = [{a}, 0] }}\n");
    }
    text
}

/// The best of several times per step in microseconds, and flops and factorizations per step.
fn measure(text: &str, options: &Options) -> [f64; 3] {
    let Ok(read) = read_text("model.toml", text, &[]) else { return [f64::NAN; 3] };
    let system = Arc::new(read.model.compile());
    let mut best = [f64::INFINITY, 0.0, 0.0];
    for _ in 0..5 {
        let Ok(mut simulation) = Simulation::new(&system, options.clone()) else { continue };
        let clock = std::time::Instant::now();
        let summary = simulation.run(&mut Silent);
        let s = summary.statistics;
        let steps = s.steps as f64;
        let micro = clock.elapsed().as_secs_f64() * 1e6 / steps;
        best = [best[0].min(micro), s.flops as f64 / steps, s.factorizations as f64 / steps];
    }
    best
}

fn main() {
    let problems = [
        (
            "slider-crank",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml")).to_string(),
            0.5,
            1e-3,
        ),
        (
            "seven-body",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml")).to_string(),
            0.01,
            2e-5,
        ),
        (
            "heavy top",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/heavy-top/model.toml")).to_string(),
            0.05,
            1e-4,
        ),
        ("chain of 10", chain(10), 0.2, 1e-3),
        ("chain of 100", chain(100), 0.1, 1e-3),
        ("chain of 1000", chain(1000), 0.05, 1e-3),
        ("ladder of 100", ladder(33), 0.1, 1e-3),
        ("ladder of 1000", ladder(333), 0.05, 1e-3),
    ];
    println!("per step: µs, flops of the linear solver, factorizations; and their ratios to hht-i3");
    for (name, text, until, h) in &problems {
        let of = |preset: &str, formulation: Option<FormulationKind>| {
            let named = Options::named(preset).unwrap_or_default();
            let formulation = formulation.or(named.formulation);
            measure(text, &Options { step: Some(*h), until: *until, formulation, ..named })
        };
        let base = of("hht-i3", None);
        for (what, cost) in
            [("hht-i3", base), ("hht-si2", of("hht-si2", None)), ("whole", of("hht-si2", Some(FormulationKind::Ggl)))]
        {
            let ratio = [0, 1].map(|k| cost[k] / base[k]);
            println!(
                "{name:14} {what:8} {:8.1} µs {:9.0} flops {:5.2} fact.   × {:.2} time, × {:.2} flops",
                cost[0], cost[1], cost[2], ratio[0], ratio[1]
            );
        }
    }
}
