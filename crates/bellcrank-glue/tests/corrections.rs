//! The paper's own gluing, trials that are corrected level by level, beside ours: the same motion, counted in exchanges.

mod machines;

use bellcrank_glue::{Coordinator, Coupling, GlueError, GlueOptions, Levels, PartModel, Subdomain, cut};
use bellcrank_model::Dynamics;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::start::assemble;
use machines::{
    DOUBLE_FOUR_BAR, FOUR_BAR, SPATIAL, Values, chain_of, difference, glued, join, own, problem, system, values, whole,
};
use std::sync::Arc;

fn options(coupling: Coupling, window: f64) -> GlueOptions {
    GlueOptions { coupling, window, ..GlueOptions::default() }
}

/// A model of this folder, or one of the examples.
fn text(name: &str) -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let paths = [format!("{here}/tests/models/{name}.toml"), format!("{here}/../../examples/{name}.toml")];
    paths.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(|| panic!("no model {name}"))
}

/// Two bodies pinned at their centres, one of them on a spring.
fn pinned(first: f64, second: f64) -> String {
    format!(
        "model = {{ plane = \"xy\" }}\n\
         body.a = {{ mass = {first}, inertia = 1, at = [0, 0] }}\nbody.b = {{ mass = {second}, inertia = 1, at = [0, 0] }}\n\
         joint.pin = {{ type = \"revolute\", between = [\"a\", \"b\"], at = [0, 0] }}\n\
         force.spring = {{ type = \"spring-damper\", between = [\"ground\", \"b\"], at = [[-2, 0], [0, 0]], stiffness = 50, \
         length = 1 }}\n"
    )
}

/// Two pendulums that a spring-damper joins.
fn coupled(stiffness: f64) -> String {
    format!(
        r#"
model = {{ plane = "xy", gravity = [0, -9.81] }}
body.left = {{ rod = {{ from = [0, 0], to = [0, -1], mass = 2 }} }}
body.right = {{ rod = {{ from = [0.6, 0], to = [1.2, -0.8], mass = 1 }} }}
joint.a = {{ type = "revolute", between = ["ground", "left"], at = [0, 0] }}
joint.b = {{ type = "revolute", between = ["ground", "right"], at = [0.6, 0] }}
force.k = {{ type = "spring-damper", between = ["left", "right"], at = [[0, -0.5], [0.9, -0.4]], stiffness = {stiffness}, damping = 2 }}
"#
    )
}

/// Trees and loops, plane and space, rigid and flexible, springs and redundant joints.
#[test]
fn the_papers_gluing_has_the_motion_of_the_whole_with_second_order_and_its_exchanges_are_counted() {
    let (chain, rod) = (chain_of(12), problem("flexible-slider-crank"));
    let (bennett, wishbones, springs) = (text("bennett"), text("wishbones"), coupled(2e3));
    let cases: [(&str, &str, &[&str], f64, f64); 11] = [
        ("four-bar, b", FOUR_BAR, &["b"], 2e-3, 0.1),
        ("four-bar, a and c", FOUR_BAR, &["a", "c"], 2e-3, 0.1),
        ("four-bar, all joints", FOUR_BAR, &["a", "b", "c", "d"], 2e-3, 0.1),
        ("double four-bar, e and f", DOUBLE_FOUR_BAR, &["e", "f"], 2e-3, 0.1),
        ("chain of 12, two joints", &chain, &["j4", "j8"], 2e-3, 0.1),
        ("spatial, socket", SPATIAL, &["socket"], 2e-3, 0.1),
        ("spatial, pin and socket", SPATIAL, &["pin", "socket"], 2e-3, 0.1),
        ("flexible rod, elbow", &rod, &["elbow"], 5e-5, 4e-3),
        ("two pendulums, a spring", &springs, &["k"], 4e-3, 0.2),
        ("Bennett, j1 and j3", &bennett, &["j1", "j3"], 2e-3, 0.1),
        ("wishbones, lf and lr", &wishbones, &["lf", "lr"], 1e-3, 0.05),
    ];
    let mut wrong = Vec::new();
    for (name, text, at, h, until) in cases {
        let system = system(text);
        let reference = whole(&system, Options { until, rtol: 1e-11, ..own(MethodName::Dop853) });
        let of = |coupling, window: f64| {
            let (c, seen) = glued(&system, at, options(coupling, window), &[], until);
            let r = c.report();
            (difference(&reference, &seen), r.exchanges as f64 / r.windows as f64, r.clone())
        };
        let [(coarse, ..), (fine, gauss, report)] = [of(Coupling::Gauss, h), of(Coupling::Gauss, 0.5 * h)];
        let (theirs, ours, _) = of(Coupling::Stabilized, 0.5 * h);
        let order = (coarse / fine).log2();
        if !(order > 1.8 && order < 2.3 && fine < 10.0 * theirs) {
            wrong.push(format!("{name}: errors {coarse:e}, {fine:e}, ours {theirs:e}"));
        }
        // one exchange for the prediction, two or three for every iteration
        if !(3.0..=14.0).contains(&gauss) || gauss < 1.9 * ours {
            wrong.push(format!("{name}: {gauss} exchanges, ours {ours}"));
        }
        if report.residuals.position > 2e-9 {
            wrong.push(format!("{name}: {:?}", report.residuals));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn redundant_joints_between_parts_take_the_least_reactions_and_say_so() {
    let (c, _) = glued(&system(&text("wishbones")), &["lf", "lr"], options(Coupling::Gauss, 1e-3), &[], 0.02);
    assert!(c.report().not_unique.iter().any(|n| n == "joint `lf`"), "{:?}", c.report().not_unique);
}

#[test]
fn reactions_are_those_of_the_whole() {
    let system = system(FOUR_BAR);
    let reference = whole(&system, Options { until: 0.1, rtol: 1e-11, ..own(MethodName::Dop853) });
    let (_, seen) = glued(&system, &["b", "d"], options(Coupling::Gauss, 5e-4), &[], 0.1);
    for name in ["b.fx", "b.fy", "d.fx", "d.fy", "a.fx"] {
        let find = |of: &Values| of.iter().find(|(n, _)| n == name).unwrap().1;
        assert!((find(&reference) - find(&seen)).abs() < 1e-4, "{name}: {} {}", find(&reference), find(&seen));
    }
}

/// 1 − (uᵀM⁻¹u)(uᵀMu) is −(m₁ − m₂)²/(4m₁m₂) for two masses that are pinned: it converges below m₁/m₂ = 3 + 2√2.
#[test]
fn the_naive_projection_multiplies_the_residual_by_the_factor_of_the_theory() {
    let theory = |a: f64, b: f64| (a - b) * (a - b) / (4.0 * a * b);
    for (first, second) in [(1.0, 10.0), (20.0, 1.0)] {
        let mut c = join(&system(&pinned(first, second)), &["pin"], options(Coupling::Naive, 1e-4), &[]);
        let error = c.run(1e-3, &mut |_| Ok(())).expect_err("diverges");
        let GlueError::Uncorrected { naive: true, factor, .. } = error else { panic!("{error}") };
        assert!((factor / theory(first, second) - 1.0).abs() < 1e-3, "{factor} for {}", theory(first, second));
        assert!(error.to_string().contains("use --coupling gauss"), "{error}");
    }
    let machine = system(&pinned(1.0, 2.0));
    let reference = whole(&machine, Options { until: 0.02, rtol: 1e-11, ..own(MethodName::Dop853) });
    let [naive, gauss] =
        [Coupling::Naive, Coupling::Gauss].map(|c| glued(&machine, &["pin"], options(c, 1e-3), &[], 0.02));
    for (_, seen) in [&naive, &gauss] {
        assert!(difference(&reference, seen) < 1e-6, "{:e}", difference(&reference, seen));
    }
    assert!(naive.0.report().exchanges > gauss.0.report().exchanges);
    // the masses do not matter to Gauss's principle
    for (first, second) in [(1.0, 10.0), (1.0, 1e4), (1e4, 1.0)] {
        let machine = system(&pinned(first, second));
        let reference = whole(&machine, Options { until: 0.02, rtol: 1e-11, ..own(MethodName::Dop853) });
        let (c, seen) = glued(&machine, &["pin"], options(Coupling::Gauss, 1e-3), &[], 0.02);
        assert!(difference(&reference, &seen) < 1e-5, "{first} {second}: {:e}", difference(&reference, &seen));
        assert!(c.report().most <= 8, "{first} {second}: {:?}", c.report());
    }
}

#[test]
fn the_naive_projection_diverges_on_the_four_bar_at_any_window() {
    for window in [1e-2, 1e-4] {
        let mut c = join(&system(FOUR_BAR), &["a", "b", "c", "d"], options(Coupling::Naive, window), &[]);
        let error = c.run(20.0 * window, &mut |_| Ok(())).expect_err("diverges");
        assert!(matches!(error, GlueError::Uncorrected { naive: true, factor, .. } if factor > 1.0), "{error}");
    }
}

/// The reactions of GL-ACC know the masses, and not how stiff a part is to them.
#[test]
fn a_part_that_is_stiff_behind_its_joint_needs_short_windows_and_the_run_says_so() {
    let machine = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.arm = { rod = { from = [0, 0], to = [1, 0], mass = 2 } }
body.tip = { mass = 1, inertia = 0.1, at = [1, 0] }
body.rod = { rod = { from = [1, 0], to = [1.5, -0.8], mass = 1 } }
joint.a = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
joint.b = { type = "revolute", between = ["tip", "rod"], at = [1, 0] }
force.bush = { type = "bushing", between = ["arm", "tip"], at = [1, 0], stiffness = [1e7, 1e7, 1e5], damping = [1e3, 1e3, 10] }
"#,
    );
    let run = |coupling, window: f64| {
        let mut c = join(&machine, &["b"], options(coupling, window), &[]);
        c.run(5.0 * window, &mut |_| Ok(())).err().map(|e| e.to_string())
    };
    let told = run(Coupling::Gauss, 1e-2).expect("diverges");
    assert!(told.contains("use a shorter window, or --coupling stabilized"), "{told}");
    assert_eq!(run(Coupling::Gauss, 1e-4), None);
    assert_eq!(run(Coupling::Stabilized, 1e-2), None);
}

#[test]
fn what_it_does_not_know_is_refused_with_a_reason() {
    let refused = |text: &str, at: &[&str], o: GlueOptions| -> String {
        let system = system(text);
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
        let cut = cut(&system, &point, at).unwrap();
        let make = |p: PartModel| -> Result<Box<dyn Subdomain>, String> {
            p.in_step(o.coupling, 0.8).map_err(|e| e.to_string())
        };
        let parts: Result<Vec<_>, String> = cut.parts.into_iter().map(make).collect();
        match parts {
            Err(why) => why,
            Ok(parts) => Coordinator::new(parts, cut.interface, 0.0, o).err().expect("refused").to_string(),
        }
    };
    let gauss = options(Coupling::Gauss, 1e-3);
    let adaptive = GlueOptions { rtol: Some(1e-4), tolerances: Levels::within(1e-4), ..gauss };
    let why = refused(FOUR_BAR, &["b"], adaptive);
    assert!(why.contains("no estimate of its error") && why.contains("--coupling stabilized"), "{why}");
    let why = refused(&text("rolling-disk-with-bob"), &["hinge"], gauss);
    assert!(why.contains("holds rates and no position") && why.contains("--coupling stabilized"), "{why}");
    let integral = "[force]\nhold = { type = \"pid\", joint = \"a\", reference = 1, kp = 10, ki = 5, kd = 1 }\n[start]";
    let why = refused(&FOUR_BAR.replace("[start]", integral), &["b"], gauss);
    assert!(why.contains("has states of its own") && why.contains("--coupling stabilized"), "{why}");
    // parts with their own solvers cannot be corrected
    let machine = system(FOUR_BAR);
    let dynamics: Arc<dyn Dynamics> = machine.clone();
    let (point, _) = assemble(&dynamics, &machine.initial_state()).unwrap();
    let cut = cut(&machine, &point, &["b"]).unwrap();
    let parts: Vec<Box<dyn Subdomain>> =
        cut.parts.into_iter().map(|p| p.with_own_solver(own(MethodName::Dopri5)).unwrap()).collect();
    let why = Coordinator::new(parts, cut.interface, 0.0, gauss).err().expect("refused").to_string();
    assert!(why.contains("has a solver of its own"), "{why}");
}

#[test]
fn looking_and_going_back_change_nothing() {
    let machine = system(SPATIAL);
    let run = |look: bool| {
        let mut c = join(&machine, &["socket"], options(Coupling::Gauss, 2e-3), &[]);
        c.run(0.02, &mut |c| if look { c.observe().map(|_| ()) } else { Ok(()) }).unwrap();
        values(&mut c)
    };
    assert_eq!(run(true), run(false));
    let mut c = join(&machine, &["socket"], options(Coupling::Gauss, 2e-3), &[]);
    c.run(0.01, &mut |_| Ok(())).unwrap();
    c.save().unwrap();
    let folder = std::env::temp_dir().join(format!("bellcrank-corrections-{}", std::process::id()));
    c.keep(&folder, "half", &[]).unwrap();
    c.run(0.02, &mut |_| Ok(())).unwrap();
    let first = values(&mut c);
    c.restore().unwrap();
    c.run(0.02, &mut |_| Ok(())).unwrap();
    assert_eq!(first, values(&mut c));
    let mut other = join(&machine, &["socket"], options(Coupling::Gauss, 2e-3), &[]);
    other.recover(&folder).unwrap();
    other.run(0.02, &mut |_| Ok(())).unwrap();
    assert_eq!(first, values(&mut other));
    let why = join(&machine, &["socket"], options(Coupling::Stabilized, 2e-3), &[]).recover(&folder).unwrap_err();
    assert!(why.to_string().contains("glued by Gauss's principle"), "{why}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_load_that_jumps_begins_its_windows_anew() {
    let text = FOUR_BAR.replace(
        "[start]",
        "[force]\npush = { type = \"force\", body = \"coupler\", at = [1.3, 1.0], force = [\"if(t < 0.0505, 0, 30)\", 0] }\n[start]",
    );
    let machine = system(&text);
    let reference = whole(&machine, Options { until: 0.1, rtol: 1e-11, ..own(MethodName::Dop853) });
    let error = |h| difference(&reference, &glued(&machine, &["b"], options(Coupling::Gauss, h), &[], 0.1).1);
    let (coarse, fine) = (error(2e-3), error(1e-3));
    assert!(coarse / fine > 3.0 && fine < 1e-6, "{coarse:e} {fine:e}");
}
