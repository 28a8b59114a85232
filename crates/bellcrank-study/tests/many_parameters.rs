//! Gradients by many parameters: they agree with those of each parameter alone, and take a handful of models.

mod common;

use bellcrank_model::file::Report;
use bellcrank_model::read::{Read, Template, Uses};
use bellcrank_solve::choices::Said;
use bellcrank_study::Models;
use bellcrank_study::sensitivity::{Answer, Mode, Question, answer};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A template that counts how often it is read, and may keep to itself what uses what.
struct Counted {
    template: Template,
    reads: AtomicUsize,
    tells: bool,
}

impl Models for Counted {
    fn read(&self, overrides: &[String]) -> Result<Read, Report> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.template.read(overrides)
    }

    fn find(&self, overrides: &[String]) -> Result<(), Report> {
        self.template.with(overrides).map(|_| ())
    }

    fn number(&self, overrides: &[String], path: &str) -> Result<f64, Report> {
        self.template.number(overrides, path)
    }

    fn numbers(&self, overrides: &[String], paths: &[&str]) -> Result<Vec<f64>, Report> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.template.numbers(overrides, paths)
    }

    fn uses(&self, overrides: &[String]) -> Option<Uses> {
        self.template.uses(overrides).ok().filter(|_| self.tells)
    }

    fn digest(&self) -> Result<u128, Report> {
        Models::digest(&self.template)
    }
}

/// Gradients on the way back, with or without families of parameters, and how often the model was read.
fn back(text: &str, of: &[&str], to: &[String], until: f64, tells: bool, mode: Mode) -> (Answer, usize) {
    let template = Template::parse("model.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let models = Counted { template, reads: AtomicUsize::new(0), tells };
    let question = Question {
        of: of.iter().map(|s| s.to_string()).collect(),
        to: to.to_vec(),
        over_time: false,
        mode,
        words: ["--of ", "--to "],
    };
    let said = [Said::argument("until", until), Said::argument("method", "dop853")];
    let found = answer(&models, &[], &question, &said, &Arc::default()).unwrap_or_else(|e| panic!("{e}"));
    (found, models.reads.into_inner())
}

/// The largest difference of two answers, relative to the largest derivative of each measure.
fn apart(a: &Answer, b: &Answer) -> f64 {
    let of = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        let most = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs() / most))
    };
    let pairs = a.measured.iter().zip(&b.measured);
    pairs.map(|(a, b)| of((&a.derivatives, &b.derivatives))).fold(0.0, f64::max)
}

fn all(links: usize) -> Vec<String> {
    (0..links).flat_map(|k| ["k", "c", "m"].map(|name| format!("{name}{k}"))).collect()
}

#[test]
fn parameters_that_change_rows_of_their_own_share_models_and_agree_with_each_alone() {
    let (text, to) = (common::chain(24), all(24));
    let of = ["b23.x", "b5.vx.mean", "b11.x.max"];
    let (together, reads) = back(&text, &of, &to, 2.0, true, Mode::Adjoint);
    let (alone, each) = back(&text, &of, &to, 2.0, false, Mode::Adjoint);
    assert!(each >= 2 * to.len(), "{each}");
    // a body has five parameters in its rows, and each of these needs a model on either side
    assert!(reads <= 2 + 2 * 8, "{reads}");
    let error = apart(&alone, &together);
    assert!(error < 1e-9, "{error:e}");
    // and with the way forward
    let near = ["b11.x.max", "b11.vx"];
    let (forward, _) = back(&text, &near, &to[30..36], 2.0, true, Mode::Forward);
    let (few, _) = back(&text, &near, &to[30..36], 2.0, true, Mode::Adjoint);
    // dampers are weak beside springs, in whose rounding their differences stand
    let error = apart(&forward, &few);
    assert!(error < 1e-6, "{error:e}");
}

#[test]
fn the_models_that_are_read_do_not_grow_with_the_parameters() {
    let reads = |links: usize| back(&common::chain(links), &["b0.x"], &all(links), 0.05, true, Mode::Adjoint).1;
    assert_eq!(reads(10), reads(60));
}

/// Three rods that hang from each other, with a spring at the end.
const RODS: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter = { m0 = 1.0, m1 = 1.2, m2 = 0.8, k = 30.0, c = 0.4, push = 2.0 }
body.r0 = { rod = { from = [0, 0], to = [1, 0], mass = "m0" } }
body.r1 = { rod = { from = [1, 0], to = [2, 0], mass = "m1" } }
body.r2 = { rod = { from = [2, 0], to = [3, 0], mass = "m2" } }
joint.j0 = { type = "revolute", between = ["ground", "r0"], at = [0, 0] }
joint.j1 = { type = "revolute", between = ["r0", "r1"], at = [1, 0] }
joint.j2 = { type = "revolute", between = ["r1", "r2"], at = [2, 0] }
force.s = { type = "spring-damper", between = ["ground", "r2"], at = [[3, 2], [3, 0]], stiffness = "k", damping = "c", length = 1 }
force.p = { type = "force", body = "r0", force = ["push", 0] }
"#;

#[test]
fn bodies_on_joints_share_models_too() {
    let to: Vec<String> = ["m0", "m1", "m2", "k", "c", "push"].map(String::from).to_vec();
    let of = ["r2.x", "r0.y.mean"];
    let (together, reads) = back(RODS, &of, &to, 1.0, true, Mode::Adjoint);
    let (alone, each) = back(RODS, &of, &to, 1.0, false, Mode::Adjoint);
    assert!(reads < each, "{reads} {each}");
    let error = apart(&alone, &together);
    assert!(error < 1e-8, "{error:e}");
    let (forward, _) = back(RODS, &of, &to, 1.0, true, Mode::Forward);
    let error = apart(&forward, &together);
    assert!(error < 1e-7, "{error:e}");
}

#[test]
fn what_an_output_sees_of_its_parameters_directly_is_told_apart() {
    // the tension of a spring is k times its elongation
    let (text, to) = (common::chain(6), all(6));
    let (together, _) = back(&text, &["f3.force"], &to, 0.5, true, Mode::Adjoint);
    let (forward, _) = back(&text, &["f3.force"], &to, 0.5, true, Mode::Forward);
    let error = apart(&forward, &together);
    assert!(error < 1e-7, "{error:e}");
}

#[test]
fn through_events_every_parameter_goes_alone() {
    let text = r#"
model = { gravity = [0, 0, -9.81] }
parameter = { m0 = 0.5, m1 = 0.7, drag0 = 0.3, drag1 = 0.2 }
body.a = { mass = "m0", sphere = { radius = 0.1 }, at = [0, 0, 1] }
body.b = { mass = "m1", at = [3, 0, 1], velocity = [1, 0, 0] }
force.floor = { type = "contact", between = ["ground", "a"], normal = [0, 0, 1], restitution = 0.8 }
force.d0 = { type = "drag", body = "a", linear = "drag0" }
force.d1 = { type = "drag", body = "b", linear = "drag1" }
"#;
    let to: Vec<String> = ["m0", "m1", "drag0", "drag1"].map(String::from).to_vec();
    let of = ["a.z", "b.x"];
    let (together, _) = back(text, &of, &to, 0.8, true, Mode::Adjoint);
    assert_eq!(together.events, 1);
    let (forward, _) = back(text, &of, &to, 0.8, true, Mode::Forward);
    let error = apart(&forward, &together);
    assert!(error < 1e-7, "{error:e}");
}
