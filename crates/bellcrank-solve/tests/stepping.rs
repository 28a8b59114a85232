//! A run driven from outside: step by step, to given times, back and forth.

mod common;

use bellcrank_model::State;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{ChannelId, Machine, SavedState, Simulation};
use common::{FOUR_BAR, SPATIAL, last, system};

fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn simulation(text: &str, options: &Options) -> Simulation {
    Simulation::new(system(text), options.clone()).unwrap_or_else(|e| panic!("{e}"))
}

fn bits(state: &State) -> Vec<u64> {
    [&state.q[..], &state.v, &state.z, &[state.t]].concat().iter().map(|x| x.to_bits()).collect()
}

fn cases() -> Vec<(String, Options)> {
    let all = |method: MethodName, step: Option<f64>, until: f64| Options { method, step, until, ..Options::default() };
    vec![
        (example("bouncing-ball"), all(MethodName::Auto, None, 2.0)),
        (example("stick-slip"), all(MethodName::Auto, None, 2.0)),
        (example("stick-slip"), all(MethodName::Bdf, None, 1.0)),
        (FOUR_BAR.into(), all(MethodName::Bdf, None, 0.5)),
        (FOUR_BAR.into(), all(MethodName::GeneralizedAlpha, Some(1e-3), 0.2)),
        (SPATIAL.into(), all(MethodName::Dop853, None, 0.5)),
        (example("stiff-bushing"), all(MethodName::Auto, None, 0.05)),
    ]
}

#[test]
fn steps_are_those_of_a_run_to_the_bit() {
    for (text, options) in cases() {
        let mut whole = simulation(&text, &options);
        let summary = whole.run(&mut Silent);
        let mut stepped = simulation(&text, &options);
        let (mut steps, mut events, mut before) = (0, 0, 0.0);
        while let Some(step) = stepped.step().unwrap() {
            assert!(step.from == before && step.t >= step.from);
            (steps, events, before) = (steps + 1, events + step.events, step.t);
        }
        assert_eq!(bits(stepped.state()), bits(whole.state()), "{text}");
        assert_eq!(stepped.statistics(), summary.statistics);
        assert_eq!((stepped.events(), events), (&summary.events[..], summary.events.len()));
        assert!(steps > 1 && stepped.step().unwrap().is_none());
    }
}

/// A channel that is asked for alone is computed alone; it is the same number, and the run does not notice.
#[test]
fn a_channel_alone_is_the_same_as_among_all() {
    for (text, options) in cases() {
        let (mut alone, mut all) = (simulation(&text, &options), simulation(&text, &options));
        let channels = alone.header().channels.len();
        for k in 1..=4 {
            let t = options.until * f64::from(k) / 4.0;
            alone.advance_to(t).unwrap();
            all.advance_to(t).unwrap();
            let values = all.observe().unwrap().to_vec();
            for c in 0..channels {
                alone.advance_to(t).unwrap(); // forgets what was computed for the channel before
                assert_eq!(alone.value(ChannelId(c)).unwrap().to_bits(), values[c].to_bits(), "channel {c} at {t}");
            }
            assert_eq!(bits(alone.state()), bits(all.state()));
        }
    }
}

#[test]
fn a_run_stops_at_any_time_and_is_as_accurate_there() {
    for (name, channel, tolerance) in [("bouncing-ball", "ball.y", 1e-7), ("stick-slip", "mass.x", 1e-6)] {
        let options = Options { rtol: 1e-9, until: 2.0, ..Options::default() };
        let mut through = simulation(&example(name), &options);
        let end = last(&through.run(&mut Silent), channel);
        let mut halting = simulation(&example(name), &options);
        let id = halting.channel(channel).unwrap();
        for k in 1..=40 {
            let t = 0.05 * k as f64;
            assert_eq!(halting.advance_to(t).unwrap(), t);
        }
        let there = halting.value(id).unwrap();
        assert!((there - end).abs() < tolerance * (1.0 + end.abs()), "{name}: {there} {end}");
        // a time that has passed changes nothing, one after the end goes on
        assert_eq!(halting.advance_to(1.0).unwrap(), 2.0);
        assert_eq!(halting.advance_to(2.25).unwrap(), 2.25);
    }
}

#[test]
fn a_saved_state_goes_on_to_the_bit() {
    for (text, options) in cases() {
        let mut one = simulation(&text, &options);
        one.advance_to(0.4 * options.until).unwrap();
        let saved = one.save().unwrap();
        let path = |s: &mut Simulation| {
            let mut all = Vec::new();
            while s.step().unwrap().is_some() {
                all.push((bits(s.state()), s.events().len()));
            }
            all
        };
        let first = path(&mut one);
        one.restore(&saved).unwrap();
        assert_eq!(bits(one.state()), bits(&saved.state));
        assert_eq!(path(&mut one), first, "{text}");
        // another simulation of the same machine takes the same steps
        let mut other = simulation(&text, &options);
        other.restore(&saved).unwrap();
        assert_eq!(path(&mut other).len(), first.len());
        assert_eq!(bits(other.state()), bits(one.state()), "{text}");
    }
}

#[test]
fn a_restart_takes_a_state_as_it_is() {
    let options = Options { until: 1.0, ..Options::default() };
    let mut s = simulation(FOUR_BAR, &options);
    s.advance_to(0.3).unwrap();
    let state = s.state().clone();
    let mut fresh = simulation(FOUR_BAR, &options);
    fresh.restart(&state).unwrap();
    assert_eq!(bits(fresh.state()), bits(&state));
    assert!((fresh.advance_to(0.6).unwrap() - 0.6).abs() < 1e-15);
    // a state of another machine is refused
    assert!(fresh.restart(&State::default()).is_err());
}

#[test]
fn a_controller_in_the_loop_holds_a_height() {
    // a ball kicked up whenever it falls below a height, by a controller outside
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.ball = { mass = 1, inertia = 0.01, at = [0, 1] }
    "#;
    let mut s = simulation(text, &Options { until: 3.0, ..Options::default() });
    let (y, vy) = (s.channel("ball.y").unwrap(), s.channel("ball.vy").unwrap());
    assert!(s.channel("ball.nothing").is_none());
    let mut lowest = f64::INFINITY;
    for k in 1..=300 {
        s.advance_to(0.01 * k as f64).unwrap();
        let height = s.value(y).unwrap();
        lowest = lowest.min(height);
        if height < 1.0 && s.value(vy).unwrap() < 0.0 {
            let mut state = s.state().clone();
            state.v[1] = 2.0;
            s.restart(&state).unwrap();
            assert!((s.value(vy).unwrap() - 2.0).abs() < 1e-15);
        }
    }
    assert!(lowest > 0.95, "{lowest}");
    assert!(s.statistics().steps > 300);
}

#[test]
fn the_equations_can_be_asked_at_any_state() {
    for text in [FOUR_BAR, SPATIAL] {
        let mut s = simulation(text, &Options { until: 0.2, ..Options::default() });
        s.advance_to(0.1).unwrap();
        let (a, lambda) = (s.accelerations().unwrap(), s.reactions().unwrap());
        let (m, g) = (s.mass_matrix(), s.constraint_jacobian());
        assert_eq!((m.rows, m.columns, g.rows, g.columns), (a.len(), a.len(), lambda.len(), a.len()));
        for (i, j, x) in &m.entries {
            assert!((x - m.to_dense().get(*j, *i)).abs() < 1e-14, "M is symmetric");
        }
        // G v is zero on the manifold, and kinetic energy is v·M v / 2
        let v = s.state().v.clone();
        let mut rates = vec![0.0; g.rows];
        g.entries.iter().for_each(|(i, j, x)| rates[*i] += x * v[*j]);
        assert!(rates.iter().all(|r| r.abs() < 1e-9), "{rates:?}");
        let twice: f64 = m.entries.iter().map(|(i, j, x)| v[*i] * x * v[*j]).sum();
        let kinetic = s.channel("energy.kinetic").unwrap();
        assert!((0.5 * twice - s.value(kinetic).unwrap()).abs() < 1e-12 * twice);
    }
}

#[test]
fn equations_of_their_own_have_coordinates_of_their_own() {
    use bellcrank_solve::choices::Coordinates;
    let s = system(FOUR_BAR);
    let machine = Machine::equations("own", s.clone(), &s.initial_state());
    let options = Options { coordinates: Coordinates::Relative, ..Options::default() };
    let refused = Simulation::new(machine, options).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("coordinates of their own"), "{refused}");
}

const MOTOR: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter.mass = 1.5
body.arm = { rod = { from = [0, 0], to = [0, -0.8], mass = "mass" } }
joint.pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
force.motor = { type = "joint-actuator", joint = "pin", effort = "torque" }
input.torque = { unit = "N m" }
"#;

#[test]
fn a_controller_in_the_loop_holds_an_arm_up() {
    for method in [MethodName::Auto, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let step = (method == MethodName::GeneralizedAlpha).then_some(1e-3);
        let mut s = simulation(MOTOR, &Options { method, step, until: 4.0, ..Options::default() });
        let (torque, angle, rate) = (s.input("torque"), s.channel("pin.angle"), s.channel("pin.rate"));
        let (torque, angle, rate) = (torque.unwrap(), angle.unwrap(), rate.unwrap());
        assert!(s.input("speed").is_none());
        for k in 1..=400 {
            s.advance_to(0.01 * k as f64).unwrap();
            let error = 1.0 - s.value(angle).unwrap();
            let effort = 60.0 * error - 8.0 * s.value(rate).unwrap();
            s.set_input(torque, effort).unwrap();
            assert_eq!(s.input_value(torque), effort);
        }
        // what is left is what the weight of the arm bends the controller by
        let (error, weight) = (1.0 - s.value(angle).unwrap(), 1.5 * 9.81 * 0.4);
        // the angle is that of the rod from the horizontal
        let droop = weight * (1.0f64 - error).cos() / 60.0;
        assert!((error - droop).abs() < 1e-3, "{}: {error} {droop}", method.name());
        assert!(s.set_input(torque, f64::NAN).is_err());
    }
}

#[test]
fn an_input_that_is_set_once_is_the_same_number_written_out() {
    let written = MOTOR.replace("effort = \"torque\"", "effort = 3.5").replace("input.torque = { unit = \"N m\" }", "");
    let options = Options { rtol: 1e-9, until: 1.0, ..Options::default() };
    let mut whole = simulation(&written, &options);
    let end = last(&whole.run(&mut Silent), "pin.angle");
    let mut s = simulation(MOTOR, &options);
    let (torque, angle) = (s.input("torque").unwrap(), s.channel("pin.angle").unwrap());
    s.set_input(torque, 3.5).unwrap();
    s.advance_to(1.0).unwrap();
    assert!((s.value(angle).unwrap() - end).abs() < 1e-8, "{} {end}", s.value(angle).unwrap());
}

#[test]
fn a_parameter_changes_while_the_state_stays() {
    let read = |mass: &str| {
        let read = bellcrank_model::read::read_text("arm.toml", MOTOR, &[format!("parameter.mass={mass}")]);
        read.unwrap_or_else(|e| panic!("{e}")).model.into_system()
    };
    let options = Options { until: 1.0, ..Options::default() };
    let mut s = Simulation::new(read("1.5"), options).unwrap();
    let torque = s.input("torque").unwrap();
    s.set_input(torque, 2.0).unwrap();
    s.advance_to(0.5).unwrap();
    let (before, at_rest) = (s.state().clone(), s.accelerations().unwrap());
    s.exchange(read("3.0")).unwrap();
    let moved = s.state().q.iter().zip(&before.q).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(moved < 1e-12 && s.t() == 0.5, "{moved:e}");
    assert!(s.accelerations().unwrap() != at_rest);
    assert_eq!(s.advance_to(1.0).unwrap(), 1.0);
    // another machine is refused
    assert!(s.exchange(system(FOUR_BAR)).is_err());
}

#[test]
fn a_saved_state_goes_through_bytes_into_another_simulation() {
    for (text, options) in cases() {
        let mut first = simulation(&text, &options);
        first.advance_to(0.4 * options.until).unwrap();
        let saved = first.save().unwrap();
        first.advance_to(options.until).unwrap();
        let bytes = saved.to_bytes();
        let mut other = simulation(&text, &options);
        other.restore(&SavedState::from_bytes(&bytes).unwrap()).unwrap();
        other.advance_to(options.until).unwrap();
        assert_eq!(bits(other.state()), bits(first.state()), "{text}");
        assert!(SavedState::from_bytes(&bytes[1..]).is_err() && SavedState::from_bytes(b"").is_err());
    }
}

#[test]
fn a_state_of_another_machine_is_refused() {
    let mut ball = simulation(&example("bouncing-ball"), &Options::default());
    let saved = ball.save().unwrap();
    let error = simulation(FOUR_BAR, &Options::default()).restore(&saved).unwrap_err();
    assert!(error.to_string().contains("another machine"), "{error}");
}

#[test]
fn required_forces_of_the_accelerations_are_the_reactions() {
    let mut s = simulation(FOUR_BAR, &Options::default());
    s.advance_to(0.1).unwrap();
    let (a, lambda, g) = (s.accelerations().unwrap(), s.reactions().unwrap(), s.constraint_jacobian());
    let mut want = vec![0.0; a.len()];
    g.entries.iter().for_each(|&(i, j, x)| want[j] -= x * lambda[i]);
    let found = s.required_forces(&a).unwrap();
    let size = want.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    assert!(found.iter().zip(&want).all(|(f, w)| (f - w).abs() < 1e-9 * size), "{found:?} {want:?}");
    assert!(s.required_forces(&a[1..]).is_err());
}

#[test]
fn whoever_waits_is_asked_after_every_step() {
    let options = Options { until: 1.0, ..Options::default() };
    let mut s = simulation(FOUR_BAR, &options);
    let mut seen = Vec::new();
    s.advance_watched(0.5, &mut |t| seen.push(t)).unwrap();
    assert!(seen.len() > 3 && seen.is_sorted() && seen.last() == Some(&0.5));
}

#[test]
fn a_time_at_which_something_happens_is_not_stepped_past() {
    // a ball was 10 ms beyond the time that was asked for, where that was the time of a bounce to the last digit
    let text = &example("bouncing-ball");
    for method in [MethodName::Auto, MethodName::Dop853, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let options = |until: f64| Options { method, until, rtol: 1e-6, ..Options::default() };
        let mut s = simulation(text, &options(1.0));
        while s.events().is_empty() && s.step().unwrap().is_some() {}
        let mut t = s.events()[0].t.next_down().next_down().next_down();
        for _ in 0..7 {
            let mut s = simulation(text, &options(1.0));
            assert_eq!((s.advance_to(t).unwrap(), s.t()), (t, t), "{}", method.name());
            let summary = simulation(text, &options(t)).run(&mut Silent);
            assert_eq!(summary.t, t, "{}", method.name());
            t = t.next_up();
        }
    }
}
