//! Laws of generalized-α on small equations.

use super::super::bdf::Bdf;
use super::super::harness::{Ode, tumble};
use super::*;
use bellcrank_math::Quat;

/// One of each kind, with its order.
fn methods() -> [(AlphaParameters, usize); 3] {
    [(AlphaParameters::from_rho(0.9), 2), (AlphaParameters::hht(-0.3), 2), (AlphaParameters::newmark(0.3025, 0.6), 1)]
}

/// ü + 0.3 u̇ + 4 u = sin 3t, and ż = cos t − z + u.
fn driven(t: f64, y: &[f64], rates: &mut [f64]) {
    rates[0] = y[1];
    rates[1] = (3.0 * t).sin() - 0.3 * y[1] - 4.0 * y[0];
    rates[2] = t.cos() - y[2] + y[0];
}
const DRIVEN: Ode = Ode { n: 1, nz: 1, rates: &driven };

fn run(p: AlphaParameters, h: f64, until: f64) -> Vec<f64> {
    let start = DRIVEN.point(0.0, &[1.0, -0.5, 0.2]);
    let mut method = GeneralizedAlpha::new(p);
    let (end, _) = DRIVEN.run(&mut method, &start, h, until, (1.0, 1.0), &mut |_, _| ());
    assert_eq!(end.t, until);
    DRIVEN.stack(&end)
}

#[test]
fn presets_are_the_textbooks() {
    assert_eq!(AlphaParameters::from_rho(1.0), AlphaParameters { alpha_m: 0.5, alpha_f: 0.5, beta: 0.25, gamma: 0.5 });
    let hht = AlphaParameters::hht(-0.3);
    assert!((hht.beta - 0.4225).abs() < 1e-15 && (hht.gamma - 0.8).abs() < 1e-15);
    assert!(methods().iter().all(|(p, order)| p.are_valid() && p.order() == *order));
    assert!(!AlphaParameters::newmark(0.0, 0.5).are_valid());
}

/// Chung and Hulbert's form, with the balance between the steps, solved for a_{n+1} directly.
#[test]
fn both_laws_are_the_textbook_method_where_rates_are_velocities() {
    for (p, _) in methods() {
        let AlphaParameters { alpha_m, alpha_f, beta, gamma } = p;
        let (h, force) = (0.05, |t: f64| (3.0 * t).sin());
        let (mut u, mut v, mut a) = (1.0, -0.5, 0.15 - 4.0);
        for n in 0..100 {
            let (t, f) = (n as f64 * h, 1.0 - alpha_f);
            let u1 = u + h * v + h * h * (0.5 - beta) * a;
            let v1 = v + h * (1.0 - gamma) * a;
            let load = f * force(t + h) + alpha_f * force(t);
            let known = alpha_m * a + 0.3 * (f * v1 + alpha_f * v) + 4.0 * (f * u1 + alpha_f * u);
            let matrix = 1.0 - alpha_m + f * (0.3 * gamma * h + 4.0 * beta * h * h);
            a = (load - known) / matrix;
            (u, v) = (u1 + h * h * beta * a, v1 + h * gamma * a);
        }
        let y = run(p, h, 5.0);
        assert!((y[0] - u).abs() < 1e-13 && (y[1] - v).abs() < 1e-13, "{p:?}: {y:?}, {u} {v}");
    }
}

#[test]
fn orders_are_two_and_for_newmark_with_damping_one() {
    let reference = run(AlphaParameters::newmark(0.25, 0.5), 1e-4, 3.0);
    for (p, order) in methods().into_iter().chain([(AlphaParameters::newmark(0.25, 0.5), 2)]) {
        let errors = [0.005, 0.0025].map(|h| run(p, h, 3.0));
        for i in 0..3 {
            let [coarse, fine] = [0, 1].map(|k: usize| (errors[k][i] - reference[i]).abs());
            let measured = (coarse / fine).log2();
            assert!((measured - order as f64).abs() < 0.1, "{p:?}, unknown {i}: {measured:.3}");
        }
    }
}

#[test]
fn infinite_frequencies_are_damped_to_rho() {
    let stiff = |_: f64, y: &[f64], rates: &mut [f64]| {
        (rates[0], rates[1]) = (y[1], -1e10 * y[0]);
    };
    let ode = Ode { n: 1, nz: 0, rates: &stiff };
    for rho in [0.5, 0.8, 0.9] {
        let mut sizes = Vec::new();
        let start = ode.point(0.0, &[1.0, 0.0]);
        let mut method = GeneralizedAlpha::from_rho(rho);
        ode.run(&mut method, &start, 1.0, 400.0, (1.0, 1.0), &mut |_, p| sizes.push(p.q[0].abs()));
        let ratio = (sizes[399] / sizes[199]).powf(1.0 / 200.0);
        // the double root at infinity adds a slow polynomial factor
        assert!((ratio - rho).abs() < 0.01, "{rho}: {ratio}");
    }
}

#[test]
fn the_prediction_is_close_once_there_is_a_past() {
    let start = DRIVEN.point(0.0, &[1.0, -0.5, 0.2]);
    let mut method = GeneralizedAlpha::from_rho(0.9);
    let (mut p, mut law) = (start.clone(), Stencil::default());
    method.start(&start, 1e-2);
    let mut misses = Vec::new();
    for _ in 0..20 {
        let mut guess = p.clone();
        method.prepare(&mut law, &mut guess);
        DRIVEN.solve(&method, &law, &mut p).unwrap();
        misses.push((guess.q[0] - p.q[0]).abs());
        method.accept(&p, &Weights::default(), &mut State::default());
    }
    assert!(misses[19] * 40.0 < misses[0], "{misses:?}");
}

#[test]
fn interpolation_and_the_short_last_step() {
    let mut worst = 0.0_f64;
    let mut state = DRIVEN.state();
    let mut previous = 0.0;
    let mut times = Vec::new();
    let start = DRIVEN.point(0.0, &[1.0, -0.5, 0.2]);
    let mut method = GeneralizedAlpha::from_rho(0.8);
    DRIVEN.run(&mut method, &start, 0.01, 0.995, (1.0, 1.0), &mut |m, p| {
        let t = 0.5 * (previous + p.t);
        m.interpolate(t, &mut state);
        let exact = run(AlphaParameters::newmark(0.25, 0.5), 1e-3, t);
        worst = [state.q[0], state.v[0], state.z[0]].iter().zip(exact).fold(worst, |w, (x, y)| w.max((x - y).abs()));
        m.interpolate(p.t, &mut state);
        assert!((state.q[0] - p.q[0]).abs() < 1e-15);
        times.push(p.t - previous);
        previous = p.t;
    });
    assert_eq!(times.len(), 100);
    assert!((times[98] - 0.01).abs() < 1e-14 && (times[99] - 0.005).abs() < 1e-14);
    assert!(worst < 3e-4, "{worst:.1e}");
    assert_eq!(method.step_size(), 0.01);
}

#[test]
fn order_two_survives_recentring() {
    let angle = |a: Quat, b: Quat| a.conjugate().then(b).log().norm();
    let (reference, ..) = tumble(&mut Bdf::default(), 4.0, 1e-11, 1.0);
    let errors = [0.02, 0.01, 0.005].map(|h| {
        let (pose, counts, changes) = tumble(&mut GeneralizedAlpha::from_rho(0.8), 4.0, h, 0.0);
        assert_eq!(changes, counts.steps, "the law holds at the centre of a chart");
        angle(pose, reference)
    });
    let measured = (errors[0] / errors[2]).log2() / 2.0;
    assert!((measured - 2.0).abs() < 0.1 && errors[1] < 1e-3, "{errors:?} → {measured:.2}");
}
