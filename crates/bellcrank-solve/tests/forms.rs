//! Forms of the equations of motion beside our own: their order, what becomes of their constraints, and where they meet.

mod common;

use bellcrank_solve::FormulationKind::{self, *};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::run::Simulation;
use common::*;

const UNTIL: f64 = 0.5;

/// Positions and velocities at the end.
fn ends(summary: &bellcrank_solve::Summary) -> Vec<f64> {
    let moves = |name: &str| {
        let part = name.rsplit_once('.').map_or("", |n| n.1);
        matches!(part, "x" | "y" | "z" | "vx" | "vy" | "vz" | "wx" | "wy" | "wz")
    };
    summary.last.iter().filter(|(name, _)| moves(name)).map(|(_, v)| *v).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn on(formulation: FormulationKind, method: MethodName, step: Option<f64>) -> Options {
    Options { method, formulation: Some(formulation), step, rtol: 1e-11, until: UNTIL, ..Options::default() }
}

/// The four-bar, fast enough that errors stand clear of rounding.
fn four_bar() -> String {
    FOUR_BAR.replace("rate = 1.5", "rate = 3")
}

#[test]
fn every_form_shows_the_order_of_its_method() {
    use MethodName::*;
    for (problem, text) in [("four-bar", four_bar()), ("spatial", SPATIAL.to_string())] {
        let s = system(&text);
        let exact = ends(&run(&s, on(Index1, Dop853, None)));
        for formulation in [Baumgarte, Augmented, MaggiLu, MaggiQr, MaggiSvd] {
            for (method, expected, steps) in [(Euler, 1.0, 2000), (Rk2, 2.0, 400), (Rk4, 4.0, 80), (Dopri5, 5.0, 40)] {
                let error = |n: usize| {
                    let options = on(formulation, method, Some(UNTIL / n as f64)).with(|o| o.parameters.iterates = 4);
                    distance(&ends(&run(&s, options)), &exact)
                };
                let errors = [error(steps), error(2 * steps)];
                let order = (errors[0] / errors[1]).log2();
                assert!(
                    (order - expected).abs() < 0.25,
                    "{problem}: {method:?} on {formulation}: {order:.2}, {errors:?}"
                );
            }
        }
        for (method, expected, steps) in [(GeneralizedAlpha, 2.0, 200), (Bdf, 2.0, 400)] {
            let error = |n: usize| {
                let options = on(Baumgarte, method, Some(UNTIL / n as f64)).with(|o| o.parameters.max_order = 2);
                distance(&ends(&run(&s, options)), &exact)
            };
            let errors = [error(steps), error(2 * steps)];
            let order = (errors[0] / errors[1]).log2();
            assert!((order - expected).abs() < 0.2, "{problem}: {method:?} on baumgarte: {order:.2}, {errors:?}");
        }
    }
}

#[test]
fn independent_coordinates_move_like_all_of_them_and_hold_every_constraint() {
    for text in [four_bar(), SPATIAL.to_string(), bennett(), windows(3, false)] {
        let s = system(&text);
        let exact = run(&s, on(Index1, MethodName::Dop853, None));
        for formulation in [MaggiLu, MaggiQr, MaggiSvd] {
            let found = run(&s, on(formulation, MethodName::Dop853, None));
            let off = distance(&ends(&found), &ends(&exact));
            assert!(off < 1e-8, "{formulation}: {off:e}");
            assert!(found.drift.position < 1e-13 && found.drift.velocity < 1e-12, "{formulation}: {:?}", found.drift);
            assert_eq!(found.names.formulation, formulation.name());
            for (name, value) in exact.last.iter().filter(|(n, _)| n.ends_with(".force") || n.ends_with(".fx")) {
                let other = last(&found, name);
                assert!((value - other).abs() < 1e-5 * (1.0 + value.abs()), "{formulation} {name}: {value} {other}");
            }
        }
    }
}

#[test]
fn drift_of_accelerations_alone_grows_and_baumgarte_bounds_it() {
    let s = system(&four_bar());
    let drift = |alpha: f64, until: f64| {
        let options = on(Baumgarte, MethodName::Rk4, Some(4e-3)).with(|o| o.parameters.baumgarte_alpha = alpha);
        run(&s, Options { until, ..options }).drift.position
    };
    let [early, late] = [drift(0.0, 2.0), drift(0.0, 8.0)];
    assert!(late > 3.0 * early, "without stabilization {early:e} m becomes {late:e} m");
    let [early, stabilized] = [drift(20.0, 2.0), drift(20.0, 8.0)];
    assert!(
        stabilized < 0.05 * late && stabilized < 3.0 * early,
        "{early:e} m, {stabilized:e} m, and {late:e} m without"
    );
}

#[test]
fn every_iterate_of_the_augmented_lagrangian_divides_the_rest_by_the_penalty() {
    for text in [four_bar(), SPATIAL.to_string()] {
        let s = system(&text);
        let limit = ends(&run(&s, on(Baumgarte, MethodName::Rk4, Some(1e-3))));
        let error = |iterates: usize, penalty: f64| {
            let options = on(Augmented, MethodName::Rk4, Some(1e-3))
                .with(|o| (o.parameters.iterates, o.parameters.penalty) = (iterates, penalty));
            distance(&ends(&run(&s, options)), &limit)
        };
        let errors = [error(1, 1e3), error(2, 1e3), error(3, 1e3)];
        assert!(errors[0] > 1e-4, "{errors:?}");
        assert!(errors[1] < 0.05 * errors[0] && errors[2] < 0.05 * errors[1], "{errors:?}");
        let slope = error(1, 1e3) / error(1, 1e4);
        assert!((slope - 10.0).abs() < 1.0, "one iterate is the penalty method, of first order in 1/p: {slope}");
    }
}

#[test]
fn joints_of_park_open_with_the_square_of_epsilon_and_steps_have_their_order() {
    let s = system(&four_bar());
    let exact = ends(&run(&s, on(Index1, MethodName::Dop853, None)));
    let park = |epsilon: f64, method, step| on(Park, method, step).with(|o| o.parameters.epsilon = Some(epsilon));
    let found: Vec<_> = [4e-3, 2e-3, 1e-3]
        .map(|epsilon| {
            let summary = run(&s, park(epsilon, MethodName::Dop853, None));
            (distance(&ends(&summary), &exact), summary.drift.position)
        })
        .into();
    for pair in found.windows(2) {
        let order = (pair[0].1 / pair[1].1).log2();
        assert!((order - 2.0).abs() < 0.3, "drift falls with ε^{order:.2}: {found:?}");
        assert!(
            pair[1].0 < 0.6 * pair[0].0,
            "and so does the error, whose oscillations in velocities fall with ε: {found:?}"
        );
    }
    let reference = ends(&run(&s, park(4e-3, MethodName::Dop853, None)));
    for (method, expected, steps) in [(MethodName::Rk2, 2.0, 2000), (MethodName::Rk4, 4.0, 1000)] {
        let error = |n: usize| distance(&ends(&run(&s, park(4e-3, method, Some(UNTIL / n as f64)))), &reference);
        let order = (error(steps) / error(2 * steps)).log2();
        assert!((order - expected).abs() < 0.25, "{method:?}: {order:.2}");
    }
}

#[test]
fn rolling_wheels_and_dependent_rows_have_their_forms() {
    let s = system(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/rolling-disk.toml")));
    let exact = ends(&run(&s, on(Index1, MethodName::Dop853, None)));
    for formulation in [Baumgarte, Augmented, MaggiLu, MaggiQr, MaggiSvd] {
        let options = on(formulation, MethodName::Dop853, None).with(|o| o.parameters.iterates = 4);
        let off = distance(&ends(&run(&s, options)), &exact);
        assert!(off < 1e-6, "{formulation}: {off:e}");
    }
    // five rows of which two hold
    let s = system(&bennett());
    let exact = ends(&run(&s, on(Index1, MethodName::Dop853, None)));
    for formulation in [Baumgarte, Augmented, Park] {
        let options = on(formulation, MethodName::Dop853, None).with(|o| o.parameters.iterates = 4);
        let off = distance(&ends(&run(&s, options)), &exact);
        assert!(off < 5e-3, "{formulation}: {off:e}");
    }
}

#[test]
fn forms_are_refused_by_name_where_they_do_not_apply() {
    let refusal = |text: &str, options: Options| {
        Simulation::new(system(text), options).err().map_or(String::new(), |e| e.to_string())
    };
    let bdf = refusal(FOUR_BAR, on(MaggiLu, MethodName::Bdf, None));
    assert!(bdf.contains("maggi-lu gives accelerations, to explicit methods, and bdf is implicit"), "{bdf}");
    let auto = refusal(FOUR_BAR, on(Park, MethodName::Auto, None));
    assert!(auto.contains("auto chooses among ggl, si2 and index1"), "{auto}");
    let large = refusal(&windows(80, false), on(MaggiSvd, MethodName::Dopri5, None));
    assert!(large.contains("up to 400 coordinates, and this machine has 483"), "{large}");
    let massless = FOUR_BAR.replace("to = [2.1, 1.2], mass = 3 }", "to = [2.1, 1.2] }, mass = 0");
    let body = refusal(&massless, on(Augmented, MethodName::Dopri5, None));
    assert!(body.contains("coupler") && body.contains("no mass"), "{body}");
    let explicit = refusal(FOUR_BAR, on(Ggl, MethodName::Rk4, Some(1e-3)));
    assert!(explicit.contains("rk4 is explicit and does not run on ggl"), "{explicit}");
}
