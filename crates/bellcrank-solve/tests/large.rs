//! Large models: memory and work linear in the number of bodies.

mod common;

use bellcrank_math::ordering;
use bellcrank_model::{Dynamics, Point};
use bellcrank_solve::options::{MethodName, Options};
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
        [(MethodName::GeneralizedAlpha, Some("index3"), Some(1e-3)), (MethodName::Bdf, Some("ggl"), None)]
    {
        let summary = run(&s, Options { method, formulation, step, rtol: 1e-5, until: 5e-3, ..Options::default() });
        assert!(summary.drift.0 < 1e-8, "{:?}", summary.drift);
        // far from the support the rods fall freely
        let y = last(&summary, &format!("b{}.y", n - 1));
        assert!((y + 0.5 * 9.81 * 25e-6).abs() < 1e-7, "{y}");
    }
}
