//! Laws of BDF on small equations.

use super::super::harness::{HarnessCounts, Ode, eliminate, tumble};
use super::*;

/// q̈ = −q as q̇ = v, v̇ = −q; from (cos 0, −sin 0).
fn oscillator(_: f64, y: &[f64], rates: &mut [f64]) {
    (rates[0], rates[1]) = (y[1], -y[0]);
}
const OSCILLATOR: Ode = Ode { n: 1, nz: 0, rates: &oscillator };

fn run(
    ode: &Ode,
    options: BdfOptions,
    y: &[f64],
    h: f64,
    until: f64,
    tolerance: (f64, f64),
) -> (Vec<f64>, HarnessCounts) {
    let mut bdf = Bdf::new(options);
    let (p, counts) = ode.run(&mut bdf, &ode.point(0.0, y), h, until, tolerance, &mut |_, _| ());
    assert_eq!(p.t, until, "lands exactly");
    (ode.stack(&p), counts)
}

#[test]
fn accuracy_follows_the_tolerance() {
    let mut steps = 0;
    for tolerance in [1e-3_f64, 1e-5, 1e-7, 1e-9] {
        let options = BdfOptions::default();
        let (y, counts) = run(&OSCILLATOR, options, &[1.0, 0.0], 1e-3 * tolerance.sqrt(), 10.0, (tolerance, tolerance));
        let error = (y[0] - 10_f64.cos()).hypot(y[1] + 10_f64.sin());
        assert!(error < 100.0 * tolerance, "{error:.1e} at {tolerance:.0e}");
        assert!(error > 0.1 * tolerance, "{error:.1e} at {tolerance:.0e}: too many steps?");
        assert!(counts.steps > steps && counts.error_failures <= 3 + counts.steps / 20, "{counts:?}");
        steps = counts.steps;
        if tolerance < 1e-4 {
            assert_eq!(counts.highest_order, 5);
        }
    }
}

#[test]
fn every_order_converges_with_fixed_steps() {
    let exact = |t: f64| OSCILLATOR.point(t, &[t.cos(), -t.sin()]);
    for order in 1..=HIGHEST_ORDER {
        let error = |steps: usize| {
            let h = 2.0 / steps as f64;
            let mut bdf = Bdf::new(BdfOptions { max_order: order, fixed_step: Some(h), ..Default::default() });
            let (mut law, mut p) = (Stencil::default(), exact(0.0));
            bdf.start(&p, 1.0);
            for n in 1..=steps {
                bdf.prepare(&mut law, &mut p);
                if n <= order {
                    p = exact(law.t); // an exact history in place of the opening
                } else {
                    assert_eq!(bdf.order(), order);
                    OSCILLATOR.solve(&bdf, &law, &mut p).unwrap();
                }
                assert_eq!(bdf.error(&p, &Weights::default()), 0.0);
                bdf.accept(&p, &Weights::default(), &mut State::default());
            }
            (p.q[0] - 2_f64.cos()).hypot(p.v[0] + 2_f64.sin())
        };
        let measured = (error(64) / error(128)).log2();
        assert!((measured - order as f64).abs() < 0.15, "order {order}: {measured:.3}");
    }
}

#[test]
fn the_opening_of_fixed_steps_keeps_order_two() {
    let error = |h: f64| {
        let options = BdfOptions { max_order: 2, fixed_step: Some(h), ..Default::default() };
        let (y, counts) = run(&OSCILLATOR, options, &[1.0, 0.0], 0.0, 2.0, (1.0, 1.0));
        assert_eq!(counts.steps, (2.0 / h).round() as usize);
        (y[0] - 2_f64.cos()).hypot(y[1] + 2_f64.sin())
    };
    let order = (error(0.01) / error(0.005)).log2();
    assert!((order - 2.0).abs() < 0.1, "{order}");
}

#[test]
fn shared_errors_of_a_run_stay_below_ten_tolerances_of_each_unknown() {
    let error = |y: &[f64], t: f64| (y[0] - t.cos()).hypot(y[1] + t.sin());
    for max_order in [2, 5] {
        for tolerance in [1e-3_f64, 1e-5] {
            let go = |horizon, until| {
                let options = BdfOptions { max_order, horizon, ..Default::default() };
                run(&OSCILLATOR, options, &[1.0, 0.0], 1e-3 * tolerance.sqrt(), until, (tolerance, tolerance))
            };
            // a hundred periods
            let until = 200.0 * std::f64::consts::PI;
            let (alone, few) = go(None, until);
            let (shared, counts) = go(Some(until), until);
            // a tolerance is rtol |y| + atol, up to twice 10⁻³ or 10⁻⁵ in each of two unknowns
            let bound = SHARED * 2.0 * 2f64.sqrt() * tolerance;
            let (alone, shared) = (error(&alone, until), error(&shared, until));
            assert!(shared <= bound && alone > shared, "{shared:.1e}, {alone:.1e} at {tolerance:.0e}");
            assert!(counts.steps > few.steps && counts.error_failures <= 3 + counts.steps / 10, "{counts:?}");
        }
    }
    // few steps have their whole tolerance
    let short =
        |horizon| run(&OSCILLATOR, BdfOptions { horizon, ..Default::default() }, &[1.0, 0.0], 0.25, 2.0, (1.0, 1.0));
    assert_eq!(short(None), short(Some(2.0)));
}

#[test]
fn van_der_pol_is_passed_in_few_steps_and_the_same_ones_every_time() {
    let rates = |_: f64, y: &[f64], f: &mut [f64]| {
        (f[0], f[1]) = (y[1], 1e3 * (1.0 - y[0] * y[0]) * y[1] - y[0]);
    };
    let ode = Ode { n: 0, nz: 2, rates: &rates };
    let go = || run(&ode, BdfOptions::default(), &[2.0, 0.0], 1e-6, 2000.0, (1e-6, 1e-9));
    let (y, counts) = go();
    // reference of the IVP test set, in unscaled time
    assert!((y[0] - 1.706167732170483).abs() < 1e-4, "{y:?}");
    assert!((y[1] + 0.892809701024795e-3).abs() < 1e-6, "{y:?}");
    assert!(counts.steps < 1400 && counts.convergence_failures == 0, "{counts:?}");
    assert_eq!((y, counts), go());
}

#[test]
fn robertson_reaches_its_equilibrium_with_huge_steps() {
    let rates = |_: f64, y: &[f64], f: &mut [f64]| {
        let (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]);
        (f[0], f[1], f[2]) = (b - a, a - b - c, c);
    };
    let ode = Ode { n: 0, nz: 3, rates: &rates };
    let (y, _) = run(&ode, BdfOptions::default(), &[1.0, 0.0, 0.0], 1e-6, 40.0, (1e-6, 1e-12));
    let reference = [0.7158270688, 0.9185534765e-5, 0.2841637457];
    assert!(y.iter().zip(reference).all(|(y, r)| (y / r - 1.0).abs() < 1e-4), "{y:?}");
    let (y, counts) = run(&ode, BdfOptions::default(), &[1.0, 0.0, 0.0], 1e-6, 1e11, (1e-6, 1e-14));
    let reference = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.999999979166505];
    assert!(y.iter().zip(reference).all(|(y, r)| (y / r - 1.0).abs() < 1e-2), "{y:?}");
    assert!(counts.steps < 1100 && counts.longest_step > 1e9, "{counts:?}");
}

#[test]
fn interpolation_is_as_accurate_as_the_steps() {
    let mut worst = 0.0_f64;
    let mut state = OSCILLATOR.state();
    let mut previous = 0.0;
    let mut bdf = Bdf::default();
    OSCILLATOR.run(&mut bdf, &OSCILLATOR.point(0.0, &[1.0, 0.0]), 1e-5, 5.0, (1e-7, 1e-7), &mut |m, p| {
        for part in [0.0, 0.3, 0.7, 1.0] {
            let t = (1.0 - part) * previous + part * p.t;
            m.interpolate(t, &mut state);
            worst = worst.max((state.q[0] - t.cos()).hypot(state.v[0] + t.sin()));
        }
        assert_eq!((state.q[0], state.v[0]), (p.q[0], p.v[0]));
        previous = p.t;
    });
    assert!(worst < 5e-6, "{worst:.1e}");
}

#[test]
fn prediction_of_multipliers_is_linear() {
    let mut bdf = Bdf::new(BdfOptions { max_order: 2, fixed_step: Some(0.5), ..Default::default() });
    let mut p = Point { lambda: vec![1.0], mu: vec![2.0], ..OSCILLATOR.point(0.0, &[1.0, 0.0]) };
    let mut law = Stencil::default();
    bdf.start(&p, 0.5);
    bdf.prepare(&mut law, &mut p);
    assert_eq!((p.lambda[0], p.mu[0]), (1.0, 2.0));
    (p.lambda[0], p.mu[0]) = (3.0, 1.0);
    bdf.accept(&p, &Weights::default(), &mut State::default());
    bdf.prepare(&mut law, &mut p);
    assert_eq!((p.lambda[0], p.mu[0]), (5.0, 0.0));
}

#[test]
fn failures_shorten_the_step_until_it_collapses() {
    let start = OSCILLATOR.point(1.0, &[1.0, 0.0]);
    let (mut bdf, mut law) = (Bdf::default(), Stencil::default());
    bdf.start(&start, 0.1);
    bdf.prepare(&mut law, &mut start.clone());
    assert!(bdf.reject(Rejection::Convergence).is_ok());
    assert_eq!(bdf.step_size(), 0.025);
    let more = (0..20).take_while(|_| bdf.reject(Rejection::Convergence).is_ok()).count();
    assert_eq!(more, 8);
    bdf.start(&start, 0.1);
    let failures = (0..100).take_while(|_| bdf.reject(Rejection::Error(f64::NAN)).is_ok()).count();
    assert!((20..30).contains(&failures), "{failures}");
    let mut fixed = Bdf::new(BdfOptions { fixed_step: Some(0.1), ..Default::default() });
    fixed.start(&start, 0.1);
    assert_eq!(fixed.reject(Rejection::Convergence), Err(StepCollapse));
}

#[test]
fn recentring_keeps_the_path_to_the_order() {
    // R(t) = exp(a sin t) exp(b t), chart at the identity
    let pose = |t: f64| Quat::exp(Vec3::new(0.5, -0.3, 0.2) * t.sin()).then(Quat::exp(Vec3::new(0.1, 0.4, 0.3) * t));
    for order in 1..=HIGHEST_ORDER {
        let difference = |h: f64| {
            let mut bdf = Bdf::new(BdfOptions { max_order: order, fixed_step: Some(h), ..Default::default() });
            let point = |t: f64| Point { t, q: pose(t).log().0.to_vec(), qdot: vec![0.0; 3], ..Point::default() };
            let (mut law, mut guess) = (Stencil::default(), point(1.0));
            bdf.start(&guess, h);
            for _ in 0..8 {
                bdf.prepare(&mut law, &mut guess);
                bdf.accept(&point(law.t), &Weights::default(), &mut State::default());
            }
            let t = law.t - 0.5 * h;
            let change = ChartMove::to(0, Vec3::new(-0.2, 0.5, -0.7));
            let turn = change.turn;
            let mut before = State::default();
            let mut after = State::default();
            bdf.interpolate(t, &mut before);
            bdf.recentre(&ChartChange { moves: vec![change] });
            bdf.interpolate(t, &mut after);
            let moved = turn.then(Quat::exp(Vec3::from_slice(&before.q))).log();
            // at the nodes themselves the poses are the same
            let mut node = State::default();
            bdf.interpolate(law.t - h, &mut node);
            let exact = turn.then(pose(law.t - h)).log();
            assert!((Vec3::from_slice(&node.q) - exact).norm() < 1e-13);
            (Vec3::from_slice(&after.q) - moved).norm()
        };
        let (coarse, fine) = (difference(0.2), difference(0.025));
        let measured = (coarse / fine).log2() / 3.0;
        assert!(measured > order as f64 + 0.75, "order {order}: {coarse:.1e} {fine:.1e} → {measured:.2}");
    }
}

#[test]
fn integration_does_not_notice_recentring() {
    let angle = |a: Quat, b: Quat| a.conjugate().then(b).log().norm();
    let (reference, ..) = tumble(&mut Bdf::default(), 2.0, 1e-11, 10.0);
    let (fixed, few, _) = tumble(&mut Bdf::default(), 2.0, 1e-7, 10.0);
    let (moved, counts, changes) = tumble(&mut Bdf::default(), 2.0, 1e-7, 0.3);
    assert!(changes >= 5, "{changes}");
    assert!(angle(fixed, reference) < 1e-5 && angle(moved, reference) < 1e-5);
    assert!(counts.steps <= few.steps + few.steps / 4 + 5, "{} against {}", counts.steps, few.steps);
    let (long, ..) = tumble(&mut Bdf::default(), 20.0, 1e-10, 1.0);
    let (coarse, _, changes) = tumble(&mut Bdf::default(), 20.0, 1e-7, 1.0);
    assert!(changes >= 15 && angle(coarse, long) < 1e-4, "{changes} {:.1e}", angle(coarse, long));
}

/// A point mass on the unit circle under gravity and a radial spring at rest length, held by
/// coordinate splitting: P(q̇ − v) = 0, P(v̇ − f) = 0, G v = 0, g = 0 with P = (−y, x)/x.
#[test]
fn steps_are_those_of_dassl_on_a_constrained_point() {
    let residual = |s: &Stencil, y: &[f64]| {
        let r = y[0].hypot(y[1]);
        let pull = -(r - 1.0) / (1e-2 * r);
        let rate = |i: usize, eta: f64| s.slopes.q * y[i] + eta;
        let along = |x: f64, z: f64| z - y[1] / y[0] * x;
        [
            along(rate(0, s.eta_q[0]) - y[2], rate(1, s.eta_q[1]) - y[3]),
            along(rate(2, s.eta_v[0]) - pull * y[0], rate(3, s.eta_v[1]) - pull * y[1] + 1.0),
            y[0] * y[2] + y[1] * y[3],
            0.5 * (y[0] * y[0] + y[1] * y[1] - 1.0),
        ]
    };
    let ode = Ode { n: 2, nz: 0, rates: &|_, _, _| () };
    let mut p = ode.point(0.0, &[1.0, 0.0, 0.0, 0.0]);
    p.vdot[1] = -1.0;
    let weigh = |p: &Point| {
        let of = |x: f64| 1.0 / (1e-5 * x.abs() + 1e-5);
        Weights { q: vec![0.0, of(p.q[1])], v: vec![0.0, of(p.v[1])], ..Weights::default() }
    };
    let mut bdf = Bdf::new(BdfOptions { max_order: 2, ..Default::default() });
    bdf.start(&p, first_step(&p, &weigh(&p), 1.0));
    bdf.limit(1.0);
    let (mut steps, mut failures, mut law) = (0, 0, Stencil::default());
    while p.t < 1.0 {
        let weights = weigh(&p);
        let mut trial = p.clone();
        bdf.prepare(&mut law, &mut trial);
        law.rates(&mut trial);
        for _ in 0..6 {
            let mut y = ode.stack(&trial);
            let mut r = residual(&law, &y).to_vec();
            let mut jacobian = vec![vec![0.0; 4]; 4];
            for j in 0..4 {
                y[j] += 1e-7;
                let moved = residual(&law, &y);
                y[j] -= 1e-7;
                (0..4).for_each(|i| jacobian[i][j] = (moved[i] - r[i]) / 1e-7);
            }
            eliminate(&mut jacobian, &mut r);
            y.iter_mut().zip(&r).for_each(|(y, d)| *y -= d);
            ode.unstack(&y, &mut trial);
        }
        trial.t = law.t;
        match bdf.error(&trial, &weights) {
            e if e <= 1.0 => {
                bdf.accept(&trial, &weights, &mut State::default());
                p = trial;
                steps += 1;
            }
            e => {
                bdf.reject(Rejection::Error(e)).unwrap();
                failures += 1;
            }
        }
    }
    // DASSL with its own, laxer Newton test: 50 steps and 1 failure
    assert_eq!((steps, failures), (50, 0));
    assert!((p.q[1] + 0.475809922943).abs() < 1e-3 && (p.v[1] + 0.85800803732).abs() < 1e-3);
}
