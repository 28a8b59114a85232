//! One model run whole and run in parts gives the same motion.

mod machines;

use bellcrank_glue::{
    Coordinator, Coupling, Description, GlueOptions, Levels, PartError, PartModel, PartResponse, Solver, Subdomain,
    Window, cut, read_assembly,
};
use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::Channel;
use bellcrank_solve::FormulationKind::{Index3, Si2};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::start::assemble;
use machines::{
    DOUBLE_FOUR_BAR, FOUR_BAR, SPATIAL, Values, chain_of, difference, glued, join, own, problem, stepped, system,
    values, whole,
};
use std::sync::Arc;

#[test]
fn a_four_bar_cut_at_each_joint_takes_the_steps_of_the_whole() {
    let system = system(FOUR_BAR);
    for (coupling, form) in [(Coupling::Position, Index3), (Coupling::Stabilized, Si2)] {
        let reference = whole(&system, stepped(form, 1e-3, 0.2));
        for at in [&["a"][..], &["b"], &["c"], &["d"], &["a", "c"], &["a", "b", "c", "d"]] {
            let options = GlueOptions { coupling, window: 1e-3, ..GlueOptions::default() };
            let (c, seen) = glued(&system, at, options, &[], 0.2);
            let (r, d) = (c.report(), difference(&reference, &seen));
            assert!(d < 1e-9, "{form} {at:?}: {d:e}");
            assert_eq!(r.windows, 200);
            assert!(r.exchanges <= 2 * r.windows, "{form} {at:?}: {} exchanges", r.exchanges);
            assert!(r.residuals.position < 2e-10, "{:?}", r.residuals);
        }
    }
}

#[test]
fn reactions_between_parts_are_those_of_the_whole() {
    let system = system(FOUR_BAR);
    let reference = whole(&system, stepped(Si2, 1e-3, 0.1));
    let options = GlueOptions { window: 1e-3, ..GlueOptions::default() };
    let (_, seen) = glued(&system, &["b", "d"], options, &[], 0.1);
    for name in ["b.fx", "b.fy", "d.fx", "d.fy", "a.fx"] {
        let find = |of: &Values| of.iter().find(|(n, _)| n == name).unwrap().1;
        assert!((find(&reference) - find(&seen)).abs() < 1e-6, "{name}: {} {}", find(&reference), find(&seen));
    }
}

#[test]
fn loops_space_and_long_chains_too() {
    let chain = chain_of(100);
    let cases: [(&str, &[&str], usize, f64); 4] = [
        (DOUBLE_FOUR_BAR, &["e", "f"], 3, 1.0),
        (SPATIAL, &["socket"], 2, 1.0),
        (SPATIAL, &["pin", "socket"], 2, 1.0),
        (&chain, &["j25", "j50", "j75"], 4, 100.0),
    ];
    for (text, at, parts, length) in cases {
        let system = system(text);
        let reference = whole(&system, stepped(Si2, 1e-3, 0.05));
        let options = GlueOptions { window: 1e-3, ..GlueOptions::default() };
        let (mut c, seen) = glued(&system, at, options, &[], 0.05);
        assert_eq!(c.parts().len(), parts);
        let (d, r) = (difference(&reference, &seen), c.report());
        assert!(d < 1e-9 * length, "{at:?}: {d:e}");
        assert!(r.exchanges <= 2 * r.windows, "{at:?}: {} exchanges", r.exchanges);
    }
}

#[test]
fn a_flexible_rod_is_a_part_like_any_other() {
    let system = system(&problem("flexible-slider-crank"));
    let joints: Vec<String> = system.model.joints.iter().map(|j| j.name.clone()).collect();
    let reference = whole(&system, stepped(Si2, 1e-4, 0.01));
    for joint in &joints {
        let options = GlueOptions { window: 1e-4, ..GlueOptions::default() };
        let (c, seen) = glued(&system, &[joint], options, &[], 0.01);
        let (d, r) = (difference(&reference, &seen), c.report());
        assert!(d < 1e-9, "{joint}: {d:e}");
        assert!(r.exchanges <= 2 * r.windows, "{joint}: {} exchanges", r.exchanges);
    }
}

#[test]
fn parts_with_their_own_methods_and_steps_converge_with_the_window() {
    for (text, at) in [(FOUR_BAR, &["b", "d"][..]), (SPATIAL, &["socket"])] {
        let system = system(text);
        let reference = whole(&system, Options { until: 0.2, rtol: 1e-10, ..own(MethodName::Dop853) });
        let solvers = [own(MethodName::Dopri5), own(MethodName::Bdf)];
        let errors: Vec<f64> = [2e-2, 1e-2, 5e-3]
            .iter()
            .map(|h| {
                let options = GlueOptions { coupling: Coupling::Windows, window: *h, ..GlueOptions::default() };
                let options = GlueOptions { tolerances: Levels::all(1e-7), ..options };
                difference(&reference, &glued(&system, at, options, &solvers, 0.2).1)
            })
            .collect();
        let order = (errors[0] / errors[2]).log2() / 2.0;
        assert!(order > 1.7, "{at:?}: {errors:?}");
        assert!(errors[2] < 2e-5, "{at:?}: {errors:?}");
    }
}

#[test]
fn parts_take_the_names_of_presets_as_their_method() {
    let system = system(FOUR_BAR);
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
    let reference = whole(&system, Options { until: 0.05, rtol: 1e-10, ..own(MethodName::Dop853) });
    let start = |name: &str, step| {
        let cut = cut(&system, &point, &["b"]).unwrap();
        let how = Solver { coupling: Coupling::Windows, rho: 0.8, method: Some(name.into()), rtol: 1e-7, step };
        let parts: Result<Vec<_>, PartError> = cut.parts.into_iter().map(|p| p.start(&how)).collect();
        parts.map(|parts| (parts, cut.interface))
    };
    for (name, step) in [("hht-i3", Some(1e-4)), ("hht-si2", Some(1e-4)), ("nstiff-si2", None), ("cs", None)] {
        let (parts, interface) = start(name, step).unwrap_or_else(|e| panic!("{name}: {e}"));
        let options = GlueOptions { coupling: Coupling::Windows, window: 2e-3, ..GlueOptions::default() };
        let options = GlueOptions { tolerances: Levels::all(1e-7), ..options };
        let mut c = Coordinator::new(parts, interface, 0.0, options).unwrap();
        c.run(0.05, &mut |_| Ok(())).unwrap_or_else(|e| panic!("{name}: {e}"));
        let d = difference(&reference, &values(&mut c));
        assert!(d < 1e-5, "{name}: {d:e}");
    }
    let why = start("hht-i33", None).err().expect("refused").to_string();
    assert!(why.contains("hht-i33") && why.contains("hht-i3"), "{why}");
}

#[test]
fn windows_follow_the_tolerance() {
    let system = system(FOUR_BAR);
    let reference = whole(&system, Options { until: 0.3, rtol: 1e-10, ..own(MethodName::Dop853) });
    let mut before = f64::INFINITY;
    for rtol in [1e-3, 1e-4, 1e-5] {
        let options = GlueOptions {
            coupling: Coupling::Windows,
            rtol: Some(rtol),
            tolerances: Levels::within(rtol),
            ..GlueOptions::default()
        };
        let (c, seen) = glued(&system, &["b"], options, &[own(MethodName::Dopri5)], 0.3);
        let d = difference(&reference, &seen);
        let r = c.report();
        assert!(d < 10.0 * rtol && d < before, "{rtol:e}: {d:e} in {} windows", r.windows);
        assert!(r.exchanges <= 2 * r.windows, "{rtol:e}: {} exchanges in {} windows", r.exchanges, r.windows);
        before = d;
    }
}

#[test]
fn windows_in_step_follow_the_tolerance_too() {
    for (text, at) in [(FOUR_BAR, &["b"][..]), (FOUR_BAR, &["a", "c"]), (SPATIAL, &["socket"])] {
        let system = system(text);
        let reference = whole(&system, Options { until: 0.3, rtol: 1e-10, ..own(MethodName::Dop853) });
        for coupling in [Coupling::Position, Coupling::Stabilized] {
            let mut before = (f64::INFINITY, 0);
            for rtol in [1e-3, 1e-4, 1e-5] {
                let tolerances = Levels::within(rtol);
                let options =
                    GlueOptions { coupling, rtol: Some(rtol), window: 1e-4, tolerances, ..GlueOptions::default() };
                let (c, seen) = glued(&system, at, options, &[], 0.3);
                let (d, r) = (difference(&reference, &seen), c.report());
                assert!(d < 10.0 * rtol && d < before.0, "{coupling:?} {at:?} {rtol:e}: {d:e}");
                // of second order: ten times less error for 2.15 times the windows
                assert!(r.windows > before.1 && r.windows < 600, "{coupling:?} {at:?} {rtol:e}: {r:?}");
                assert!(r.exchanges <= 2 * (r.windows + r.rejected) + 10, "{coupling:?} {at:?} {rtol:e}: {r:?}");
                before = (d, r.windows);
            }
        }
    }
}

#[test]
fn a_first_window_that_is_far_too_long_is_taken_back() {
    let system = system(FOUR_BAR);
    let reference = whole(&system, Options { until: 0.5, rtol: 1e-10, ..own(MethodName::Dop853) });
    for coupling in [Coupling::Stabilized, Coupling::Windows] {
        let rtol = Some(1e-4);
        let options =
            GlueOptions { coupling, rtol, window: 0.1, tolerances: Levels::within(1e-4), ..GlueOptions::default() };
        let (c, seen) = glued(&system, &["b"], options, &[own(MethodName::Dopri5)], 0.5);
        let (d, r) = (difference(&reference, &seen), c.report());
        assert!(d < 1e-3 && r.rejected > 0, "{coupling:?}: {d:e} {r:?}");
    }
}

#[test]
fn windows_can_be_made_to_end_at_samples() {
    let system = system(FOUR_BAR);
    let options = GlueOptions { rtol: Some(1e-3), grid: Some(0.03), ..GlueOptions::default() };
    let mut c = join(&system, &["b"], options, &[]);
    let mut times = Vec::new();
    c.run(0.2, &mut |c| {
        times.push(c.time());
        Ok(())
    })
    .unwrap();
    for sample in [0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.2] {
        assert!(times.iter().any(|t| (t - sample).abs() < 1e-14), "{sample}: {times:?}");
    }
}

#[test]
fn every_residual_has_its_tolerance() {
    let system = system(FOUR_BAR);
    let left = |tolerances: Levels, coupling: Coupling| {
        let options = GlueOptions { coupling, window: 5e-3, tolerances, ..GlueOptions::default() };
        let (c, _) = glued(&system, &["b", "d"], options, &[own(MethodName::Dopri5)], 0.2);
        c.report().clone()
    };
    let loose = Levels { position: 1e-5, velocity: 1e-5, acceleration: 1e-3, dynamics: 1e-3 };
    let coarse = left(loose, Coupling::Stabilized);
    let size = 4.0; // no machine of this kind is longer than twice its longest link
    let cases: [(fn(&Levels) -> f64, Levels, f64); 4] = [
        (|l| l.position, Levels { position: 1e-11, ..loose }, 1e-11 * size),
        (|l| l.velocity, Levels { velocity: 1e-11, ..loose }, 1e-11 * size / 5e-3),
        (|l| l.acceleration, Levels { acceleration: 1e-12, ..loose }, 1e-12 * 1e3),
        (|l| l.dynamics, Levels { dynamics: 1e-13, ..loose }, 1e-13 * size),
    ];
    for (of, tight, most) in cases {
        let fine = left(tight, Coupling::Stabilized);
        assert!(of(&fine.residuals) <= most, "{tight:?}: {:?}", fine.residuals);
        assert!(of(&fine.residuals) <= of(&coarse.residuals), "{tight:?}: {:?}, {coarse:?}", fine.residuals);
    }
    let fine = left(Levels::all(1e-11), Coupling::Stabilized);
    assert!(coarse.exchanges < fine.exchanges && coarse.recoveries == 1, "{coarse:?}\n{fine:?}");
}

/// A part that tells no admittance: all that is left is to try.
struct Mute(Box<dyn Subdomain>);

impl Subdomain for Mute {
    fn description(&self) -> &Description {
        self.0.description()
    }
    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        self.0.begin(loads).map(|r| PartResponse { admittance: None, ..r })
    }
    fn attempt(&mut self, window: &Window, loads: &[f64], shifts: &[f64], _: bool) -> Result<PartResponse, PartError> {
        self.0.attempt(window, loads, shifts, false).map(|r| PartResponse { admittance: None, ..r })
    }
    fn commit(&mut self) -> Result<(), PartError> {
        self.0.commit()
    }
    fn save(&mut self) -> Result<(), PartError> {
        self.0.save()
    }
    fn restore(&mut self) -> Result<(), PartError> {
        self.0.restore()
    }
    fn channels(&self) -> Vec<Channel> {
        self.0.channels()
    }
    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        self.0.observe(out)
    }
}

#[test]
fn parts_that_tell_no_admittance_are_asked_by_differences() {
    for (text, at) in [(FOUR_BAR, &["b", "d"][..]), (SPATIAL, &["socket"])] {
        let system = system(text);
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
        let options = GlueOptions { coupling: Coupling::Windows, window: 5e-3, ..GlueOptions::default() };
        let options = GlueOptions { tolerances: Levels::all(1e-7), ..options };
        let (_, told) = glued(&system, at, options, &[own(MethodName::Dopri5)], 0.2);
        let cut = cut(&system, &point, at).unwrap();
        let mute = |part: PartModel| -> Box<dyn Subdomain> {
            Box::new(Mute(part.with_own_solver(own(MethodName::Dopri5)).unwrap()))
        };
        let parts = cut.parts.into_iter().map(mute).collect();
        let mut c = Coordinator::new(parts, cut.interface, 0.0, options).unwrap();
        c.run(0.2, &mut |_| Ok(())).unwrap();
        let d = difference(&told, &values(&mut c));
        assert!(d < 1e-6, "{at:?}: {d:e}");
        // one repeat per window: the differences of the start serve for the whole run
        let r = c.report();
        assert!(r.exchanges <= 2 * r.windows + 12, "{at:?}: {r:?}");
    }
}

#[test]
fn looking_changes_nothing() {
    let system = system(FOUR_BAR);
    for coupling in [Coupling::Position, Coupling::Stabilized, Coupling::Windows] {
        let run = |look: bool| {
            let options = GlueOptions { coupling, window: 2e-3, ..GlueOptions::default() };
            let mut c = join(&system, &["b"], options, &[own(MethodName::Dopri5)]);
            c.run(0.02, &mut |c| if look { c.observe().map(|_| ()) } else { Ok(()) }).unwrap();
            assert_eq!(c.report().recoveries, if look { 10 } else { 0 });
            values(&mut c)
        };
        assert_eq!(run(true), run(false), "{coupling:?}");
    }
}

#[test]
fn many_machines_in_parts_with_their_own_methods_and_steps() {
    let rtol = 1e-4;
    let chain = chain_of(100);
    let rod = problem("flexible-slider-crank");
    let cases: [(&str, &[&str], f64, f64, f64); 6] = [
        (FOUR_BAR, &["a"], 0.1, 1e-3, 1.0),
        (FOUR_BAR, &["c", "d"], 0.1, 1e-3, 1.0),
        (DOUBLE_FOUR_BAR, &["e", "f"], 0.1, 1e-3, 1.0),
        (SPATIAL, &["socket"], 0.1, 1e-3, 1.0),
        (&rod, &["elbow"], 5e-3, 1e-4, 1.0),
        (&chain, &["j25", "j50", "j75"], 0.02, 1e-3, 100.0),
    ];
    let methods = [
        Options { rtol: 1e-7, ..own(MethodName::Dopri5) },
        Options { rtol: 1e-7, ..own(MethodName::Bdf) },
        stepped(Si2, 1e-4, 1.0),
    ];
    for (text, at, until, window, length) in cases {
        let system = system(text);
        let reference = whole(&system, Options { until, rtol: 1e-8, ..own(MethodName::Bdf) });
        let coupling = Coupling::Windows;
        let tolerances = Levels::within(rtol);
        let options = GlueOptions { coupling, rtol: Some(rtol), window, tolerances, ..GlueOptions::default() };
        let (c, seen) = glued(&system, at, options, &methods, until);
        let (d, r) = (difference(&reference, &seen), c.report());
        assert!(d < 10.0 * rtol * length, "{at:?}: {d:e}");
        assert!(r.exchanges <= 2 * (r.windows + r.rejected), "{at:?}: {r:?}");
    }
}

#[test]
fn own_solvers_take_two_exchanges_in_any_window() {
    let (rod, seven) = (problem("flexible-slider-crank"), problem("seven-body"));
    // the longest window is a fiftieth of a turn, and the stiff rod swings several times within one
    let cases: [(&str, &[&str], f64, f64); 11] = [
        (FOUR_BAR, &["a"], 0.1, 5e-3),
        (FOUR_BAR, &["b"], 0.05, 1e-3),
        (FOUR_BAR, &["c"], 0.2, 1e-2),
        (FOUR_BAR, &["b", "d"], 0.2, 1e-2),
        (FOUR_BAR, &["b", "d"], 0.4, 2e-2),
        (DOUBLE_FOUR_BAR, &["e", "f"], 0.1, 5e-3),
        (SPATIAL, &["socket"], 0.1, 5e-3),
        (SPATIAL, &["socket"], 0.2, 1e-2),
        (&rod, &["elbow"], 5e-3, 1e-4),
        (&rod, &["elbow"], 1e-2, 3e-4),
        (&seven, &["E3"], 3e-3, 3e-5),
    ];
    let methods = [
        Options { rtol: 1e-7, ..own(MethodName::Dopri5) },
        Options { rtol: 1e-7, ..own(MethodName::Bdf) },
        stepped(Si2, 1e-4, 1.0),
    ];
    for (text, at, until, window) in cases {
        let system = system(text);
        let reference = whole(&system, Options { until, rtol: 1e-9, ..own(MethodName::Bdf) });
        for rtol in [None, Some(1e-4)] {
            let coupling = Coupling::Windows;
            let tolerances = rtol.map_or(Levels::all(1e-7), Levels::within);
            let options = GlueOptions { coupling, rtol, window, tolerances, ..GlueOptions::default() };
            let (c, seen) = glued(&system, at, options, &methods, until);
            let (d, r) = (difference(&reference, &seen), c.report());
            assert!(r.most <= 2, "{at:?} {window} {rtol:?}: {r:?}");
            assert!(r.exchanges <= 2 * (r.windows + r.rejected), "{at:?} {window} {rtol:?}: {r:?}");
            assert!(d < 5e-5, "{at:?} {window} {rtol:?}: {d:e}");
        }
    }
}

#[test]
fn the_admittance_of_a_part_in_step_is_what_differences_tell() {
    for (text, at) in [(FOUR_BAR, "b"), (FOUR_BAR, "c"), (SPATIAL, "socket")] {
        let system = system(text);
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
        for coupling in [Coupling::Position, Coupling::Stabilized] {
            for part in cut(&system, &point, &[at]).unwrap().parts {
                let mut part = part.in_step(coupling, 0.8).unwrap();
                let n = 6 * part.description().ports.len();
                let (loads, shifts) = (vec![1.0; n], vec![0.0; n]);
                let window = Window { number: 0, from: 0.0, to: 5e-3 };
                part.begin(&loads).unwrap();
                let told = part.attempt(&window, &loads, &shifts, true).unwrap().admittance.unwrap();
                for j in 0..n {
                    let mut moved = |by: f64| {
                        let mut changed = loads.clone();
                        changed[j] += by;
                        part.attempt(&window, &changed, &shifts, false).unwrap().ports
                    };
                    let (up, down) = (moved(0.5), moved(-0.5));
                    for (k, (a, b)) in up.iter().zip(&down).enumerate() {
                        let place = [a.place - b.place, a.rotation.then(b.rotation.conjugate()).log()];
                        let twist = [a.velocity - b.velocity, a.spin - b.spin];
                        for (told, found) in [(&told.place, place), (&told.velocity, twist)] {
                            let size = told.values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                            for (i, x) in found.iter().flat_map(|x| x.0).enumerate() {
                                let off = (told.at(6 * k + i, j) - x).abs() / size;
                                assert!(off < 1e-3, "{at} {coupling:?}: {} {x}", told.at(6 * k + i, j));
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_seven_body_mechanism_in_parts() {
    let system = system(&problem("seven-body"));
    for (coupling, form) in [(Coupling::Position, Index3), (Coupling::Stabilized, Si2)] {
        let reference = whole(&system, stepped(form, 1e-5, 5e-3));
        for at in [&["E3"][..], &["crank", "B"]] {
            let options = GlueOptions { coupling, window: 1e-5, ..GlueOptions::default() };
            let (c, seen) = glued(&system, at, options, &[], 5e-3);
            let (d, r) = (difference(&reference, &seen), c.report());
            assert!(d < 1e-8, "{form} {at:?}: {d:e}");
            assert!(r.exchanges <= 2 * r.windows, "{form} {at:?}: {r:?}");
        }
    }
}

/// Two masses on a line, joined by a spring.
fn two_masses(stiffness: f64) -> String {
    format!(
        "model = {{ plane = \"xy\" }}\n[body]\n\
         a = {{ mass = 1, inertia = 1, at = [0, 0] }}\nb = {{ mass = 1, inertia = 1, at = [1, 0], velocity = [0.1, 0] }}\n\
         [joint]\nja = {{ type = \"prismatic\", between = [\"ground\", \"a\"], at = [0, 0], axis = [1, 0] }}\n\
         jb = {{ type = \"prismatic\", between = [\"ground\", \"b\"], at = [1, 0], axis = [1, 0] }}\n\
         [force]\nk = {{ type = \"spring-damper\", between = [\"a\", \"b\"], at = [[0, 0], [1, 0]], stiffness = {stiffness}, \
         damping = {}, length = 1 }}\n",
        0.02 * stiffness.sqrt()
    )
}

#[test]
fn stiff_springs_between_parts_are_stable_glued_and_not_with_held_loads() {
    let window = 2e-3;
    for stiffness in [1e2, 1e4, 1e6, 1e8] {
        let system = system(&two_masses(stiffness));
        let stretch = |coupling| {
            let options = GlueOptions { coupling, window, ..GlueOptions::default() };
            let mut c = join(&system, &["k"], options, &[own(MethodName::Dopri5)]);
            let mut most = 0.0f64;
            c.run(1.0, &mut |c| {
                most = most.max(((c.motions()[1].place - c.motions()[0].place)[0] - 1.0).abs());
                if most > 1e3 { Err(bellcrank_glue::GlueError::Unfit("left".into())) } else { Ok(()) }
            })
            .map_or(f64::INFINITY, |()| most)
        };
        // all the energy in the spring: ½ m (0.1)²/2 = ½ k x²
        let bound = 0.1 / (2.0 * stiffness).sqrt();
        for coupling in [Coupling::Position, Coupling::Stabilized, Coupling::Windows] {
            let most = stretch(coupling);
            assert!(most <= 1.5 * bound + 0.1 * window, "{coupling:?} {stiffness:e}: {most:e}, bound {bound:e}");
        }
        let held = stretch(Coupling::Explicit);
        match stiffness < 1e3 {
            true => assert!(held < 1.5 * bound, "{held:e}"),
            false if stiffness > 1e5 => assert!(held > 100.0 * bound, "{stiffness:e}: {held:e}"),
            false => {}
        }
    }
}

#[test]
fn a_rough_start_is_passed_as_the_whole_passes_it() {
    // a damper that turns the velocities round within a fiftieth of the window, and throws the masses past each other
    let text = two_masses(1e7).replace(&format!("damping = {}", 0.02 * 1e7f64.sqrt()), "damping = 1e5");
    assert!(text.contains("damping = 1e5"));
    let system = system(&text);
    for (coupling, form) in [(Coupling::Position, Index3), (Coupling::Stabilized, Si2)] {
        let reference = whole(&system, stepped(form, 2e-2, 0.4));
        let options = GlueOptions { coupling, window: 2e-2, ..GlueOptions::default() };
        let (_, seen) = glued(&system, &["k"], options, &[], 0.4);
        let d = difference(&reference, &seen);
        assert!(d < 1e-9, "{form}: {d:e}");
    }
}

#[test]
fn the_quarter_car_in_parts_moves_as_the_whole() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quarter-car-parts/");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    // the whole: the sections of all parts, with the names of bodies in the place of ports
    let mut text = read("chassis.toml");
    for part in ["suspension.toml", "wheel.toml"] {
        text += read(part).split_once("[body").map(|(_, rest)| format!("[body{rest}")).unwrap().as_str();
    }
    let between = read("assembly.toml");
    let between = between.split_once("[force.bushing]").map(|(_, rest)| format!("[force.bushing]{rest}")).unwrap();
    let between = between.split_once("[solve]").unwrap().0;
    text += &["mount", "tower"].iter().fold(between.to_string(), |t, p| t.replace(&format!("chassis/{p}"), "chassis"));
    for (port, body) in [
        ("suspension/inner", "arm"),
        ("suspension/outer", "arm"),
        ("suspension/foot", "arm"),
        ("wheel/centre", "wheel"),
    ] {
        text = text.replace(port, body);
    }
    let reference = whole(&system(&text), stepped(Si2, 1e-3, 0.2));
    let assembly = read_assembly(&format!("{folder}assembly.toml")).unwrap();
    let how = Solver { coupling: Coupling::Stabilized, rho: 0.8, method: None, rtol: 1e-8, step: None };
    let parts = assembly.parts.into_iter().map(|p| p.start(&how).unwrap()).collect();
    let options = GlueOptions { window: 1e-3, ..GlueOptions::default() };
    let mut c = Coordinator::new(parts, assembly.interface, 0.0, options).unwrap();
    // the rubber bushing is out of balance at the start, by a thousandth of a length within the first window: four windows
    // take a third exchange
    c.run(0.004, &mut |_| Ok(())).unwrap();
    let early = c.report().clone();
    assert!(early.exchanges <= 12, "{early:?}");
    c.run(0.2, &mut |_| Ok(())).unwrap();
    let (d, r) = (difference(&reference, &values(&mut c)), c.report());
    assert!(d < 1e-8, "{d:e}");
    assert!(r.exchanges - early.exchanges <= 2 * (r.windows - early.windows), "{early:?}\n{r:?}");
}

/// A four-bar with a torque on its crank.
fn pushed(torque: &str) -> String {
    format!("{FOUR_BAR}\n[force]\nhit = {{ type = \"torque\", body = \"crank\", torque = \"{torque}\" }}\n")
}

#[test]
fn a_load_that_jumps_within_a_window_counts_from_where_it_jumps() {
    // jumps, pulses and bends, at no multiple of a window
    for torque in ["if(t < 0.05037, 0, 60)", "if(abs(t - 0.1004) < 0.02, 60, 0)", "600*max(0, t - 0.03011)"] {
        let system = system(&pushed(torque));
        let exact = whole(&system, Options { until: 0.2, rtol: 1e-10, ..own(MethodName::Dop853) });
        for (coupling, form) in [(Coupling::Position, Index3), (Coupling::Stabilized, Si2)] {
            let usual = difference(&exact, &whole(&system, stepped(form, 1e-3, 0.2)));
            let options = GlueOptions { coupling, window: 1e-3, ..GlueOptions::default() };
            let (c, seen) = glued(&system, &["b"], options, &[], 0.2);
            let d = difference(&exact, &seen);
            assert!(d < 3.0 * usual + 1e-7, "{torque}, {form}: {d:e}, the whole {usual:e}");
            assert!(c.report().windows <= 203, "{torque}: {} windows", c.report().windows);
        }
        let error = |h: f64| {
            let options = GlueOptions { coupling: Coupling::Windows, window: h, ..GlueOptions::default() };
            let options = GlueOptions { tolerances: Levels::all(1e-7), ..options };
            difference(&exact, &glued(&system, &["b"], options, &[own(MethodName::Dopri5)], 0.2).1)
        };
        let (coarse, fine) = (error(1e-2), error(2.5e-3));
        assert!(fine < 0.1 * coarse && fine < 2e-5, "{torque}: {coarse:e}, {fine:e}");
    }
}

#[test]
fn windows_with_a_tolerance_land_on_breakpoints() {
    let system = system(&pushed("if(t < 0.05037, 0, 60)"));
    let exact = whole(&system, Options { until: 0.2, rtol: 1e-10, ..own(MethodName::Dop853) });
    for coupling in [Coupling::Stabilized, Coupling::Windows] {
        let rtol = 1e-5;
        let options =
            GlueOptions { coupling, rtol: Some(rtol), tolerances: Levels::within(rtol), ..GlueOptions::default() };
        let (_, seen) = glued(&system, &["b"], options, &[own(MethodName::Dopri5)], 0.2);
        let d = difference(&exact, &seen);
        assert!(d < 10.0 * rtol, "{coupling:?}: {d:e}");
    }
}

#[test]
fn a_drive_whose_rate_jumps_is_refused_by_the_part_that_has_it() {
    let text = FOUR_BAR.replace("[start]\na = { rate = 1.5 }", "")
        + "[joint.motor]\ntype = \"drive\"\njoint = \"a\"\nrate = \"if(t < 0.0101, 1, 2)\"\n";
    let system = system(&text);
    for coupling in [Coupling::Stabilized, Coupling::Windows] {
        let options = GlueOptions { coupling, ..GlueOptions::default() };
        let mut c = join(&system, &["b"], options, &[own(MethodName::Dopri5)]);
        let e = c.run(0.02, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(e.contains("the rate of a drive jumps") && e.contains("0.0101"), "{e}");
    }
}
