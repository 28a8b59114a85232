//! Waveform relaxation (section 2.3): it converges across soft elements, and diverges across joints.

use super::stability::{DAMPING, join, two_masses};
use crate::claim::{Against, at_most, near};
use crate::report::{Report, Table};
use bellcrank_glue::{Coupling, GlueError, GlueOptions};
use bellcrank_model::System;
use bellcrank_model::read::read_text;
use std::sync::Arc;

const TABLE: &str = "relaxation";

/// Iterates until a window is given up: contractions up to 0.98 are seen to converge.
const MOST: usize = 1000;

/// c, β and γ of generalized-α with ρ = 0.8: a unit of acceleration at the end of a step moves positions by cβh² and velocities by cγh.
const LAW: [f64; 3] = [5.0 / 6.0, 25.0 / 81.0, 11.0 / 18.0];

fn options(coupling: Coupling, window: f64) -> GlueOptions {
    GlueOptions { coupling, window, max_attempts: MOST, ..GlueOptions::default() }
}

/// Exchanges per window over so many windows, or why it ended.
fn exchanges(machine: &Arc<System>, at: &str, coupling: Coupling, window: f64) -> Result<f64, Option<GlueError>> {
    let mut glued = join(machine, at, options(coupling, window)).ok_or(None)?;
    glued.run(20.0 * window, &mut |_| Ok(())).map_err(Some)?;
    Ok(glued.report().exchanges as f64 / glued.report().windows as f64)
}

/// The longest window that relaxation converges in, by bisection to 1/2 %.
fn limit(machine: &Arc<System>, theory: f64) -> f64 {
    let (mut good, mut bad) = (0.5 * theory, 2.0 * theory);
    while bad / good > 1.005 {
        let middle = f64::sqrt(good * bad);
        match exchanges(machine, "spring", Coupling::Relaxation, middle) {
            Ok(_) => good = middle,
            Err(_) => bad = middle,
        }
    }
    good
}

/// Two free bodies pinned at their centres, one of them on a spring.
pub(super) fn pinned(first: f64, second: f64) -> Option<Arc<System>> {
    let text = format!(
        "model = {{ plane = \"xy\" }}\n\
         body.a = {{ mass = {first}, inertia = 1, at = [0, 0] }}\nbody.b = {{ mass = {second}, inertia = 1, at = [0, 0] }}\n\
         joint.pin = {{ type = \"revolute\", between = [\"a\", \"b\"], at = [0, 0] }}\n\
         force.spring = {{ type = \"spring-damper\", between = [\"ground\", \"b\"], at = [[-2, 0], [0, 0]], stiffness = 50, \
         length = 1 }}\n"
    );
    Some(Arc::new(read_text("pinned.toml", &text, &[]).ok()?.model.compile()))
}

/// Relaxation across a spring and across a pin.
pub(super) fn relaxation(report: &mut Report) {
    let [c, beta, gamma] = LAW;
    let mut rows = Vec::new();
    for k in [1e2, 1e4, 1e6] {
        let Some(machine) = two_masses(k) else { continue };
        // two masses of 1 kg: 2c(kβH² + dγH) = 1
        let (a, b) = (2.0 * c * k * beta, 2.0 * c * DAMPING * k * gamma);
        let theory = ((b * b + 4.0 * a).sqrt() - b) / (2.0 * a);
        let ours = limit(&machine, theory);
        let what = format!("longest window of relaxation, k = {k:.0e} N/m: 2c(kβH² + dγH) = m");
        report.claim(TABLE, Against::Theory, what).asks("window [s]", ours, near(theory, 0.05));
        let count = |coupling, part: f64| exchanges(&machine, "spring", coupling, part * ours).unwrap_or(f64::NAN);
        let [tenth, half, newton] =
            [count(Coupling::Relaxation, 0.1), count(Coupling::Relaxation, 0.5), count(Coupling::Position, 0.5)];
        let cells = [tenth, half, newton].map(|x| format!("{x:.1}"));
        rows.push(
            [format!("{k:.0e}"), format!("{ours:.2e}"), format!("{theory:.2e}")].into_iter().chain(cells).collect(),
        );
        let what = format!("with admittances, at half that window, k = {k:.0e} N/m");
        report.claim(TABLE, Against::Ours, what).asks("exchanges per window", newton, at_most(2.2));
    }
    report.tables.push(Table {
        title: "Waveform relaxation across a spring and a damper between two masses of 1 kg".into(),
        note: "The longest window H that it converges in, and exchanges per window at 0.1 H, at 0.5 H, and with admittances at 0.5 H."
            .into(),
        header: ["k [N/m]", "H [s]", "theory [s]", "at 0.1 H", "at 0.5 H", "admittances"].map(String::from).to_vec(),
        rows,
    });
    let mut rows = Vec::new();
    for (first, second) in [(4.0, 1.0), (2.0, 1.0), (1.0, 2.0), (1.0, 4.0)] {
        let Some(machine) = pinned(first, second) else { continue };
        let ended = exchanges(&machine, "pin", Coupling::Relaxation, 1e-3);
        let newton = exchanges(&machine, "pin", Coupling::Position, 1e-3).unwrap_or(f64::NAN);
        let factor = match &ended {
            Err(Some(GlueError::Diverged { relaxed: Some((_, factor)), .. })) => *factor,
            _ => f64::NAN,
        };
        if first > second {
            let what = format!("across a pin of {first} kg and {second} kg the gap grows by m₁/m₂ with every iterate");
            let claim = report.claim(TABLE, Against::Theory, what);
            claim.asks("factor", factor, near(first / second, 0.01)).paper("lead to iteration divergence");
        }
        let cell = ended.map_or_else(|_| format!("diverges, × {factor:.2}"), |n| format!("{n:.1}"));
        rows.push(vec![format!("{first}"), format!("{second}"), cell, format!("{newton:.1}")]);
    }
    report.tables.push(Table {
        title: "Waveform relaxation across a pin: exchanges per window of 1 ms".into(),
        note: "The first part holds the pin against the last motion of the second, which gets the reaction: the gap is multiplied by \
               −m₁/m₂. A shorter window changes nothing; admittances of both parts (--coupling position or stabilized) do."
            .into(),
        header: ["m₁ [kg]", "m₂ [kg]", "relaxation", "admittances"].map(String::from).to_vec(),
        rows,
    });
}
