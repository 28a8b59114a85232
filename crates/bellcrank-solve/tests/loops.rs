//! Closed loops: a tree and what closes it, loop-CG, sequential regularization, and singular positions.

mod common;

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{MethodName, Options, Solver};
use bellcrank_solve::engines::regularized::{Regularization, Srm};
use bellcrank_solve::engines::{Engine, StepError};
use bellcrank_solve::events::Event;
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::linear::loop_cg::LoopCg;
use bellcrank_solve::linear::loops::Loops;
use bellcrank_solve::methods::tableau::{EULER, RK2, RK4};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use bellcrank_solve::start;
use common::*;
use std::fmt::Write;
use std::sync::Arc;

/// A spatial four-bar: revolute, universal, spherical, revolute.
const SPATIAL_LOOP: &str = r#"
model = { gravity = [0, -9.81, 0] }
[body]
crank = { rod = { from = [0, 0, 0], to = [0.5, 0.8, 0], mass = 2, radius = 0.02 } }
coupler = { rod = { from = [0.5, 0.8, 0], to = [2.1, 1.2, 0], mass = 3, radius = 0.02 } }
rocker = { rod = { from = [2.0, 0, 0], to = [2.1, 1.2, 0], mass = 2, radius = 0.02 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0, 0] }
b = { type = "universal", between = ["crank", "coupler"], at = [0.5, 0.8, 0], axis = [0, 0, 1], axis2 = [1, 0, 0] }
c = { type = "spherical", between = ["coupler", "rocker"], at = [2.1, 1.2, 0] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0, 0], axis = [0, 0.1, 1] }
[start]
a = { rate = 1 }
"#;

fn start(system: &Arc<System>) -> Point {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    start::assemble(&dynamics, &system.initial_state()).expect("a start").0
}

/// n windows: n + 1 uprights and n bars on them, upright, moving with 1 rad/s.
fn windows(n: usize, natural: bool) -> String {
    let kind = if natural { "coordinates = \"natural\", " } else { "" };
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n[body]\n");
    for i in 0..=n {
        let _ = writeln!(text, "v{i} = {{ {kind}rod = {{ from = [{i}, 0], to = [{i}, 1], mass = 1 }} }}");
    }
    for i in 0..n {
        let _ = writeln!(text, "h{i} = {{ {kind}rod = {{ from = [{i}, 1], to = [{}, 1], mass = 1 }} }}", i + 1);
    }
    text += "[joint]\n";
    for i in 0..=n {
        let _ = writeln!(text, "g{i} = {{ type = \"revolute\", between = [\"ground\", \"v{i}\"], at = [{i}, 0] }}");
    }
    for i in 0..n {
        let j = i + 1;
        let _ = writeln!(text, "a{i} = {{ type = \"revolute\", between = [\"v{i}\", \"h{i}\"], at = [{i}, 1] }}");
        let _ = writeln!(text, "b{i} = {{ type = \"revolute\", between = [\"h{i}\", \"v{j}\"], at = [{j}, 1] }}");
    }
    text + "[start]\ng0 = { rate = -1 }\n"
}

/// m squares that share opposite corners, held at the first one.
fn squares(m: usize) -> String {
    let (mut bodies, mut joints) = (String::new(), String::new());
    for k in 0..m {
        let at = |x: usize, y: usize| format!("[{}, -{}]", k + x, k + y);
        let corners = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
        for (name, from, to) in [("a", 0, 1), ("b", 0, 2), ("c", 1, 3), ("d", 2, 3)] {
            let (from, to) = (&corners[from], &corners[to]);
            let _ = writeln!(
                bodies,
                "{name}{k} = {{ coordinates = \"natural\", rod = {{ from = {from}, to = {to}, mass = 1 }} }}"
            );
        }
        let own = |name: &str| format!("{name}{k}");
        let pairs = [
            (root_of(k), own("a"), 0),
            (root_of(k), own("b"), 0),
            (own("a"), own("c"), 1),
            (own("b"), own("d"), 2),
            (own("c"), own("d"), 3),
        ];
        for (i, (first, second, at)) in pairs.iter().enumerate() {
            let at = &corners[*at];
            let _ = writeln!(
                joints,
                "j{k}x{i} = {{ type = \"revolute\", between = [\"{first}\", \"{second}\"], at = {at} }}"
            );
        }
    }
    format!("model = {{ plane = \"xy\", gravity = [0, -9.81] }}\n[body]\n{bodies}[joint]\n{joints}")
}

fn root_of(k: usize) -> String {
    if k == 0 { "ground".into() } else { format!("c{}", k - 1) }
}

/// The far corners of four squares at 1 s.
const SQUARES_AT_1: [[f64; 2]; 4] = [
    [0.535800937621, -1.854063109387],
    [1.016738690452, -3.450600819040],
    [0.970656700449, -5.149464402717],
    [1.172185463709, -6.260225878260],
];

/// The angle of the uprights from the vertical: one equation, by many small steps of a method of order 4.
fn exact_windows(n: usize, until: f64) -> f64 {
    let n = n as f64;
    let (inertia, moment) = ((n + 1.0) / 3.0 + n, 9.81 * ((n + 1.0) / 2.0 + n));
    let rate = |x: f64| moment * x.sin() / inertia;
    let (steps, mut x, mut v) = (200_000, 0.0f64, 1.0f64);
    let h = until / steps as f64;
    for _ in 0..steps {
        let (k1, l1) = (v, rate(x));
        let (k2, l2) = (v + 0.5 * h * l1, rate(x + 0.5 * h * k1));
        let (k3, l3) = (v + 0.5 * h * l2, rate(x + 0.5 * h * k2));
        let (k4, l4) = (v + h * l3, rate(x + h * k3));
        x += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        v += h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
    }
    x
}

#[test]
fn a_tree_has_no_loop_and_its_loops_are_few() {
    for (text, cut, rows) in
        [(FOUR_BAR.to_string(), 1, 2), (windows(3, false), 3, 6), (windows(3, true), 3, 6), (SPATIAL.to_string(), 0, 0)]
    {
        let s = system(&text);
        let at = start(&s);
        let loops = Loops::new(s.clone(), &at).expect("a tree");
        assert_eq!((loops.cut.len(), loops.size()), (cut, rows));
        // the joints of the tree alone never depend on each other: its factors exist where the whole is singular too
        assert_eq!(loops.tree.len() + loops.cut.len(), s.layout().constraints.len());
        assert!(Loops::all(s.clone(), &at).expect("bodies").tree.is_empty());
    }
}

#[test]
fn loops_and_tree_give_the_accelerations_of_the_whole() {
    for text in [FOUR_BAR, SPATIAL, SPATIAL_LOOP, &windows(4, true), &windows(4, false)] {
        let s = system(text);
        let at = start(&s);
        let mut w = s.workspace();
        let (mut whole, mut swept) = (at.clone(), at.clone());
        s.realize(&at, &mut w);
        Kkt::new(s.clone()).accelerate(&mut whole, &mut w).expect("regular");
        let mut cg = LoopCg::new(s.clone(), &at).expect("a tree");
        cg.cool();
        w.invalidate();
        s.realize(&at, &mut w);
        cg.accelerate(&mut swept, &mut w).expect("converges");
        let size = whole.vdot.iter().fold(1.0f64, |m, a| m.max(a.abs()));
        for (a, b) in whole.vdot.iter().zip(&swept.vdot) {
            assert!((a - b).abs() < 1e-9 * size, "{a} against {b}");
        }
    }
}

#[test]
fn loop_cg_moves_like_elimination() {
    for text in [FOUR_BAR, SPATIAL_LOOP, &windows(3, true)] {
        let s = system(text);
        let of = |solver| {
            run(&s, Options { method: MethodName::Dop853, solver, rtol: 1e-9, until: 0.5, ..Options::default() })
        };
        let (direct, loops) = (of(Solver::Direct), of(Solver::LoopCg));
        assert!(loops.drift.position < 1e-10 && loops.drift.velocity < 1e-8, "{:?}", loops.drift);
        let report = loops.loops.expect("a report");
        assert!(report.solves > 0 && report.equations > 0);
        for ((name, a), (_, b)) in direct.last.iter().zip(&loops.last) {
            if name.ends_with(".x") || name.ends_with(".y") || name.ends_with(".angle") {
                assert!((a - b).abs() < 1e-7, "{name}: {a} against {b}");
            }
        }
    }
}

#[test]
fn sequential_regularization_runs_on_rigid_bodies_with_its_order() {
    let s = system(FOUR_BAR);
    let exact = run(&s, Options { method: MethodName::Dop853, rtol: 1e-11, until: 0.2, ..Options::default() });
    for (method, iterates, order) in
        [(MethodName::Euler, 2, 1.0), (MethodName::Rk2, 1, 1.0), (MethodName::Rk2, 2, 2.0), (MethodName::Rk4, 3, 3.0)]
    {
        let error = |h: f64| {
            let o = Options { method, solver: Solver::Srm, step: Some(h), until: 0.2, ..Options::default() }
                .with(|o| o.parameters.iterates = iterates);
            let summary = run(&s, o);
            let report = summary.loops.clone().expect("a report");
            assert_eq!(report.drift.len(), iterates);
            // the tree is put back onto its constraints
            assert!(report.drift.iter().all(|d| d.1 < 1e-6), "{:?}", report.drift);
            ["coupler.x", "coupler.y"].iter().map(|c| (last(&summary, c) - last(&exact, c)).abs()).fold(0.0, f64::max)
        };
        let found = (error(1e-3) / error(5e-4)).log2();
        assert!((found - order).abs() < 0.35, "{method:?} with {iterates}: order {found}");
    }
}

#[test]
fn all_iterates_march_in_one_sweep_and_a_step_costs_the_same_for_every_body() {
    let entries = |n: usize| {
        let s = system(&windows(n, true));
        let at = start(&s);
        let how = Regularization { iterates: 3, ..Regularization::default() };
        let mut srm = Srm::new(s.clone(), &RK2, 1e-3, how, &at).expect("a tree").expect("a start");
        let before = srm.sweeps();
        srm.step(1.0).expect("a step");
        let after = srm.sweeps();
        // two stages and one stabilization of every iterate
        assert_eq!((after.0 - before.0, after.1 - before.1), (3 * 3, 3 * 4));
        Loops::new(s.clone(), &at).expect("a tree").factor_entries()
    };
    let (small, large) = (entries(10), entries(100));
    assert!((large as f64 / small as f64 - 201.0 / 21.0).abs() < 0.6, "{small} and {large}");
}

/// Two four-bars side by side, one of them a thousand times as heavy, and larger.
fn light_and_heavy() -> String {
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for (name, x, size, density) in [("s", 0.0, 0.1, 1.0), ("l", 10.0, 1.0, 1000.0)] {
        let p = |a: f64, b: f64| format!("[{}, {}]", x + size * a, size * b);
        let (o, a, b, c) = (p(0.0, 0.0), p(0.5, 0.8), p(2.1, 1.2), p(2.0, 0.0));
        for (bar, from, to, mass) in [("crank", &o, &a, 2.0), ("coupler", &a, &b, 3.0), ("rocker", &c, &b, 2.0)] {
            let _ =
                writeln!(text, "[body.{name}_{bar}]\nrod = {{ from = {from}, to = {to}, mass = {} }}", mass * density);
        }
        for (joint, one, other, at) in [
            ("a", "ground", "crank", &o),
            ("b", "crank", "coupler", &a),
            ("c", "coupler", "rocker", &b),
            ("d", "rocker", "ground", &c),
        ] {
            let end = |n: &str| if n == "ground" { n.to_string() } else { format!("{name}_{n}") };
            let (one, other) = (end(one), end(other));
            let _ = writeln!(
                text,
                "[joint.{name}_{joint}]\ntype = \"revolute\"\nbetween = [\"{one}\", \"{other}\"]\nat = {at}"
            );
        }
    }
    text + "[start]\nl_a = { rate = 1.5 }\n"
}

#[test]
fn a_heavy_loop_beside_a_light_one_is_closed_as_well() {
    let s = system(&light_and_heavy());
    let drift = |published: bool| {
        let how = Regularization { published, ..Regularization::default() };
        let mut srm = Srm::new(s.clone(), &RK2, 5e-4, how, &start(&s)).expect("a tree").expect("a start");
        (0..400).for_each(|_| srm.step(1.0).unwrap_or_else(|e| panic!("{e}")));
        srm.loop_report().expect("a report").drift[1].0
    };
    let (weighed, published) = (drift(false), drift(true));
    assert!(weighed < 2e-3 && published > 50.0 * weighed, "{weighed:e} {published:e}");
}

#[test]
fn a_loop_that_opens_beyond_its_bound_fails_by_the_name_of_its_joint() {
    let s = system(FOUR_BAR);
    let o =
        Options { method: MethodName::Rk2, solver: Solver::Srm, step: Some(2e-2), until: 4.0, ..Options::default() };
    let summary = Simulation::new(s.clone(), o).expect("a start").run(&mut Silent);
    let Status::Failed(error) = summary.status else { panic!("{:?}", summary.loops) };
    assert!(matches!(&error, StepError::OpenLoop { gap, bound, .. } if gap > bound), "{error}");
    let said = error.to_string();
    assert!(said.contains("joint `") && said.contains("at t = ") && said.contains("step"), "{said}");
}

#[test]
fn every_example_with_loops_is_closed_within_the_bound_or_fails() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for name in
        ["belt-drive", "bennett", "four-bar", "scissor-lift", "seven-body", "slider-crank", "spatial-slider-crank"]
    {
        let s = system(&std::fs::read_to_string(format!("{folder}/{name}.toml")).expect("an example"));
        let h = if name == "seven-body" { 1e-5 } else { 5e-4 };
        let o = Options {
            method: MethodName::Rk2,
            solver: Solver::Srm,
            step: Some(h),
            until: 1000.0 * h,
            ..Options::default()
        };
        let summary = Simulation::new(s.clone(), o).expect("a start").run(&mut Silent);
        let report = summary.loops.expect("a report");
        match summary.status {
            // angles count like lengths here, and no example is shorter than .05 m
            Status::Finished => assert!(report.drift[1].0 <= 0.01 * s.length().max(1.0), "{name}: {:?}", report.drift),
            Status::Failed(e) => assert!(matches!(e, StepError::OpenLoop { .. }), "{name}: {e}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn epsilon_below_its_limit_is_unstable_and_above_it_is_not() {
    let s = system(FOUR_BAR);
    let at = start(&s);
    for tableau in [&EULER, &RK2, &RK4] {
        let drift = |part: f64| {
            let how = |epsilon| Regularization { iterates: 1, epsilon, published: true, ..Regularization::default() };
            let limit =
                Srm::new(s.clone(), tableau, 1e-4, how(None), &at).expect("a tree").expect("a start").epsilon().1;
            let mut srm =
                Srm::new(s.clone(), tableau, 1e-4, how(Some(part * limit)), &at).expect("a tree").expect("a start");
            let finite = (0..800).all(|_| srm.step(1.0).is_ok());
            if finite { srm.drift_now()[0].0 } else { f64::INFINITY }
        };
        let (below, above) = (drift(0.96), drift(1.04));
        assert!(above < 1e-2 && below > 10.0 * above, "{}: {below} below and {above} above", tableau.name);
    }
}

/// The matrices of implicit steps by conjugate gradients on loops: the same motion, and nothing is left to elimination.
#[test]
fn implicit_steps_by_loop_cg_are_those_of_elimination() {
    for (text, method) in [
        (windows(4, true), MethodName::Hht),
        (windows(4, false), MethodName::GeneralizedAlpha),
        (FOUR_BAR.to_string(), MethodName::Newmark),
        (SPATIAL_LOOP.to_string(), MethodName::Hht),
    ] {
        let s = system(&text);
        let of = |solver| {
            let step = Some(2e-3);
            run(
                &s,
                Options {
                    method,
                    solver,
                    formulation: Some(FormulationKind::Index3),
                    step,
                    until: 0.3,
                    ..Options::default()
                },
            )
        };
        let (direct, loops) = (of(Solver::Direct), of(Solver::LoopCg));
        let report = loops.loops.clone().expect("a report");
        assert!(report.solves > 100 && report.equations > 0 && report.iterations >= report.solves, "{report:?}");
        assert!(loops.drift.position < 1e-9, "{method:?}: {:?}", loops.drift);
        for ((name, a), (_, b)) in direct.last.iter().zip(&loops.last) {
            if name.ends_with(".x") || name.ends_with(".y") || name.ends_with(".angle") {
                assert!((a - b).abs() < 1e-8, "{method:?}, {name}: {a} against {b}");
            }
        }
    }
}

/// At the horizontal all bars stand on a line, and n windows have n freedoms more.
#[test]
fn windows_pass_their_singular_positions_on_the_right_branch() {
    for n in [1, 2, 5, 6] {
        for natural in [false, true] {
            let s = system(&windows(n, natural));
            let until = 1.2;
            let exact = exact_windows(n, until);
            assert!(exact > 2.0, "past the horizontal: {exact}");
            for (method, solver, rtol) in [
                (MethodName::Dop853, Solver::Direct, 1e-8),
                (MethodName::Dopri5, Solver::Direct, 1e-6),
                (MethodName::Dop853, Solver::LoopCg, 1e-8),
                (MethodName::Bdf, Solver::Auto, 1e-6),
            ] {
                let summary = run(&s, Options { method, solver, rtol, until, ..Options::default() });
                for k in [0, n] {
                    let angle = std::f64::consts::FRAC_PI_2 - last(&summary, &format!("g{k}.angle"));
                    let error = (angle - exact).abs();
                    assert!(error < 100.0 * rtol, "{n} windows, {method:?}: off by {error}");
                }
                let told: Vec<_> = summary.events.iter().filter(|e| e.what.contains("the rank falls by")).collect();
                assert_eq!(told.len(), 1, "{n}, {natural}, {method:?}, {solver:?}: {:?}", summary.events);
                assert!(told[0].what.contains(&format!("falls by {n} there")), "{}", told[0].what);
                let there = exact_windows(n, told[0].t);
                assert!((there - std::f64::consts::FRAC_PI_2).abs() < 1e-3, "{there} rad at {}", told[0].t);
            }
        }
    }
}

/// A chain of squares: the four links of one of them stand on a line ten times in the first second. At tight tolerances rounding is
/// amplified there beyond them, and shorter steps made it worse until the step collapsed.
#[test]
fn bdf_passes_the_singular_positions_of_a_chain_of_squares_at_tight_tolerances() {
    let s = system(&squares(4));
    for (rtol, bound) in [(1e-8, 1e-6), (1e-9, 1e-7), (1e-10, 1e-7)] {
        let options = Options { method: MethodName::Bdf, rtol, until: 1.0, ..Options::default() };
        let mut simulation = Simulation::new(s.clone(), options).expect("a run");
        let summary = simulation.run(&mut bellcrank_solve::record::Silent);
        assert_eq!(summary.status, bellcrank_solve::run::Status::Finished, "rtol {rtol:e}");
        let (q, layout) = (&simulation.state().q, s.layout());
        for (k, place) in SQUARES_AT_1.iter().enumerate() {
            let from = layout.bodies[4 * k + 2].start;
            let off = (0..2).map(|i| (q[from + i] - place[i]).abs()).fold(0.0, f64::max);
            assert!(off < bound, "rtol {rtol:e}: corner {k} off by {off:e}");
        }
        for t in [0.4234, 0.5278, 0.6236, 0.7147] {
            let told = |e: &Event| (e.t - t).abs() < 2e-4 && e.what.contains("the rank falls by 1");
            assert!(summary.events.iter().any(told), "rtol {rtol:e}, at {t}: {:?}", summary.events);
        }
    }
}

#[test]
fn a_collapse_at_a_singular_position_says_so() {
    let culprit = "body `c1`".to_string();
    let text =
        StepError::NearSingular { t: 0.4, h: 1e-15, culprit: culprit.into(), pivot: 2e-9, redundant: 1 }.to_string();
    assert!(text.contains("t = 0.4") && text.contains("fallen by 1") && text.contains("`method: dop853`"), "{text}");
}

/// Elimination is what counts say on chains, nets and small machines; sweeps where there is no loop, loop-CG where factors fill in.
#[test]
fn auto_takes_what_takes_fewer_operations() {
    let takes = |text: &str| {
        let s = system(text);
        let at = Point::at(&s.initial_state(), s.layout());
        LoopCg::if_cheaper(s.clone(), &at).map(|cg| cg.loops().size())
    };
    assert_eq!(takes(FOUR_BAR), None);
    assert_eq!(takes(&squares(600)), None);
    assert_eq!(takes(&windows(1200, true)), None);
    let mut tree = String::from("model = { gravity = [0, -9.81, 0] }\n[body]\n");
    (0..2100).for_each(|i| {
        let _ = writeln!(
            tree,
            "b{i} = {{ coordinates = \"natural\", rod = {{ from = [{i}, 0, 0], to = [{}, 0, 0], mass = 1 }} }}",
            i + 1
        );
    });
    tree += "[joint]\n";
    (0..2100).for_each(|i: usize| {
        let from = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        let _ = writeln!(tree, "j{i} = {{ type = \"spherical\", between = [\"{from}\", \"b{i}\"], at = [{i}, 0, 0] }}");
    });
    assert_eq!(takes(&tree), Some(0));
}

#[test]
fn solvers_of_loops_are_refused_where_they_make_no_sense() {
    let s = system(FOUR_BAR);
    let refused = |o: Options| match Simulation::new(s.clone(), o) {
        Err(e) => e.to_string(),
        Ok(_) => String::new(),
    };
    let d = Options::default();
    assert!(refused(Options { solver: Solver::Srm, ..d.clone() }).contains("`step: 1e-3`"));
    let adaptive = Options { solver: Solver::Srm, method: MethodName::Dopri5, step: Some(1e-3), ..d.clone() };
    assert!(refused(adaptive).contains("euler, rk2 or rk4"));
    assert!(
        refused(Options { solver: Solver::LoopCg, method: MethodName::Bdf, ..d.clone() }).contains("explicit methods")
    );
    assert!(refused(d.clone().with(|o| o.parameters.iterates = 9)).contains("between 1 and 8"));
    let srm = Options { solver: Solver::Srm, step: Some(1e-3), ..d.clone() };
    assert!(refused(srm.with(|o| o.parameters.epsilon = Some(-1.0))).contains("ε"));
    let relative = bellcrank_solve::choices::Coordinates::Relative;
    for solver in [Solver::LoopCg, Solver::Srm, Solver::SrmAll] {
        let text = refused(Options { solver, step: Some(1e-3), coordinates: relative, ..d.clone() });
        assert!(text.contains("works in Cartesian coordinates") && text.contains("leave `coordinates` out"), "{text}");
    }
}
