//! The evidence a run gathers about itself is true: balances close, errors are those against closed forms.

mod common;

use bellcrank_solve::analyses::begin::simulation;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::engines::Refusal;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Header, Recorder, RunReport, Silent, Tee};
use bellcrank_solve::run::{Simulation, Summary};
use bellcrank_solve::verdict::{Bounds, Verdict};
use bellcrank_solve::verify::{ThinnedFrames, Verification, verify};
use common::*;
use std::io;
use std::sync::Arc;

fn proved(text: &str, options: Options) -> Summary {
    let s = system(text);
    let mut simulation = Simulation::new(s.clone(), options).unwrap();
    simulation.prove();
    simulation.run(&mut ThinnedFrames::default())
}

fn verified(text: &str, options: Options) -> (Verification, ThinnedFrames) {
    let s = system(text);
    let start = s.initial_state();
    let mut simulation = Simulation::new(s.clone(), options.clone()).unwrap();
    let mut kept = ThinnedFrames::new(&options, simulation.header().channels.len());
    let summary = simulation.run(&mut kept);
    let dynamics: Arc<dyn bellcrank_model::Dynamics> = s;
    (verify(&dynamics, &start, &options, &kept, &summary).unwrap(), kept)
}

#[test]
fn forces_make_the_rate_of_momentum_and_impulses_its_change() {
    for (text, plane) in [(FOUR_BAR, true), (SPATIAL, false)] {
        for method in [MethodName::Dop853, MethodName::Bdf] {
            let options = Options { method, rtol: 1e-8, until: 2.0, ..Options::default() };
            let p = *proved(text, options).proof.unwrap();
            let what = format!("{} {plane}: {p:?}", method.name());
            assert!(
                p.known && p.points > 20 && p.largest_load.linear > 10.0 && p.largest_momentum.linear > 1.0,
                "{what}"
            );
            assert!(p.reaction_error.linear < 1e-10 * p.largest_load.linear, "{what}");
            assert!(p.reaction_error.angular < 1e-10 * p.largest_load.angular, "{what}");
            assert!(p.impulse_error.linear < 1e-5 * p.largest_momentum.linear, "{what}");
            assert!(p.impulse_error.angular < 1e-5 * p.largest_momentum.angular, "{what}");
            assert!(p.acceleration < 1e-9, "{what}");
            assert_eq!(p.conserved.iter().flatten().count(), if plane { 3 } else { 0 }, "{what}");
            assert!(p.seconds.iter().map(|(_, s)| s).sum::<f64>() > 0.0);
        }
    }
}

/// Two bodies with a spring between them, thrown without gravity: P and L stay.
#[test]
fn what_no_load_changes_is_found_to_be_conserved() {
    let text = r#"
        model = { gravity = [0, 0, 0] }
        body.a = { mass = 2, inertia = [0.1, 0.2, 0.3], at = [0, 0, 0], velocity = [1, 0, 0.3], angular_velocity = [1, 2, 3] }
        body.b = { mass = 1, inertia = [0.3, 0.2, 0.4], at = [1, 0.2, 0], velocity = [0, 1, 0] }
        force.k = { type = "spring-damper", between = ["a", "b"], at = [[0.1, 0, 0], [1, 0, 0]], stiffness = 30, damping = 1, length = 0.5 }
    "#;
    let p = *proved(text, Options { rtol: 1e-9, until: 3.0, ..Options::default() }).proof.unwrap();
    assert!((p.momentum.0[0] - 2.0).abs() < 1e-14 && (p.momentum.0[2] - 0.6).abs() < 1e-14, "{p:?}");
    for k in 0..6 {
        assert!(p.conserved[k].is_some_and(|change| change < 1e-6), "{k}: {p:?}");
    }
}

/// The error that is told is the error there is: a pendulum with a closed form, a mass on a spring.
#[test]
fn the_told_error_is_the_error_there_is() {
    let text = r#"
        model = { plane = "xy", gravity = [0, 0] }
        body.m = { mass = 1, at = [1, 0] }
        joint.x = { type = "point-on-line", between = ["ground", "m"], at = [1, 0], axis = [1, 0] }
        force.k = { type = "spring-damper", between = ["ground", "m"], at = [[-10, 0], [1, 0]], stiffness = 4, length = 10 }
    "#;
    let cases = [
        Options { method: MethodName::Rk4, step: Some(0.05), until: 5.0, ..Options::default() },
        Options { method: MethodName::GeneralizedAlpha, step: Some(0.01), until: 5.0, ..Options::default() },
        Options { method: MethodName::Dopri5, rtol: 1e-5, until: 5.0, ..Options::default() },
        Options { method: MethodName::Bdf, rtol: 1e-5, until: 5.0, ..Options::default() },
        Options { rtol: 1e-6, until: 5.0, ..Options::default() },
    ];
    for options in cases {
        let (v, kept) = verified(text, options.clone());
        let x = kept.memory.column("m.x").unwrap();
        let exact = |t: f64| (2.0 * t).cos(); // ω² = 4
        let error = kept.memory.times.iter().zip(&x).map(|(t, x)| (x - exact(*t)).abs()).fold(0.0, f64::max);
        let told = v.channels.iter().find(|d| d.name == "m.x").unwrap().error;
        let what = format!("{} told {told:e}, is {error:e}: {:?} {:?}", options.method.name(), v.factor, v.order);
        assert!(v.converges && v.agrees_until.is_none(), "{what}");
        assert!(told > 0.7 * error && told < 1.4 * error, "{what}");
        match options.method {
            MethodName::Rk4 => assert!((v.order.unwrap() - 4.0).abs() < 0.15, "{what}"),
            MethodName::GeneralizedAlpha => assert!((v.order.unwrap() - 2.0).abs() < 0.15, "{what}"),
            _ => assert!(v.factor.unwrap() > 1.3, "{what}"),
        }
    }
}

/// A double pendulum far beyond the time up to which it can be known: that is what is told.
#[test]
fn a_chaotic_motion_is_not_called_accurate() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.a = { mass = 1, at = [1, 0] }
        body.b = { mass = 1, at = [2, 0.5] }
        joint.p = { type = "distance", between = ["ground", "a"], at = [[0, 0], [1, 0]] }
        joint.q = { type = "distance", between = ["a", "b"], at = [[1, 0], [2, 0.5]] }
    "#;
    let (v, _) = verified(text, Options { rtol: 1e-4, until: 40.0, ..Options::default() });
    let until = v.agrees_until.unwrap();
    assert!(!v.converges && until > 1.0 && until < 35.0, "{:?} {until}", v.factor);
}

/// Keeps what the steps told.
#[derive(Default)]
struct Steps {
    sum: f64,
    steps: usize,
    iterations: usize,
    refused: Vec<Refusal>,
}

impl Recorder for Steps {
    fn begin(&mut self, _: &Header) -> io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
        Ok(())
    }
    fn step(&mut self, s: &AcceptedStep) {
        self.sum += s.h;
        self.steps += 1;
        self.iterations += s.iterations;
        self.refused.extend(s.refusals);
        assert!(s.h > 0.0 && s.order > 0);
    }
    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
}

/// A machine that begins at rest stays there but for motions within the tolerance, whose energy was compared with itself.
#[test]
fn a_machine_at_rest_is_not_told_that_its_energy_is_worth_a_look() {
    let arm = r#"
        body.arm = { mass = 2, inertia = [0.1, 0.1, 0.1], at = [0.5, 0, 0] }
        joint.pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0, 0], axis = [0, 1, 0] }
        force.spring = { type = "spring-damper", between = ["ground", "arm"], at = [[1, 0, 1], [1, 0, 0]], stiffness = 1e3 }
    "#;
    for method in [MethodName::Dopri5, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        for rtol in [1e-4, 1e-6, 1e-8] {
            let options = Options { method, rtol, until: 5.0, from: Some("equilibrium".into()), ..Options::default() };
            let summary = simulation(system(arm), options.clone()).unwrap().run(&mut Silent);
            let energy = summary.energy.judged(Bounds::of(&options));
            assert_eq!(energy.verdict, Verdict::Good, "{} at {rtol}: {energy:?}", method.name());
        }
    }
}

/// A light body on a stiff spring that a heavy slow one hits late: the steps that fail are its fault.
#[test]
fn refused_steps_are_blamed_on_who_caused_them() {
    let text = r#"
        model = { plane = "xy", gravity = [0, 0] }
        body.slow = { mass = 50, at = [0, 3], velocity = [0.1, 0] }
        body.quick = { mass = 0.01, at = [1, 0] }
        force.kick = { type = "force", body = "quick", force = ["0", "50 * exp(-((t - 1) / 0.01)^2)"] }
        force.k = { type = "spring-damper", between = ["ground", "quick"], at = [[-10, 0], [1, 0]], stiffness = 1, length = 10 }
    "#;
    for method in [MethodName::Dopri5, MethodName::Bdf] {
        let s = system(text);
        let options = Options { method, rtol: 1e-6, until: 2.0, ..Options::default() };
        let mut simulation = Simulation::new(s.clone(), options).unwrap();
        let (mut steps, mut other) = (Steps::default(), Steps::default());
        let summary = simulation.run(&mut Tee(vec![&mut steps, &mut other]));
        let n = summary.statistics;
        assert_eq!((steps.steps, steps.iterations, other.steps), (n.steps, n.iterations, n.steps));
        assert!((steps.sum - 2.0).abs() < 1e-12);
        assert_eq!(steps.refused.len(), n.error_test_failures + n.convergence_failures);
        assert!(steps.refused.len() > 2, "{} refused {}", method.name(), steps.refused.len());
        let (name, worst) = &summary.refused[0];
        assert_eq!(name, "body `quick`", "{:?}", summary.refused);
        assert!(worst.times.1 > 0.9 && worst.times.1 < 1.2, "{worst:?}");
        let kept: usize = summary.history.stretches.iter().map(|s| s.steps).sum();
        assert_eq!(kept, n.steps);
    }
}
