//! Relative coordinates: the same machine as in Cartesian ones, by other equations.

mod common;

use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_math::linear::tree::TreeLu;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::{read_model, read_text};
use bellcrank_model::testing::{Random, random_mechanism, random_soft_mechanism, values};
use bellcrank_model::{Dynamics, Piece, Point, Relative, Slopes, System, Unknown};
use bellcrank_solve::FormulationKind::{self, Additive, Ggl};
use bellcrank_solve::analyses::modes::modes;
use bellcrank_solve::analyses::statics::equilibrium;
use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::linear::derivatives;
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use bellcrank_solve::start::assemble;
use common::*;
use std::path::PathBuf;
use std::sync::Arc;

fn attempt(system: &Arc<System>, coordinates: Coordinates, options: &Options) -> Summary {
    let options = Options { coordinates, ..options.clone() };
    let mut simulation = Simulation::new(system.clone(), options).unwrap_or_else(|e| panic!("{e}"));
    simulation.run(&mut Silent)
}

fn run_in(system: &Arc<System>, coordinates: Coordinates, options: &Options) -> Summary {
    let summary = attempt(system, coordinates, options);
    assert_eq!(summary.status, Status::Finished, "{}", system.model.name);
    summary
}

/// The largest difference of final values, relative to the largest of their kind, with its channel.
fn difference(a: &Summary, b: &Summary) -> (f64, String) {
    let kind = |name: &str| name.rsplit('.').next().unwrap_or("").chars().next().unwrap_or(' ');
    let mut worst = (0.0, String::new());
    assert_eq!(a.last.len(), b.last.len());
    for ((name, x), (other, y)) in a.last.iter().zip(&b.last) {
        assert_eq!(name, other);
        let joint = name.split('.').next().unwrap_or("");
        if a.not_unique.iter().chain(&b.not_unique).any(|n| n.contains(&format!("`{joint}`"))) {
            continue;
        }
        let largest = a.last.iter().filter(|(n, _)| kind(n) == kind(name)).fold(1.0f64, |m, (_, x)| m.max(x.abs()));
        // a quaternion is the same up to its sign
        let turn = ["qw", "qx", "qy", "qz"].iter().any(|q| name.ends_with(&format!(".{q}")));
        let off = if turn { (x.abs() - y.abs()).abs() } else { (x - y).abs() / largest };
        if off > worst.0 || off.is_nan() {
            worst = (off, format!("{name}: {x} against {y}"));
        }
    }
    worst
}

fn models() -> Vec<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let list = |folder: &str| -> Vec<PathBuf> {
        let mut list: Vec<_> = std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        list.sort();
        list
    };
    let mut out: Vec<PathBuf> =
        list("examples").into_iter().filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    out.extend(list("tests/problems").into_iter().map(|p| p.join("model.toml")));
    out
}

#[test]
fn every_example_and_problem_moves_as_in_cartesian_coordinates() {
    let models = models();
    assert!(models.len() >= 8);
    let mut problems = Vec::new();
    for path in models {
        let path = path.to_string_lossy().into_owned();
        let read = read_model(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
        let system = Arc::new(read.model.compile());
        let until = read.settings.number("until").unwrap_or(1.0).min(1.0);
        let mut options = Options { rtol: 1e-10, method: MethodName::Dop853, until, ..Options::default() };
        let mut tolerance = 1e-6;
        let mut a = attempt(&system, Coordinates::Cartesian, &options);
        if a.status != Status::Finished {
            // too stiff for an explicit method
            (options.method, options.rtol, tolerance) = (MethodName::Bdf, 1e-7, 1e-3);
            a = run_in(&system, Coordinates::Cartesian, &options);
        }
        let b = run_in(&system, Coordinates::Relative, &options);
        let (off, channel) = difference(&a, &b);
        println!("{path}: {off:.1e} at {channel}");
        problems.extend((off.is_nan() || off > tolerance).then(|| format!("{path}: {off:.1e} at {channel}")));
        assert_eq!(a.assembly.degrees_of_freedom, b.assembly.degrees_of_freedom, "{path}");
        assert_eq!(a.assembly.redundant, b.assembly.redundant, "{path}");
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

const UNIVERSAL: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
a = { mass = 1, inertia = [0.1, 0.2, 0.3], at = [0.5, 0, 0], angular_velocity = [0, 0, 1] }
b = { mass = 1, inertia = [0.2, 0.2, 0.3], at = [1.5, 0, 0] }
c = { mass = 1, inertia = [0.1, 0.1, 0.3], at = [2, 0.5, 0] }
d = { mass = 2, inertia = [0.1, 0.1, 0.3], at = [3, 0.5, 0] }
[joint]
cross = { type = "universal", between = ["a", "ground"], at = [0, 0, 0], axis = [0, 0, 1], axis2 = [0, 1, 0] }
sleeve = { type = "cylindrical", between = ["a", "b"], at = [1, 0, 0], axis = [1, 1, 0] }
face = { type = "planar", between = ["c", "b"], at = [2, 0, 0], axis = [0, 1, 1] }
nut = { type = "screw", between = ["c", "d"], at = [2.5, 0.5, 0], axis = [1, 0, 0], pitch = 0.5 }
rod = { type = "distance", between = ["ground", "d"], at = [[3, 3, 1], [3, 0.5, 0]] }
[force]
s = { type = "spring-damper", between = ["a", "d"], at = [[0.5, 0, 0], [3, 0.5, 0]], stiffness = 40, damping = 1, length = 2 }
k = { type = "spring-damper", between = ["b", "c"], at = [[1.5, 0, 0.2], [2, 0.5, 0]], stiffness = 60, damping = 1, length = 0.5 }
[probe]
tip = { body = "d", on = [0.1, 0.2, 0.3] }
"#;

#[test]
fn every_method_and_formulation_works_on_it() {
    for text in [FOUR_BAR, SPATIAL, UNIVERSAL] {
        let s = system(text);
        let until = 0.3;
        let fine = Options { rtol: 1e-10, method: MethodName::Dop853, until, ..Options::default() };
        let reference = run_in(&s, Coordinates::Cartesian, &fine);
        let exact = run_in(&s, Coordinates::Relative, &fine);
        let (off, channel) = difference(&reference, &exact);
        assert!(off < 1e-7, "{off:.1e} at {channel}");
        for &(formulation, ..) in FormulationKind::ALL.iter().filter(|f| f.0.implicit()) {
            let method = if formulation == Additive { MethodName::Hht } else { MethodName::GeneralizedAlpha };
            let fixed =
                Options { method, formulation: Some(formulation), step: Some(1e-3), until, ..Options::default() };
            let [a, b] = [Coordinates::Cartesian, Coordinates::Relative].map(|c| run_in(&s, c, &fixed));
            let (off, channel) = difference(&reference, &b);
            assert!(off < 2e-3, "{method:?} on {formulation}: {off:.1e} at {channel}");
            // the matrix is good: Newton takes as many iterations as in Cartesian coordinates
            let [few, many] = [&a, &b].map(|s| s.statistics.iterations);
            assert!(many <= few + few / 3 + 10, "{formulation}: {many} against {few}");
        }
        let bdf = Options { method: MethodName::Bdf, formulation: Some(Ggl), rtol: 1e-7, until, ..Options::default() };
        let [a, b] = [Coordinates::Cartesian, Coordinates::Relative].map(|c| run_in(&s, c, &bdf));
        let (off, channel) = difference(&reference, &b);
        assert!(off < 1e-4, "bdf: {off:.1e} at {channel}");
        assert!(b.statistics.steps < 2 * a.statistics.steps, "{} against {}", b.statistics.steps, a.statistics.steps);
        assert_eq!(b.statistics.convergence_failures, 0);
    }
}

fn relative(text: &str) -> (Arc<System>, Arc<Relative>) {
    let s = match read_text("mechanism.toml", text, &[]) {
        Ok(read) => Arc::new(read.model.compile()),
        Err(report) => panic!("{report}"),
    };
    let r = Arc::new(s.relative(&Point::at(&s.initial_state(), s.layout())));
    (s, r)
}

fn shaken(r: &Relative, random: &mut Random) -> Point {
    let mut p = Point::at(&r.initial_state(), r.layout());
    for x in [&mut p.q, &mut p.v] {
        x.iter_mut().for_each(|x| *x += 0.5 * random.number());
    }
    p
}

#[test]
fn forward_dynamics_undoes_inverse_dynamics_on_random_trees_and_loops() {
    let (mut random, mut soft) = (Random::new(7), Random::new(8));
    let (mut trees, mut loops, mut exact) = (0, 0, 0);
    for case in 0..1200 {
        let bodies = 2 + case % 9;
        let closures = if case % 2 == 0 { 0 } else { 1 + case % 3 };
        let text = match case {
            ..1000 => random_mechanism(&mut random, bodies, closures, case % 5 == 0),
            _ => random_soft_mechanism(&mut soft, bodies, closures, case % 5 == 0),
        };
        let (_, r) = relative(&text);
        let mut p = shaken(&r, &mut random);
        let n = r.layout().n();
        if n == 0 {
            continue;
        }
        let mut w = r.workspace();
        r.realize(&p, &mut w);
        let (v, a) = (p.vdot.clone(), random.vector(n));
        assert_eq!(v.len(), n);
        let largest = |x: &[f64]| x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        if r.recursive() {
            // the load that the motion takes, and the motion that the load makes
            p.vdot.copy_from_slice(&a);
            let mut tau = vec![0.0; n];
            r.add(1.0, Piece::MassAccel, &p, &mut w, &mut tau);
            let mut back = tau.clone();
            r.mass_solve(&p, &mut w, &mut back).unwrap();
            let off = back.iter().zip(&a).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
            assert!(off < 1e-11 * largest(&a), "case {case}: {off:.1e}");
            // and with the forces of the model: M v̇ = f
            r.recursion(&mut p, &mut w).unwrap();
            let mut rest = vec![0.0; n];
            r.add(1.0, Piece::MassAccel, &p, &mut w, &mut rest);
            let size = largest(&rest);
            r.add(-1.0, Piece::Force, &p, &mut w, &mut rest);
            assert!(rest.iter().all(|x| x.abs() < 1e-11 * size), "case {case}: {rest:?}");
            trees += 1;
        } else {
            let mut kkt = Kkt::new(r.clone());
            kkt.accelerate(&mut p, &mut w).unwrap();
            let mut rest = vec![0.0; n];
            r.add(1.0, Piece::MassAccel, &p, &mut w, &mut rest);
            let size = largest(&rest).max(largest(&p.lambda)).max(largest(&p.vdot));
            r.add(-1.0, Piece::Force, &p, &mut w, &mut rest);
            r.add(1.0, Piece::GtLambda, &p, &mut w, &mut rest);
            assert!(rest.iter().all(|x| x.abs() < 1e-11 * size), "case {case}: {rest:?}");
            if kkt.dropped() == 0 {
                let open = values(&*r, Piece::Acceleration, &p);
                assert!(open.iter().all(|x| x.abs() < 1e-10 * size), "case {case}: {open:?}");
            }
            // a motion that the loops allow, the load that it takes, and the motion that this load makes
            p.vdot.copy_from_slice(kkt.respond(&a).unwrap());
            let mut tau = vec![0.0; n];
            r.add(1.0, Piece::MassAccel, &p, &mut w, &mut tau);
            let off = kkt.respond(&tau).unwrap().iter().zip(&p.vdot).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
            // close to a singular position rounding grows with 1/pivot (one of the cases)
            let grown = (1e-5 / kkt.smallest_pivot()).max(1.0);
            assert!(off < 1e-11 * grown * largest(&p.vdot), "case {case}: {off:.1e}");
            exact += (grown == 1.0) as usize;
            loops += 1;
        }
    }
    assert!(trees > 400 && loops > 300 && exact + 5 > loops, "{trees} {loops} {exact}");
}

#[test]
fn channels_and_reactions_are_those_of_cartesian_coordinates() {
    let mut random = Random::new(9);
    let mut compared = [0; 2];
    for case in 0..100 {
        let draw = if case < 60 { random_mechanism } else { random_soft_mechanism };
        let text = draw(&mut random, 2 + case % 6, case % 3, case % 4 == 0) + "[probe]\ntip = { body = \"b0\" }\n";
        let (s, r) = relative(&text);
        // the velocities of all bodies at random: nobody insists on them, and the nearest that the joints allow are taken
        let mut model = s.model.clone();
        model.bodies.iter_mut().for_each(|b| (b.velocity, b.angular_velocity) = (None, None));
        let whole: Arc<dyn Dynamics> = Arc::new(model.into_system());
        let Ok((start, found)) = assemble(&whole, &s.initial_state()) else { continue };
        if found.redundant > 0 || r.layout().n() == 0 {
            continue;
        }
        let r2 = Arc::new(s.relative(&start));
        let mut p = Point::at(&r2.initial_state(), r2.layout());
        let mut w = r2.workspace();
        r2.realize(&p, &mut w);
        Kkt::new(r2.clone()).accelerate(&mut p, &mut w).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        r2.observe(&p, &mut w, &mut ours);
        let mut w = s.workspace();
        s.realize(&start, &mut w);
        s.observe(&start, &mut w, &mut theirs);
        let largest = theirs.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let channels = s.channels();
        assert_eq!(channels, r2.channels());
        for ((x, y), channel) in ours.iter().zip(&theirs).zip(&channels) {
            assert!((x - y).abs() < 1e-8 * largest, "case {case}: {}: {x} against {y}\n{text}", channel.name);
        }
        compared[usize::from(case >= 60)] += 1;
    }
    assert!(compared[0] > 30 && compared[1] > 15, "{compared:?}");
}

/// The open chain of unit rods on revolute joints about z, straight at the start.
fn open_chain(n: usize) -> Arc<Relative> {
    let mut text = String::from("[model]\ngravity = [0, -9.81, 0]\n");
    for i in 0..n {
        let before = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        text += &format!(
            "[body.b{i}]\nmass = 1\ninertia = [1e-3, 0.0833333333333333333, 0.0833333333333333333]\nat = [{}, 0, 0]\n\
             [joint.j{i}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{i}\"]\nat = [{i}, 0, 0]\naxis = [0, 0, 1]\n",
            i as f64 + 0.5
        );
    }
    relative(&text).1
}

#[test]
fn the_open_chain_of_a_thousand_rods_has_its_known_acceleration() {
    let r = open_chain(1000);
    let mut p = Point::at(&r.initial_state(), r.layout());
    for i in 0..1000 {
        let k = (i + 1) as f64;
        (p.q[i], p.v[i]) = (0.1 * k.sin(), 0.1 * k.cos());
    }
    let mut w = r.workspace();
    r.realize(&p, &mut w);
    r.recursion(&mut p, &mut w).unwrap();
    println!("{:?}", &p.vdot[..3]);
    assert!((p.vdot[0] + 13.182942306).abs() < 1e-8, "{}", p.vdot[0]);
    // no matrix is formed: the system of a tree has its diagonal only
    assert_eq!(r.tree.nodes.len(), 1000);
    assert!(r.recursive());
}

#[test]
fn the_tree_is_short_balanced_and_follows_hints() {
    // a ring of ten bodies on the ground is cut in its middle
    let ring = |hinted: usize, hint: &str| {
        let mut text = String::from("model = { plane = \"xy\" }\n[body]\n");
        for i in 0..10 {
            text += &format!("b{i} = {{ mass = 1, inertia = 1, at = [{i}, 1] }}\n");
        }
        text += "[joint]\n";
        for i in 0..=10 {
            let [a, b] =
                [i, i + 1].map(|k: usize| if k == 0 || k == 11 { "ground".into() } else { format!("b{}", k - 1) });
            let hint = if i == hinted { hint } else { "" };
            text += &format!("j{i} = {{ type = \"revolute\", between = [\"{a}\", \"{b}\"], at = [{i}, 0]{hint} }}\n");
        }
        relative(&text).1
    };
    let cut = |r: &Relative| r.tree.has_joint.iter().position(|has| !has).unwrap();
    let r = ring(3, "");
    assert_eq!((cut(&r), r.size()), (5, (10, 2)));
    assert_eq!(r.tree.depths().iter().sum::<usize>(), 2 * (1 + 2 + 3 + 4 + 5));
    assert_eq!(r.matrix_blocks(), 2 * (2 * (1 + 2 + 3 + 4 + 5) + 2 * 5));
    assert_eq!(cut(&ring(3, ", tree = false")), 3);
    assert_ne!(cut(&ring(5, ", tree = true")), 5);
    assert_ne!(cut(&ring(6, ", tree = true")), 6);
    // bodies that hang on nothing hang on the middle one of them
    let mut text = String::from("[body]\n");
    (0..7).for_each(|i| text += &format!("b{i} = {{ mass = 1, inertia = [1, 1, 1], at = [{i}, 0, 0] }}\n"));
    text += "[joint]\n";
    (0..6).for_each(|i| {
        text += &format!("j{i} = {{ type = \"revolute\", between = [\"b{i}\", \"b{}\"], at = [{i}, 0, 0] }}\n", i + 1)
    });
    let r = relative(&text).1;
    assert_eq!(r.tree.nodes[0].body, 3);
    assert_eq!(r.size(), (12, 0));
}

/// A tree of rigid bodies (or of rods) with `branches` sons each, as a model of the plane.
fn tree(n: usize, branches: usize, natural: bool) -> String {
    let mut text = String::from("[model]\nplane = \"xy\"\ngravity = [0, -9.81]\n");
    let mut ends: Vec<[f64; 2]> = Vec::new();
    for i in 0..n {
        let father = (i > 0).then(|| (i - 1) / branches);
        let from = father.map_or([0.0, 0.0], |f| ends[f]);
        let turn = i as f64;
        let to = [from[0] + turn.cos(), from[1] + turn.sin()];
        let kind = if natural { "\ncoordinates = \"natural\"" } else { "" };
        let before = father.map_or("ground".to_string(), |f| format!("b{f}"));
        text += &format!(
            "[body.b{i}]\nrod = {{ from = [{}, {}], to = [{}, {}], mass = 1 }}{kind}\n[joint.j{i}]\ntype = \"revolute\"\n\
             between = [\"{before}\", \"b{i}\"]\nat = [{}, {}]\n",
            from[0], from[1], to[0], to[1], from[0], from[1]
        );
        ends.push(to);
    }
    text
}

#[test]
fn elimination_from_leaf_to_root_is_the_recursion_of_a_tree() {
    for (branches, natural) in [(1, false), (2, false), (5, false), (1, true), (2, true)] {
        let s = system(&tree(200, branches, natural));
        let whole: Arc<dyn Dynamics> = s.clone();
        let (start, _) = assemble(&whole, &s.initial_state()).unwrap();
        // the accelerations and reactions of articulated bodies are those of the whole system
        let r = Arc::new(s.relative(&start));
        let mut p = Point::at(&r.initial_state(), r.layout());
        let mut w = r.workspace();
        r.realize(&p, &mut w);
        r.recursion(&mut p, &mut w).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        r.observe(&p, &mut w, &mut ours);
        let mut w = s.workspace();
        s.realize(&start, &mut w);
        s.observe(&start, &mut w, &mut theirs);
        for (x, y) in ours.iter().zip(&theirs) {
            assert!((x - y).abs() < 1e-8 * (1.0 + y.abs()), "{x} against {y}");
        }
        // and so are those of the elimination in descriptor form, in which nothing fills in
        let mut kkt = Kkt::new(whole);
        kkt.factor(&start, &mut w).unwrap();
        let pattern = kkt.matrix().pattern().clone();
        let mut lu = TreeLu::for_pattern(&pattern).expect("a tree");
        lu.factor(kkt.matrix()).unwrap();
        let b: Vec<f64> = (0..pattern.dimension()).map(|i| (i as f64).sin()).collect();
        let mut x = b.clone();
        lu.solve(&mut x).unwrap();
        let mut rest: Vec<f64> = b.iter().map(|b| -b).collect();
        kkt.matrix().add_times(&x, &mut rest);
        let largest = x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        assert!(rest.iter().all(|r| r.abs() < 1e-12 * largest));
        // the factors are the blocks of the matrix, and zeros inside the nodes: between joints and bodies alone
        let entries = |n: usize| {
            let s = system(&tree(n, branches, natural));
            let kkt = Kkt::new(s);
            TreeLu::for_pattern(kkt.matrix().pattern()).expect("a tree").factor_entries()
        };
        let size = if natural { 4 + 1 + 2 } else { 3 + 2 };
        let body = if natural { 4 } else { 3 };
        for n in [100, 1000] {
            assert_eq!(entries(n), n * size * size + (n - 1) * 2 * size * body);
        }
    }
    // a loop is none
    let s = system(FOUR_BAR);
    assert!(
        TreeLu::for_pattern(Kkt::new(s).matrix().pattern()).is_some(),
        "one that closes over the ground is cut there"
    );
    let ring = system(
        r#"
        [body]
        a = { mass = 1, inertia = [1, 1, 1] }
        b = { mass = 1, inertia = [1, 1, 1], at = [1, 0, 0] }
        c = { mass = 1, inertia = [1, 1, 1], at = [0, 1, 0] }
        [joint]
        ab = { type = "spherical", between = ["a", "b"], at = [0.5, 0, 0] }
        bc = { type = "spherical", between = ["b", "c"], at = [0.5, 0.5, 0] }
        ca = { type = "spherical", between = ["c", "a"], at = [0, 0.5, 0] }
        "#,
    );
    assert!(TreeLu::for_pattern(Kkt::new(ring).matrix().pattern()).is_none());
}

#[test]
fn the_mass_matrix_of_composite_bodies_is_that_of_the_motions() {
    let mut random = Random::new(21);
    for case in 0..40 {
        let (_, r) = relative(&random_mechanism(&mut random, 6, case % 2, case % 3 == 0));
        let mut p = shaken(&r, &mut random);
        let n = r.layout().n();
        let slopes = Slopes { v: 1.0, ..Slopes::default() };
        let mut w = r.workspace();
        r.realize(&p, &mut w);
        let mass = derivatives::dense(&*r, Piece::MassAccel, Unknown::V, slopes, &p, &mut w);
        for j in 0..n {
            p.vdot.fill(0.0);
            p.vdot[j] = 1.0;
            let column = values(&*r, Piece::MassAccel, &p);
            for i in 0..n {
                assert!((mass[i * n + j] - column[i]).abs() < 1e-12 * (1.0 + column[i].abs()));
                assert!((mass[i * n + j] - mass[j * n + i]).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn a_run_tells_which_joints_are_not_in_the_tree() {
    let options = Options { coordinates: Coordinates::Relative, until: 1e-3, ..Options::default() };
    let one = run_in(&system(UNIVERSAL), Coordinates::Relative, &options);
    assert_eq!(one.choices[0], "relative coordinates: 8 of joints, 1 equation of loops; not in the tree: joint `rod`");
    assert_eq!(one.cut, ["rod"]);
    let mut text = String::from("model = { plane = \"xy\" }\nbody.a = { mass = 1, inertia = 1 }\n");
    for i in 0..8 {
        let place = format!("[[{i}, 1], [{i}, 0]]");
        text += &format!("joint.d{i} = {{ type = \"distance\", between = [\"ground\", \"a\"], at = {place} }}\n");
    }
    let many = run_in(&system(&text), Coordinates::Relative, &options);
    assert!(
        many.choices[0].ends_with("8 joints are not in the tree: `d0`, `d1`, `d2`, `d3`, `d4` and 3 more"),
        "{:?}",
        many.choices
    );
    assert_eq!(many.cut.len(), 8);
}

/// Two flexible links in space; a hand at the tip, and a weight on a string at the middle of the second one.
const SOFT_ARM: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
base = { mass = 2, inertia = [0.1, 0.1, 0.1], at = [0, 0, 0] }
upper = { beam = { from = [0, 0, 0.1], to = [0.8, 0, 0.1], up = [0, 0, 1], mass = 1, youngs_modulus = 1e7, area = 1e-2, second_moment = [2e-6, 3e-6], torsion_constant = 1e-6, ends = "clamped", axial = 0, bending = [2, 1] } }
fore = { beam = { from = [1.5, 0.1, 0.1], to = [0.8, 0, 0.1], up = [0, 0, 1], mass = 0.8, youngs_modulus = 1e7, area = 1e-2, second_moment = [2e-6, 1e-6], torsion_constant = 2e-6, ends = "pinned", axial = 1, bending = [1, 2], damping = 0.01, deflection = [0, 0.01, 0.005, 0, 0] } }
hand = { mass = 0.3, inertia = [0.01, 0.02, 0.01], at = [1.5, 0.15, 0.1] }
weight = { mass = 0.1, at = [1.1, 0.05, -0.1] }
[joint]
turn = { type = "revolute", between = ["ground", "base"], at = [0, 0, 0], axis = [0, 0, 1] }
shoulder = { type = "revolute", between = ["upper", "base"], at = [0, 0, 0.1], axis = [0, 1, 0] }
elbow = { type = "universal", between = ["upper", "fore"], at = [0.8, 0, 0.1], axis = [0, 1, 0], axis2 = [0, 0, 1] }
wrist = { type = "spherical", between = ["fore", "hand"], at = [1.5, 0.1, 0.1] }
string = { type = "distance", between = ["fore", "weight"], at = [[1.1, 0.05, 0.1], [1.1, 0.05, -0.1]] }
[force]
hold = { type = "joint-actuator", joint = "shoulder", effort = "-20*sin(3*t) - 8" }
stay = { type = "joint-spring", joint = "turn", stiffness = 30, damping = 0.4 }
push = { type = "force", body = "fore", at = [1.2, 0.06, 0.1], force = ["3*t", 1, 2], frame = "body" }
[start]
turn = { rate = 1.2 }
[probe]
middle = { body = "upper", at = [0.4, 0, 0.1] }
"#;

/// A four-bar whose coupler bends; `z` is nothing in the plane, and `, 0` in space, where three rows depend on others.
fn soft_four_bar(z: &str) -> String {
    let (plane, radius) = if z.is_empty() { ("plane = \"xy\", ", "") } else { ("", ", radius = 0.02") };
    let (axis, beam) = match z {
        "" => ("", "second_moment = 2e-6, bending = 2"),
        _ => (
            ", axis = [0, 0, 1]",
            "up = [0, 1, 0], second_moment = [2e-6, 2e-6], torsion_constant = 1e-6, bending = [2, 1]",
        ),
    };
    format!(
        r#"
model = {{ {plane}gravity = [0, -9.81{z}] }}
[body]
crank = {{ rod = {{ from = [0, 0{z}], to = [0.5, 0.8{z}], mass = 2{radius} }} }}
coupler = {{ beam = {{ from = [0.5, 0.8{z}], to = [2.1, 1.2{z}], mass = 3, youngs_modulus = 1e8, area = 1e-3, axial = 1, {beam} }} }}
rocker = {{ rod = {{ from = [2.0, 0{z}], to = [2.1, 1.2{z}], mass = 2{radius} }} }}
[joint]
a = {{ type = "revolute", between = ["ground", "crank"], at = [0, 0{z}]{axis} }}
b = {{ type = "revolute", between = ["crank", "coupler"], at = [0.5, 0.8{z}]{axis} }}
c = {{ type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2{z}]{axis} }}
d = {{ type = "revolute", between = ["rocker", "ground"], at = [2, 0{z}]{axis} }}
[force]
k = {{ type = "spring-damper", between = ["ground", "coupler"], at = [[1, 3{z}], [1.3, 1.0{z}]], stiffness = 40, damping = 0.5, length = 1.5 }}
[start]
a = {{ rate = 1.5 }}
"#
    )
}

/// A chain of pinned beams that hangs on the ground; every link carries the next one at `at` of its length.
fn soft_chain(n: usize, at: f64) -> String {
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for i in 0..n {
        let (x, before) = (i as f64 * at, if i == 0 { "ground".into() } else { format!("b{}", i - 1) });
        text += &format!(
            "body.b{i} = {{ beam = {{ from = [{x}, 0], to = [{}, 0], mass = 1, youngs_modulus = 1e6, area = 1e-2, \
             second_moment = 2e-5, axial = 0, bending = 2 }} }}\n\
             joint.j{i} = {{ type = \"revolute\", between = [\"{before}\", \"b{i}\"], at = [{x}, 0] }}\n",
            x + 1.0
        );
    }
    text
}

/// A free beam that carries another one by its middle, and hits a stop of their joint.
const SOFT_STOP: &str = r#"
model = { plane = "xy", gravity = [0, -2] }
[body]
a = { beam = { from = [0, 0], to = [1, 0], mass = 1, youngs_modulus = 1e5, area = 1e-2, second_moment = 1e-5, ends = "clamped", axial = 0, bending = 1 }, angular_velocity = 1 }
b = { beam = { from = [0.5, 0], to = [0.5, 1], mass = 1, youngs_modulus = 1e5, area = 1e-2, second_moment = 1e-5, axial = 0, bending = 2 } }
[joint]
j = { type = "revolute", between = ["b", "a"], at = [0.5, 0] }
[force]
stop = { type = "stop", joint = "j", lower = -0.2, upper = 0.2, stiffness = 300, damping = 0.1 }
[start]
j = { rate = 3 }
"#;

/// Machines whose bodies bend: trees and loops, in the plane and in space, with redundant rows, and events.
fn soft_machines() -> Vec<(&'static str, String, f64)> {
    vec![
        ("arm", SOFT_ARM.into(), 0.3),
        ("four-bar", soft_four_bar(""), 0.5),
        ("four-bar in space", soft_four_bar(", 0"), 0.3),
        ("chain", soft_chain(5, 1.0), 0.4),
        ("chain by the stations", soft_chain(4, 0.6), 0.4),
        ("stop", SOFT_STOP.into(), 0.5),
    ]
}

#[test]
fn machines_that_bend_move_as_in_cartesian_coordinates() {
    for (name, text, until) in soft_machines() {
        let s = system(&text);
        let fine = Options { rtol: 1e-10, method: MethodName::Dop853, until, ..Options::default() };
        let [a, b] = [Coordinates::Cartesian, Coordinates::Relative].map(|c| run_in(&s, c, &fine));
        let (off, channel) = difference(&a, &b);
        println!("{name}: {off:.1e} at {channel}");
        assert!(off < 1e-6, "{name}: {off:.1e} at {channel}");
        assert_eq!(a.assembly.degrees_of_freedom, b.assembly.degrees_of_freedom, "{name}");
        assert_eq!(a.assembly.redundant, b.assembly.redundant, "{name}");
        assert_eq!(a.events.len(), b.events.len(), "{name}");
        // the same with a matrix
        let bdf = Options { rtol: 1e-6, method: MethodName::Bdf, until: 0.2, ..Options::default() };
        let [a, b] = [Coordinates::Cartesian, Coordinates::Relative].map(|c| run_in(&s, c, &bdf));
        let (off, channel) = difference(&a, &b);
        assert!(off < 1e-3, "{name}, bdf: {off:.1e} at {channel}");
        // at a stop Newton's iteration needs shorter steps on joints, for rigid bodies as well: 630 against 274
        let (a, b) = (&a.statistics, &b.statistics);
        let as_many = b.steps < 2 * a.steps + 20 && b.convergence_failures <= a.convergence_failures + 1;
        assert!(as_many || name == "stop", "{name}: {} against {}", b.steps, a.steps);
    }
}

#[test]
fn a_chain_that_bends_costs_as_much_by_the_link_as_it_is_long() {
    let text = |n| soft_chain(n, 1.0);
    for n in [20, 40] {
        let s = system(&text(n));
        let dynamics: Arc<dyn Dynamics> = s.clone();
        let (start, _) = assemble(&dynamics, &s.initial_state()).unwrap();
        let r = Arc::new(s.relative(&start));
        assert!(r.recursive() && r.layout().m() == 0);
        assert_eq!((r.layout().n(), s.layout().n()), (3 * n, 5 * n));
        // by recursion, and by the matrix of Cartesian coordinates
        let mut p = Point::at(&r.initial_state(), r.layout());
        let mut w = r.workspace();
        r.realize(&p, &mut w);
        r.recursion(&mut p, &mut w).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        r.observe(&p, &mut w, &mut ours);
        let mut w = s.workspace();
        s.realize(&start, &mut w);
        s.observe(&start, &mut w, &mut theirs);
        let largest = theirs.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for ((x, y), channel) in ours.iter().zip(&theirs).zip(&s.channels()) {
            assert!((x - y).abs() < 1e-8 * largest, "{n}: {}: {x} against {y}", channel.name);
        }
    }
    let step = |n| {
        let options = Options { method: MethodName::Rk4, step: Some(1e-3), until: 5e-3, ..Options::default() };
        run_in(&system(&text(n)), Coordinates::Relative, &options)
    };
    let long = step(400);
    assert_eq!(long.statistics.factorizations, 0);
    assert!(long.choices.iter().any(|c| c.starts_with("relative coordinates: 1200 of joints")), "{:?}", long.choices);
}

#[test]
fn modes_and_equilibria_of_bodies_that_bend_are_those_of_cartesian_coordinates() {
    for text in [SOFT_ARM.replace("\"-20*sin(3*t) - 8\"", "-8"), soft_four_bar(""), soft_chain(3, 0.7)] {
        let s = system(&text);
        let dynamics: Arc<dyn Dynamics> = s.clone();
        let (mut start, _) = assemble(&dynamics, &s.initial_state()).unwrap();
        start.v.fill(0.0);
        // the way to the equilibrium goes over other coordinates; energies tell where it leads
        let rest = |dynamics: &Arc<dyn Dynamics>, start: &Point| {
            let found = equilibrium(dynamics, start).unwrap_or_else(|e| panic!("{e}")).point;
            let mut w = dynamics.workspace();
            dynamics.realize(&found, &mut w);
            let stored = dynamics.energy(&found, &mut w).stored;
            (found, stored)
        };
        let r: Arc<Relative> = Arc::new(s.relative(&start));
        let on_joints = Point::at(&r.initial_state(), r.layout());
        let ((point, ours), (_, theirs)) = (rest(&dynamics, &start), rest(&(r as Arc<dyn Dynamics>), &on_joints));
        assert!((ours - theirs).abs() < 1e-9 * (1.0 + ours.abs()), "{ours} {theirs}");
        let r = s.relative(&point);
        let mut on_joints = Point::at(&r.initial_state(), r.layout());
        let r: Arc<dyn Dynamics> = Arc::new(r);
        Kkt::new(r.clone()).accelerate(&mut on_joints, &mut r.workspace()).unwrap();
        let [a, b] = [(&dynamics, &point), (&r, &on_joints)].map(|(d, p)| {
            let found = modes(&**d, p).unwrap_or_else(|e| panic!("{e}"));
            let mut all: Vec<f64> = found.modes.iter().map(|m| m.eigenvalue.0.hypot(m.eigenvalue.1)).collect();
            all.sort_by(f64::total_cmp);
            all
        });
        assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
        let largest = a.iter().fold(0.0f64, |m, x| m.max(*x));
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() < 1e-6 * largest, "{a:?} {b:?}");
        }
    }
}
