//! Flexible bodies against closed forms and against themselves: frequencies, statics, conservation, plane and space, order.

mod common;

use bellcrank_math::{Quat, Vec3};
use bellcrank_model::bodies::cantilever;
use bellcrank_model::testing::values;
use bellcrank_model::{Dynamics, Piece, Point, System};
use bellcrank_solve::FormulationKind::{self, Additive, Ggl, Index1, Index3, Si2};
use bellcrank_solve::Summary;
use bellcrank_solve::analyses::modes::modes;
use bellcrank_solve::analyses::statics::equilibrium;
use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::start;
use common::*;
use std::f64::consts::PI;
use std::sync::Arc;

fn assembled(s: &Arc<System>) -> Point {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    start::assemble(&dynamics, &s.initial_state()).unwrap_or_else(|e| panic!("{e}")).0
}

/// ω of all modes that oscillate, ascending, with their damping ratios.
fn pulsations(text: &str) -> Vec<(f64, f64)> {
    let s = system(text);
    let found = modes(&*s, &assembled(&s)).expect("modes");
    let moving = found.modes.iter().filter(|m| m.oscillates());
    let mut out: Vec<(f64, f64)> = moving.map(|m| (m.eigenvalue.0.hypot(m.eigenvalue.1), m.damping())).collect();
    out.sort_by(|a, b| a.0.total_cmp(&b.0));
    out
}

// m = 2, L = 1.5, E A = 2e6, E I = 40, in space also 90 towards z, G J = 30, ρ I_p L = 0.01
const MEASURES: &str = "mass = 2, youngs_modulus = 1e6, area = 2";

fn planar(ends: &str, rest: &str) -> String {
    format!(
        "model = {{ plane = \"xy\" }}\n[body.b.beam]\nfrom = [0, 0]\nto = [1.5, 0]\n{}\nsecond_moment = 4e-5\nends = \"{ends}\"\n{rest}\n",
        MEASURES.replace(", ", "\n")
    )
}

fn spatial(ends: &str, rest: &str) -> String {
    format!(
        "model = {{}}\n[body.b.beam]\nfrom = [0, 0, 0]\nto = [0, 1.5, 0]\nup = [0, 0, 1]\n{}\nsecond_moment = [4e-5, 9e-5]\n\
         torsion_constant = 3e-5\nshear_modulus = 1e6\nends = \"{ends}\"\n{rest}\n",
        MEASURES.replace(", ", "\n")
    )
}

/// √(E I / (m L³)).
fn bending_unit(ei: f64) -> f64 {
    (ei / (2.0 * 1.5f64.powi(3))).sqrt()
}

fn assert_close(found: &[(f64, f64)], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} against {expected:?}");
    for ((f, _), e) in found.iter().zip(expected) {
        assert!((f - e).abs() < tolerance * e, "{f} against {e}");
    }
}

#[test]
fn a_pinned_beam_has_the_frequencies_of_euler_and_bernoulli() {
    let held = "[joint.a]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\n\
                [joint.b2]\ntype = \"point-on-line\"\nbetween = [\"ground\", \"b\"]\nat = [1.5, 0]\naxis = [1, 0]\n";
    let found = pulsations(&planar("pinned", &format!("axial = 1\nbending = 3\ndamping = 0.02\n{held}")));
    let axial = 0.5 * PI * (2e6 / (2.0 * 1.5f64)).sqrt();
    let mut expected: Vec<f64> = (1..=3).map(|k| (k as f64 * PI).powi(2) * bending_unit(40.0)).collect();
    expected.push(axial);
    assert_close(&found, &expected, 1e-9);
    // the ratio is that of every mode
    assert!(found.iter().all(|(_, ratio)| (ratio - 0.02).abs() < 1e-9), "{found:?}");
    // the same hinges and a frame that is clamped at A: the truncated modes come from above
    let other = pulsations(&planar("clamped", &format!("axial = 0\nbending = 6\nstatic_modes = true\n{held}")));
    let ratio = other[0].0 / expected[0] - 1.0;
    assert!((0.0..1e-4).contains(&ratio), "{ratio:e}");
}

#[test]
fn a_cantilever_bends_and_twists_at_its_frequencies() {
    let wall = |p: &str| format!("[joint.wall]\ntype = \"fixed\"\nbetween = [\"ground\", \"b\"]\nat = {p}\n");
    let found = pulsations(&planar("clamped", &format!("axial = 0\nbending = 4\n{}", wall("[0, 0]"))));
    let expected: Vec<f64> = (1..=4).map(|k| cantilever(k).powi(2) * bending_unit(40.0)).collect();
    assert_close(&found, &expected, 1e-9);
    // pinned modes cannot take the slope at the wall exactly: a frame pinned at both ends bends with it, from above
    let pinned =
        pulsations(&planar("pinned", &format!("axial = 0\nbending = 4\nstatic_modes = true\n{}", wall("[0, 0]"))));
    let ratio = pinned[0].0 / expected[0] - 1.0;
    assert!((0.0..1e-3).contains(&ratio), "{ratio:e}");

    let found =
        pulsations(&spatial("clamped", &format!("axial = 1\nbending = [2, 1]\ntorsion = 2\n{}", wall("[0, 0, 0]"))));
    // ρ I_p L = m (I_y + I_z)/A
    let twist = |k: f64| (k - 0.5) * PI * (30.0 / (1.5 * 2.0 * 13e-5 / 2.0f64)).sqrt();
    let mut expected = vec![
        cantilever(1).powi(2) * bending_unit(40.0),
        cantilever(2).powi(2) * bending_unit(40.0),
        cantilever(1).powi(2) * bending_unit(90.0),
        twist(1.0),
        twist(2.0),
        0.5 * PI * (2e6 / (2.0 * 1.5f64)).sqrt(),
    ];
    expected.sort_by(f64::total_cmp);
    assert_close(&found, &expected, 1e-9);
}

#[test]
fn loads_at_the_tip_deflect_a_cantilever_as_statics_says() {
    let tip = |rest: &str, load: &str| {
        let text = planar(
            "clamped",
            &format!(
                "{rest}\n[joint.wall]\ntype = \"fixed\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\n\
                 [force.f]\nbody = \"b\"\nat = [1.5, 0]\n{load}\n[probe.tip]\nbody = \"b\"\nat = [1.5, 0]\n"
            ),
        );
        let s = system(&text);
        let dynamics: Arc<dyn Dynamics> = s.clone();
        let found = equilibrium(&dynamics, &assembled(&s)).unwrap_or_else(|e| panic!("{e}"));
        let mut w = s.workspace();
        s.realize(&found.point, &mut w);
        s.look(&s.model.probes[0].end, &w, &found.point.v)
    };
    let (force, moment) = ("type = \"force\"\nforce = [30, 0.2]", "type = \"torque\"\ntorque = 0.3");
    let expected = 0.2 * 1.5f64.powi(3) / (3.0 * 40.0);
    for modes in [0, 1, 3] {
        // without waves there are no static shapes either
        let rest = format!("axial = 1\nbending = {}\nstatic_modes = true", modes + 1);
        let bent = tip(&rest, force);
        assert!((bent.p[1] / expected - 1.0).abs() < 1e-9, "{modes}: {} {expected}", bent.p[1]);
        let stretched = 30.0 * 1.5 / 2e6;
        assert!(((bent.p[0] - 1.5) / stretched - 1.0).abs() < 1e-8, "{}", bent.p[0]);
        let turned = tip(&rest, moment);
        let angle = turned.r.0[1][0].atan2(turned.r.0[0][0]);
        assert!((angle / (0.3 * 1.5 / 40.0) - 1.0).abs() < 1e-8, "{angle}");
        assert!((turned.p[1] / (0.3 * 2.25 / 80.0) - 1.0).abs() < 1e-8);
    }
    // waves alone converge from below: Σ 12/βₖ⁴ of it
    for n in [1, 2, 5, 10] {
        let share: f64 = (1..=n).map(|k| 12.0 / cantilever(k).powi(4)).sum();
        let found = tip(&format!("axial = 0\nbending = {n}"), force).p[1] / expected;
        assert!((found - share).abs() < 1e-9 && found < 1.0, "{n}: {found} {share}");
    }
    assert!((1..=10).map(|k| 12.0 / cantilever(k).powi(4)).sum::<f64>() > 0.99995);
}

/// The state of the body `b` from the channels of a summary.
fn state(s: &System, summary: &Summary) -> Point {
    let get = |c: &str| last(summary, &format!("b.{c}"));
    let mut p = Point::at(&s.initial_state(), s.layout());
    let q = Quat([get("qw"), get("qx"), get("qy"), get("qz")]);
    p.charts.centres[0] = q;
    p.q[..3].copy_from_slice(&["x", "y", "z"].map(get));
    p.q[3..6].fill(0.0);
    p.v[..3].copy_from_slice(&["vx", "vy", "vz"].map(get));
    p.v[3..6].copy_from_slice(&q.matrix().transpose_times(Vec3(["wx", "wy", "wz"].map(get))).0);
    for i in 6..p.q.len() {
        (p.q[i], p.v[i]) = (get(&format!("mode{}", i - 5)), get(&format!("mode{}_rate", i - 5)));
    }
    p
}

/// Linear momentum, and angular momentum about the origin.
fn momentum(s: &System, p: &Point) -> [Vec3; 2] {
    let mut p = p.clone();
    p.vdot = p.v.clone();
    let m = values(s, Piece::MassAccel, &p);
    let linear = Vec3::from_slice(&m[..3]);
    let spin = p.charts.centres[0].matrix() * Vec3::from_slice(&m[3..6]);
    [linear, Vec3::from_slice(&p.q[..3]).cross(linear) + spin]
}

#[test]
fn a_free_flexible_body_keeps_momentum_and_energy() {
    let text = spatial(
        "pinned",
        "axial = 1\nbending = [2, 2]\ntorsion = 1\ndeflection = [0.0005, 0.02, 0.005, -0.02, 0.005, 0.02]\n\
         [body.b]\nvelocity = [0.3, -0.2, 0.1]\nangular_velocity = [2, 3, 1]\n",
    );
    // one table, not two
    let text = text.replace("[body.b]\nvelocity", "[body.b.unused]\nvelocity");
    let (head, tail) = text.split_once("[body.b.unused]").unwrap();
    let text = head.replace("[body.b.beam]", &format!("[body.b]\n{tail}\n[body.b.beam]"));
    let s = system(&text);
    let start = assembled(&s);
    let before = momentum(&s, &start);
    // BDF of order 5 damps the waves of 1280 rad/s a little
    use Coordinates::{Cartesian, Relative};
    for (method, coordinates, tolerance) in [
        (MethodName::Dop853, Cartesian, 1e-8),
        (MethodName::Bdf, Cartesian, 1e-5),
        (MethodName::Dop853, Relative, 1e-8),
        (MethodName::Bdf, Relative, 1e-5),
    ] {
        let summary = run(&s, Options { method, coordinates, rtol: 1e-10, until: 0.3, ..Options::default() });
        let end = state(&s, &summary);
        let moved = (0..6).map(|i| (end.q[6 + i] - start.q[6 + i]).abs()).fold(0.0, f64::max);
        assert!(moved > 0.005, "{moved}");
        let after = momentum(&s, &end);
        for (a, b) in before.iter().zip(&after) {
            assert!((*a - *b).norm() < tolerance * (1.0 + a.norm()), "{}: {a:?} {b:?}", method.name());
        }
        assert!(
            summary.energy.largest_error < tolerance * summary.energy.initial.abs(),
            "{}: {:?}",
            method.name(),
            summary.energy
        );
    }
}

/// The flexible slider-crank in the plane, and the same in space; `soft` divides the stiffness, and gravity.
fn slider_crank(space: bool, soft: f64, rate: f64, rest: &str) -> String {
    let z = |text: &str| if space { format!("[{text}, 0]") } else { format!("[{text}]") };
    let axis = if space { "axis = [0, 0, 1]\n" } else { "" };
    let plane = if space { "" } else { "plane = \"xy\", " };
    let crank = match space {
        true => "inertia = [0.0225, 0.0225, 0.0225]\norientation = { axis = [0, 0, 1], angle = \"3*pi/2\" }",
        false => "inertia = 0.0225\nangle = \"3*pi/2\"",
    };
    let modes =
        if space { "up = [-1, 1.7, 0]\naxial = 1\nbending = [2, 0]\ntorsion = 0" } else { "axial = 1\nbending = 2" };
    format!(
        "model = {{ {plane}gravity = {} }}\n[body.crank]\nmass = 3\nat = {}\n{crank}\n\
         [body.rod.beam]\nfrom = {}\nto = {}\nmass = 0.9\nyoungs_modulus = {}\narea = 5.74e-6\nsecond_moment = 2.765e-8\n{modes}\n{rest}\n\
         [joint.pin]\ntype = \"revolute\"\nbetween = [\"ground\", \"crank\"]\nat = {}\n{axis}\
         [joint.elbow]\ntype = \"revolute\"\nbetween = [\"crank\", \"rod\"]\nat = {}\n{axis}\
         [joint.slide]\ntype = \"point-on-line\"\nbetween = [\"ground\", \"rod\"]\nat = {}\naxis = {}\n\
         [start]\npin = {{ rate = {rate:?} }}\n",
        z(&format!("0, {:?}", -9.81 / soft.sqrt())),
        z("0, -0.15"),
        z("0, -0.3"),
        z("\"sqrt(0.27)\", 0"),
        200e9 / soft,
        z("0, 0"),
        z("0, -0.3"),
        z("\"sqrt(0.27)\", 0"),
        z("1, 0"),
    )
}

#[test]
fn plane_and_space_agree() {
    let runs = [false, true].map(|space| {
        let s = system(&slider_crank(space, 100.0, 3.0, ""));
        run(&s, Options { method: MethodName::Dop853, rtol: 1e-12, until: 0.3, ..Options::default() })
    });
    for channel in
        ["crank.x", "crank.wz", "rod.x", "rod.y", "rod.wz", "rod.mode1", "rod.mode2", "rod.mode3", "energy.total"]
    {
        let [plane, space] = [0, 1].map(|k| last(&runs[k], channel));
        assert!((plane - space).abs() < 1e-9, "{channel}: {plane} {space}");
    }
    assert!(last(&runs[0], "rod.mode2").abs() > 1e-6);
}

#[test]
fn a_quasi_static_start_does_not_ring() {
    // the values of a quasi-static start that were computed elsewhere, from hand-written equations
    let s = system(&slider_crank(false, 1.0, 1.0, "start = \"quasi-static\""));
    let p = assembled(&s);
    let rod = s.layout().bodies[1].clone();
    for (k, (q, v)) in [(-2.7784886e-7, 2.7368115e-6), (-3.95296215e-6, -2.34245118e-6), (-2.4871e-9, 1.02025e-9)]
        .into_iter()
        .enumerate()
    {
        let (found, rate) = (p.q[rod.start + 3 + k], p.v[rod.start + 3 + k]);
        assert!((found - q).abs() < 1e-14 && (rate - v).abs() < 2e-12, "{k}: {found:e} {rate:e}");
    }
    let ringing = |text: &str| {
        let s = system(text);
        let p = assembled(&s);
        s.layout().bodies[1].clone().skip(3).map(|i| p.vdot[i].abs()).fold(0.0, f64::max)
    };
    let (still, loud) = (
        ringing(&slider_crank(false, 1.0, 1.0, "start = \"quasi-static\"")),
        ringing(&slider_crank(false, 1.0, 1.0, "")),
    );
    assert!(still < 1e-6 * loud, "{still:e} {loud:e}");
}

#[test]
fn every_pair_of_method_and_formulation_shows_its_order_on_a_flexible_problem() {
    use MethodName::*;
    const UNTIL: f64 = 0.25;
    let families = [
        (GeneralizedAlpha, 5, 2.0, 200),
        (Hht, 5, 2.0, 200),
        (Newmark, 5, 1.0, 800),
        (Bdf, 1, 1.0, 3200),
        (Bdf, 2, 2.0, 800),
        (Rk4, 5, 4.0, 100),
        (Dopri5, 5, 5.0, 60),
    ];
    // frequencies of 23, 17 and 67 rad/s: the methods resolve them
    let s = system(&slider_crank(false, 1e4, 1.0, ""));
    let tight = Options { method: Dop853, rtol: 1e-12, until: UNTIL, ..Options::default() };
    let exact = run(&s, tight);
    let channels = ["crank.angle", "crank.wz", "rod.wz", "rod.mode1", "rod.mode2", "rod.mode3", "rod.mode2_rate"];
    for (method, max_order, expected, steps) in families {
        let formulations: &[FormulationKind] = match method {
            m if m.explicit() => &[Index1],
            Hht | Newmark => &[Index3, Ggl, Si2, Index1, Additive],
            _ => &[Index3, Ggl, Si2, Index1],
        };
        let both = [Coordinates::Cartesian, Coordinates::Relative];
        for (&formulation, coordinates) in formulations.iter().flat_map(|f| both.map(|c| (f, c))) {
            let error = |n: usize| {
                let (step, formulation) = (Some(UNTIL / n as f64), Some(formulation));
                let options = Options { method, coordinates, formulation, step, until: UNTIL, ..Options::default() }
                    .with(|o| o.parameters.max_order = max_order);
                let found = run(&s, options);
                channels.iter().map(|c| (last(&found, c) - last(&exact, c)).abs()).fold(0.0, f64::max)
            };
            let errors = [error(steps), error(2 * steps)];
            let order = (errors[0] / errors[1]).log2();
            assert!(
                (order - expected).abs() < 0.2,
                "{} on {formulation} in {coordinates:?}: order {order:.3}, errors {errors:?}",
                method.name()
            );
        }
    }
}

/// A new matrix always, kept ones, split coordinates: one motion, so one order.
#[test]
fn iterations_lead_to_the_same_motion_of_a_flexible_problem() {
    const UNTIL: f64 = 0.25;
    let s = system(&slider_crank(false, 1e4, 1.0, ""));
    let channels = ["crank.angle", "crank.wz", "rod.wz", "rod.mode1", "rod.mode2", "rod.mode3", "rod.mode2_rate"];
    let tight = Options { method: MethodName::Dop853, rtol: 1e-12, until: UNTIL, ..Options::default() };
    let exact = run(&s, tight);
    let apart = |a: &Summary, b: &Summary| channels.iter().map(|c| (last(a, c) - last(b, c)).abs()).fold(0.0, f64::max);
    for (method, max_order, steps) in
        [(MethodName::GeneralizedAlpha, 5, 200), (MethodName::Newmark, 5, 200), (MethodName::Bdf, 2, 400)]
    {
        for formulation in [Index3, Ggl, Si2, Index1] {
            let with = |iteration| {
                let (formulation, step) = (Some(formulation), Some(UNTIL / steps as f64));
                let iteration = Some(iteration);
                let rest = Options::default().with(|o| o.parameters.max_order = max_order);
                run(&s, Options { method, formulation, iteration, step, until: UNTIL, ..rest })
            };
            let full = with(Iteration::Full);
            let error = apart(&full, &exact);
            let all =
                [Iteration::Simplified, Iteration::Auto, Iteration::CoordinateSplit, Iteration::CoordinateModified];
            // splitting is for the plain Gᵀμ, and for positions that are constrained
            for iteration in all.into_iter().filter(|i| !i.splits() || formulation == Ggl) {
                let difference = apart(&full, &with(iteration));
                let what = format!("{} on {formulation}, {}", method.name(), iteration.name());
                assert!(difference < 1e-2 * error, "{what}: {difference:e} of {error:e}");
            }
        }
    }
}

/// A beam that is clamped to a shaft: where it turns, bending in its plane has K − Ω²E, and across it K.
#[test]
fn a_spinning_beam_has_its_softened_frequencies() {
    for spin in [0.0, 2.0, 6.0] {
        let still = |k: usize, ei: f64| cantilever(k).powi(2) * bending_unit(ei);
        let softened = |k: usize, ei: f64| (still(k, ei).powi(2) - spin * spin).sqrt();
        let drive = format!("[joint.motor]\ntype = \"drive\"\njoint = \"hub\"\nrate = {spin:?}\n");
        let hub = "[joint.hub]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\n";
        let plane = pulsations(&planar("clamped", &format!("axial = 0\nbending = 3\n{hub}{drive}")));
        assert_close(&plane, &[1, 2, 3].map(|k| softened(k, 40.0)), 1e-8);
        // in space: the beam bends along the axis of the rotation, and in its plane
        let hub = hub.replace("[0, 0]", "[0, 0, 0]\naxis = [0, 0, 1]");
        let rest = format!("axial = 0\nbending = [2, 2]\ntorsion = 0\n{hub}{drive}");
        let space = pulsations(&spatial("clamped", &rest));
        let mut expected: Vec<f64> = [1, 2].iter().flat_map(|k| [softened(*k, 90.0), still(*k, 40.0)]).collect();
        expected.sort_by(f64::total_cmp);
        assert_close(&space, &expected, 1e-8);
    }
}
