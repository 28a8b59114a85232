//! Waveform relaxation: it converges across soft elements, and not across joints.

mod machines;

use bellcrank_glue::{Coupling, GlueError, GlueOptions, Relaxed};
use bellcrank_solve::FormulationKind::Index3;
use machines::{difference, glued, join, stepped, system, whole};

/// Two pendulums that a spring-damper joins.
fn pendulums(stiffness: f64) -> String {
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

/// A double pendulum whose rods are cut apart at their pin.
fn double(upper: f64, lower: f64) -> String {
    format!(
        r#"
model = {{ plane = "xy", gravity = [0, -9.81] }}
body.upper = {{ rod = {{ from = [0, 0], to = [0.8, -0.6], mass = {upper} }} }}
body.lower = {{ rod = {{ from = [0.8, -0.6], to = [1.6, 0], mass = {lower} }} }}
joint.a = {{ type = "revolute", between = ["ground", "upper"], at = [0, 0] }}
joint.b = {{ type = "revolute", between = ["upper", "lower"], at = [0.8, -0.6] }}
"#
    )
}

fn relaxed(window: f64) -> GlueOptions {
    GlueOptions { coupling: Coupling::Relaxation, window, ..GlueOptions::default() }
}

#[test]
fn across_soft_elements_it_converges_to_the_whole_with_more_exchanges() {
    let machine = system(&pendulums(200.0));
    let reference = whole(&machine, stepped(Index3, 2e-3, 0.4));
    let (by_relaxation, seen) = glued(&machine, &["k"], relaxed(2e-3), &[], 0.4);
    assert!(difference(&reference, &seen) < 1e-9, "{:e}", difference(&reference, &seen));
    let newton = GlueOptions { coupling: Coupling::Position, window: 2e-3, ..GlueOptions::default() };
    let (by_newton, _) = glued(&machine, &["k"], newton, &[], 0.4);
    let [many, few] = [by_relaxation.report().exchanges, by_newton.report().exchanges];
    assert!(many > few, "{many} exchanges against {few}");
}

#[test]
fn its_windows_are_as_short_as_the_element_is_stiff() {
    let diverges = |stiffness: f64, window: f64| {
        let mut c = join(&system(&pendulums(stiffness)), &["k"], relaxed(window), &[]);
        c.run(20.0 * window, &mut |_| Ok(())).err()
    };
    // like h² k: a hundred times the stiffness takes a tenth of the window
    assert_eq!(diverges(1e2, 2e-2), None);
    let stiff = diverges(1e6, 2e-2);
    assert!(matches!(stiff, Some(GlueError::Diverged { relaxed: Some((Relaxed::Forces, _)), .. })), "{stiff:?}");
    let told = stiff.map_or(String::new(), |e| e.to_string());
    assert!(told.contains("use a shorter window, or --coupling stabilized"), "{told}");
    assert_eq!(diverges(1e6, 2e-4), None);
    let newton = GlueOptions { coupling: Coupling::Stabilized, window: 2e-2, ..GlueOptions::default() };
    glued(&system(&pendulums(1e6)), &["k"], newton, &[], 0.4);
}

#[test]
fn across_a_joint_it_diverges_however_short_the_window_and_says_what_helps() {
    for window in [1e-2, 1e-4] {
        let mut c = join(&system(&double(2.0, 1.0)), &["b"], relaxed(window), &[]);
        let error = c.run(20.0 * window, &mut |_| Ok(())).expect_err("diverges");
        let GlueError::Diverged { relaxed: Some((Relaxed::Joints, factor)), ref joint, .. } = error else {
            panic!("{error}")
        };
        assert!(factor > 1.0 && joint.contains('b'), "{factor} at {joint}");
        let told = error.to_string();
        assert!(
            told.contains("use --coupling stabilized") && told.contains("a bushing in place of the joint"),
            "{told}"
        );
    }
}

#[test]
fn a_joint_that_a_light_part_holds_against_a_heavy_one_converges() {
    // the error is multiplied by −Y₂Y₁⁻¹, how easily the second part moves against how easily the first does
    let machine = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.light = { rod = { from = [0.8, -0.6], to = [1.6, 0], mass = 0.1 } }
body.heavy = { rod = { from = [0, 0], to = [0.8, -0.6], mass = 20 } }
joint.a = { type = "revolute", between = ["ground", "heavy"], at = [0, 0] }
joint.b = { type = "revolute", between = ["light", "heavy"], at = [0.8, -0.6] }
"#,
    );
    let reference = whole(&machine, stepped(Index3, 2e-3, 0.1));
    let (_, seen) = glued(&machine, &["b"], relaxed(2e-3), &[], 0.1);
    assert!(difference(&reference, &seen) < 1e-8, "{:e}", difference(&reference, &seen));
}
