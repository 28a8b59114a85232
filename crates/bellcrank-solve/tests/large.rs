//! Large models: memory and work linear in the number of bodies.

mod common;

use bellcrank_math::linear::ordering;
use bellcrank_model::Point;
use bellcrank_solve::FormulationKind::{Ggl, Index3, Si2};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::{formulation, step::Step};
use common::*;
use std::fmt::Write;

/// A planar chain of unit rods, straight and horizontal, hung at its first end.
fn chain(n: usize) -> String {
    let mut text = String::from("[model]\nplane = \"xy\"\ngravity = [0, -9.81]\n");
    for i in 0..n {
        let _ = write!(text, "[body.b{i}]\nmass = 1\ninertia = 0.0833\nat = [{}, 0]\n", i as f64 + 0.5);
        let before = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        let _ = write!(text, "[joint.j{i}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{i}\"]\nat = [{i}, 0]\n");
    }
    text
}

#[test]
fn factors_grow_linearly_with_a_chain() {
    let entries = |n: usize, form: formulation::Formulation| {
        let s = system(&chain(n));
        let point = Point::at(&s.initial_state(), s.layout());
        ordering::fill(Step::new(s, form, point).pattern()).expect("a pattern") as f64
    };
    for form in [formulation::index3, formulation::ggl, formulation::si2, formulation::index1] {
        let exponent = (entries(3000, form()) / entries(300, form())).log10();
        assert!(exponent < 1.02, "{}: exponent {exponent}", form().name);
    }
}

#[test]
fn a_long_chain_steps() {
    let n = 20_000;
    let s = system(&chain(n));
    for (method, formulation, step) in
        [(MethodName::GeneralizedAlpha, Some(Index3), Some(1e-3)), (MethodName::Bdf, Some(Ggl), None)]
    {
        let summary = run(&s, Options { method, formulation, step, rtol: 1e-5, until: 5e-3, ..Options::default() });
        assert!(summary.drift.position < 1e-8, "{:?}", summary.drift);
        // far from the support the rods fall freely
        let y = last(&summary, &format!("b{}.y", n - 1));
        assert!((y + 0.5 * 9.81 * 25e-6).abs() < 1e-7, "{y}");
    }
}

/// n × n masses in space, joined by links, two corners held, with springs across.
fn net(n: usize) -> String {
    let mut text = String::from("model = { gravity = [0, 0, -9.81] }\n");
    for i in 0..n {
        for j in 0..n {
            let _ = writeln!(text, "body.m{i}_{j} = {{ mass = 1, at = [{i}, {j}, 0] }}");
        }
    }
    let mut join = |name: String, kind: &str, a: (usize, usize), b: (usize, usize)| {
        let between = format!("[\"m{}_{}\", \"m{}_{}\"]", a.0, a.1, b.0, b.1);
        let _ = match kind {
            "spring" => writeln!(
                text,
                "force.{name} = {{ type = \"spring-damper\", between = {between}, at = [[{}, {}, 0], [{}, {}, 0]], stiffness = 10, damping = 0.1 }}",
                a.0, a.1, b.0, b.1
            ),
            _ => writeln!(
                text,
                "joint.{name} = {{ type = \"distance\", between = {between}, on = [[0, 0, 0], [0, 0, 0]] }}"
            ),
        };
    };
    for i in 0..n {
        for j in 0..n {
            for (k, l) in [(i + 1, j), (i, j + 1)].into_iter().filter(|(k, l)| *k < n && *l < n) {
                join(format!("l{i}_{j}_{k}_{l}"), "distance", (i, j), (k, l));
            }
            if i + 1 < n && j + 1 < n && (i + j) % 7 == 0 {
                join(format!("s{i}_{j}"), "spring", (i, j), (i + 1, j + 1));
            }
        }
    }
    for i in [0, n - 1] {
        let _ = writeln!(
            text,
            "joint.c{i} = {{ type = \"spherical\", between = [\"ground\", \"m{i}_{i}\"], at = [{i}, {i}, 0] }}"
        );
    }
    text
}

#[test]
fn any_number_of_threads_computes_the_same() {
    use MethodName::*;
    let ways = [
        (GeneralizedAlpha, Some(Index3), Some(1e-3)),
        (GeneralizedAlpha, Some(Si2), Some(1e-3)),
        (Bdf, Some(Ggl), None),
        (Dopri5, None, None),
    ];
    for text in [chain(420), windows(210, false), windows(210, true), net(21)] {
        let s = system(&text);
        for (method, formulation, step) in ways {
            let by = |threads: usize| {
                let (rtol, until) = (1e-4, 2e-3);
                let options = Options { method, formulation, step, rtol, until, ..Options::default() };
                let summary = run(&s, options.with(|o| o.resources.threads = Some(threads)));
                let last: Vec<u64> = summary.last.iter().map(|(_, x)| x.to_bits()).collect();
                (summary.statistics, summary.drift, summary.energy, last)
            };
            let alone = by(1);
            assert!(alone.3.len() > 1000);
            assert!(by(2) == alone && by(3) == alone, "{method:?} {formulation:?}");
        }
    }
}

#[test]
fn the_work_of_forces_does_not_depend_on_how_often_a_run_is_looked_at() {
    // from 64 bodies on every 16th step is looked at
    let error = |n: usize| {
        let mut text = String::from("model = { plane = \"xy\", gravity = [0, 0] }\n");
        for i in 0..n {
            let _ = writeln!(text, "body.b{i} = {{ mass = 1, inertia = 1, at = [{i}, 0] }}");
        }
        text += "force.motor = { type = \"torque\", body = \"b0\", torque = \"sin(20*t)\" }\n";
        let (method, formulation, step) = (MethodName::GeneralizedAlpha, Some(Index3), Some(1e-3));
        run(&system(&text), Options { method, formulation, step, until: 0.64, ..Options::default() })
            .energy
            .largest_error
    };
    let (often, seldom) = (error(63), error(64));
    assert!(seldom < 1.2 * often, "{seldom:e} instead of {often:e}");
}
