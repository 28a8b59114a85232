//! Laws of explicit Runge–Kutta methods on small equations.

use super::super::tableau::{DORMAND_PRINCE_5, DORMAND_PRINCE_8, RK4};
use super::*;
use std::convert::Infallible;

type Answer = Result<(), Infallible>;

/// Two bodies in a plane, eccentricity 0.5, period 2π.
fn kepler(_: f64, _: usize, y: &[f64], f: &mut [f64]) -> Answer {
    let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
    f.copy_from_slice(&[y[2], y[3], -y[0] / r3, -y[1] / r3]);
    Ok(())
}
const ORBIT: [f64; 4] = [0.5, 0.0, 0.0, 1.732_050_807_568_877_2];

fn rms(tolerance: f64) -> impl Fn(&[f64]) -> f64 {
    move |e: &[f64]| (e.iter().map(|e| e * e).sum::<f64>() / e.len() as f64).sqrt() / tolerance
}

/// Runs to a time; `observe` sees every accepted step.
fn run(
    method: &mut RungeKutta,
    rates: &mut Rates<Infallible>,
    y: &[f64],
    until: f64,
    tolerance: f64,
    observe: &mut dyn FnMut(&mut RungeKutta, &mut Rates<Infallible>),
) {
    let norm = rms(tolerance);
    method.start(0.0, y, 0.0);
    method.limit(until);
    method.choose_first_step(rates, &norm).unwrap();
    while method.time() < until {
        match method.attempt(rates, &norm).unwrap() {
            e if e <= 1.0 => {
                method.accept();
                observe(method, rates);
            }
            e => method.reject(Rejection::Error(e)).unwrap(),
        }
    }
    assert_eq!(method.time(), until);
}

#[test]
fn fixed_steps_show_the_orders() {
    // Kepler's equation t = E − e sin E at E = 2.5
    let (e, root) = (2.5_f64, 0.75_f64.sqrt());
    let (until, rate) = (e - 0.5 * e.sin(), 1.0 / (1.0 - 0.5 * e.cos()));
    let exact = [e.cos() - 0.5, root * e.sin(), -rate * e.sin(), rate * root * e.cos()];
    for (tableau, steps) in [(&RK4, 100), (&DORMAND_PRINCE_5, 50), (&DORMAND_PRINCE_8, 10)] {
        let error = |steps: usize| {
            let mut method = RungeKutta::new(tableau, Some(until / steps as f64)).unwrap();
            run(&mut method, &mut kepler, &ORBIT, until, 1.0, &mut |_, _| ());
            assert_eq!(method.counts().steps, steps);
            distance(method.state(), &exact)
        };
        // over three halvings: single ones of DOP853 scatter from 7.4 to 8.8
        let (coarse, fine) = (error(steps), error(8 * steps));
        let measured = (coarse / fine).log2() / 3.0;
        assert!((measured - tableau.order as f64).abs() < 0.25, "{}: {coarse:.1e} {measured:.2}", tableau.name);
    }
}

#[test]
fn accuracy_follows_the_tolerance() {
    for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
        for tolerance in [1e-4, 1e-6, 1e-8, 1e-10] {
            let mut method = RungeKutta::new(tableau, None).unwrap();
            run(&mut method, &mut kepler, &ORBIT, std::f64::consts::TAU, tolerance, &mut |_, _| ());
            let error = distance(method.state(), &ORBIT);
            let RungeKuttaCounts { steps, rejections, evaluations } = method.counts();
            assert!(error < 1e3 * tolerance, "{}: {error:.1e} at {tolerance:.0e}", tableau.name);
            assert!(rejections <= 2 + steps / 5, "{rejections} of {steps}");
            // every stage once, the end of a step being the beginning of the next
            let per_attempt = tableau.stages;
            let expected = if tableau.stages == 6 {
                2 + per_attempt * (steps + rejections)
            } else {
                1 + (per_attempt - 1) * (steps + rejections) + steps
            };
            assert_eq!(evaluations, expected);
            assert!(!method.stiff());
        }
    }
    assert!(RungeKutta::new(&RK4, None).is_err());
}

#[test]
fn dense_output_has_its_order() {
    for (tableau, h) in [(&RK4, 0.1), (&DORMAND_PRINCE_5, 0.2), (&DORMAND_PRINCE_8, 0.8)] {
        let error = |h: f64| {
            let mut method = RungeKutta::new(tableau, Some(h)).unwrap();
            let mut rates = |_: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
                f.copy_from_slice(&[y[1], -y[0]]);
                Ok(())
            };
            method.start(0.0, &[1.0, 0.0], h);
            method.attempt(&mut rates, &rms(1.0)).unwrap();
            method.accept();
            method.prepare_dense(&mut rates).unwrap();
            let mut out = [0.0; 2];
            method.interpolate(h, &mut out);
            assert!(distance(&out, method.state()) < 1e-15);
            let at = |s: f64| {
                let mut out = [0.0; 2];
                method.interpolate(s * h, &mut out);
                (out[0] - (s * h).cos()).hypot(out[1] + (s * h).sin())
            };
            [0.0, 0.2, 0.5, 0.8].map(at).into_iter().fold(0.0, f64::max)
        };
        let measured = (error(h) / error(0.5 * h)).log2();
        let expected = tableau.dense_order as f64 + 1.0;
        assert!((measured - expected).abs() < 0.25, "{}: {measured:.2}", tableau.name);
    }
}

#[test]
fn dense_output_along_an_orbit() {
    for (tableau, allowed) in [(&DORMAND_PRINCE_5, 1e-5), (&DORMAND_PRINCE_8, 1e-5)] {
        let mut method = RungeKutta::new(tableau, None).unwrap();
        let mut worst = 0.0_f64;
        run(&mut method, &mut kepler, &ORBIT, 5.0, 1e-8, &mut |m, rates| {
            m.prepare_dense(rates).unwrap();
            let before = m.counts().evaluations;
            m.prepare_dense(rates).unwrap();
            let mut y = [0.0; 4];
            for s in [0.1, 0.5, 0.9] {
                m.interpolate(m.time() - s * m.size.last, &mut y);
                let energy = 0.5 * (y[2] * y[2] + y[3] * y[3]) - 1.0 / y[0].hypot(y[1]);
                worst = worst.max((energy + 0.5).abs());
            }
            assert_eq!(m.counts().evaluations, before);
        });
        assert!(worst < allowed, "{}: {worst:.1e}", tableau.name);
    }
}

#[test]
fn stiffness_is_noticed_and_nothing_else() {
    for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
        let mut method = RungeKutta::new(tableau, None).unwrap();
        let mut rates = |t: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
            f[0] = -1e4 * (y[0] - t.cos());
            Ok(())
        };
        run(&mut method, &mut rates, &[1.0], 1.0, 1e-4, &mut |_, _| ());
        assert!(method.stiff(), "{}", tableau.name);
        let mut swing = |_: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
            f.copy_from_slice(&[y[1], -1e4 * y[0]]);
            Ok(())
        };
        run(&mut method, &mut swing, &[1.0, 0.0], 3.0, 1e-6, &mut |_, _| ());
        assert!(!method.stiff(), "{}: fast oscillation is not stiffness", tableau.name);
    }
}

#[test]
fn a_corrected_state_costs_at_most_one_evaluation() {
    for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
        let mut method = RungeKutta::new(tableau, None).unwrap();
        let mut worst = 0.0_f64;
        run(&mut method, &mut kepler, &ORBIT, 10.0, 1e-6, &mut |m, _| {
            // back onto the energy of the start, along the velocity
            let mut y: [f64; 4] = m.state().try_into().unwrap();
            let speed2 = 2.0 * (1.0 / y[0].hypot(y[1]) - 0.5);
            let factor = (speed2 / (y[2] * y[2] + y[3] * y[3])).sqrt();
            (y[2], y[3]) = (y[2] * factor, y[3] * factor);
            worst = worst.max((factor - 1.0).abs());
            m.set_state(&y);
            assert_eq!(m.rates(), None);
        });
        let RungeKuttaCounts { steps, rejections, evaluations } = method.counts();
        assert!(worst > 0.0 && worst < 1e-4);
        // DOPRI5 had evaluated the end of the step already, DOP853 had not
        let per_attempt = if tableau.stages == 6 { 6 } else { 11 };
        assert_eq!(evaluations, 2 + per_attempt * (steps + rejections) + steps - 1);
    }
}

#[test]
fn failures_and_vetoes_shorten_the_step() {
    let mut method = RungeKutta::new(&DORMAND_PRINCE_5, None).unwrap();
    method.start(1.0, &ORBIT, 0.1);
    method.attempt(&mut kepler, &rms(1.0)).unwrap();
    method.reject(Rejection::Convergence).unwrap();
    assert_eq!(method.step_size(), 0.025);
    method.attempt(&mut kepler, &rms(1.0)).unwrap();
    method.reject(Rejection::Error(f64::NAN)).unwrap();
    assert!((method.step_size() - 0.005).abs() < 1e-15);
    let mut nan = |_: f64, _: usize, _: &[f64], f: &mut [f64]| -> Answer {
        f.fill(f64::NAN);
        Ok(())
    };
    method.start(1.0, &ORBIT, 0.1);
    let mut failures = 0;
    loop {
        let e = method.attempt(&mut nan, &rms(1.0)).unwrap();
        assert!(e.is_nan());
        failures += 1;
        if method.reject(Rejection::Error(e)).is_err() {
            break;
        }
    }
    assert!((15..=25).contains(&failures), "{failures}");
    let mut fails = |_: f64, _: usize, _: &[f64], _: &mut [f64]| Err("singular");
    method.start(0.0, &ORBIT, 0.1);
    assert_eq!(method.attempt(&mut fails, &rms(1.0)), Err("singular"));
}

#[test]
fn landing_does_not_spoil_the_step_size() {
    let mut method = RungeKutta::new(&DORMAND_PRINCE_5, None).unwrap();
    let norm = rms(1e-6);
    method.start(0.0, &ORBIT, 0.05);
    let mut steps = Vec::new();
    for stop in [1.0, 1.0001, 1.0002, 2.0] {
        method.limit(stop);
        while method.time() < stop {
            match method.attempt(&mut kepler, &norm).unwrap() {
                e if e <= 1.0 => {
                    method.accept();
                    steps.push(method.size.last);
                }
                e => method.reject(Rejection::Error(e)).unwrap(),
            }
        }
        assert_eq!(method.time(), stop);
    }
    let sliver = steps.iter().position(|h| (h - 1e-4).abs() < 1e-9).unwrap();
    assert!(steps[sliver + 2] > 0.02, "{steps:?}");
}
