//! Two masses and a spring between them: how long windows may be.

use crate::claim::{Against, at_most, near};
use crate::report::{Report, Table};
use bellcrank_glue::{Coordinator, Coupling, GlueError, GlueOptions, PartModel, cut};
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, System};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::start::assemble;
use std::sync::Arc;

/// Another program's limits, of which only the stiffnesses are known. Masses of 1 kg and a damping of 10 ms times the stiffness have these limits
/// to 3 %.
pub(super) const DAMPING: f64 = 1e-2;
const KNOWN: [(f64, &str, f64); 3] = [(1e2, "1e2", 2e-2), (1e4, "1e4", 9.7e-3), (1e6, "1e6", 9.7e-5)];

/// Windows of a run.
const WINDOWS: usize = 400;

pub(super) fn two_masses(stiffness: f64) -> Option<Arc<System>> {
    let text = format!(
        "model = {{ plane = \"xy\" }}\n[body]\n\
         a = {{ mass = 1, inertia = 1, at = [0, 0], velocity = [-0.05, 0] }}\n\
         b = {{ mass = 1, inertia = 1, at = [1, 0], velocity = [0.05, 0] }}\n\
         [joint]\nleft = {{ type = \"prismatic\", between = [\"ground\", \"a\"], at = [0, 0], axis = [1, 0] }}\n\
         right = {{ type = \"prismatic\", between = [\"ground\", \"b\"], at = [1, 0], axis = [1, 0] }}\n\
         [force]\nspring = {{ type = \"spring-damper\", between = [\"a\", \"b\"], at = [[0, 0], [1, 0]], \
         stiffness = {stiffness}, damping = {}, length = 1 }}\n",
        DAMPING * stiffness
    );
    Some(Arc::new(read_text("two-masses.toml", &text, &[]).ok()?.model.compile()))
}

/// Cuts a machine at one joint or force and glues it.
pub(super) fn join(system: &Arc<System>, at: &str, options: GlueOptions) -> Option<Coordinator> {
    join_at(system, &[at], options)
}

/// Cuts a machine at joints and forces and glues it.
pub(super) fn join_at(system: &Arc<System>, at: &[&str], options: GlueOptions) -> Option<Coordinator> {
    let coupling = options.coupling;
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, _) = assemble(&dynamics, &system.initial_state()).ok()?;
    let cut = cut(system, &point, at).ok()?;
    let own = Options { method: MethodName::Dopri5, rtol: 1e-9, ..Options::default() };
    let make = |part: PartModel| match coupling {
        Coupling::Windows | Coupling::Explicit => part.with_own_solver(own.clone()),
        coupling => part.in_step(coupling, Options::default().parameters.rho),
    };
    let parts = cut.parts.into_iter().map(make).collect::<Result<Vec<_>, _>>().ok()?;
    Coordinator::new(parts, cut.interface, 0.0, options).ok()
}

/// By how much the oscillation √(2k/m s² + ṡ²) of the stretch s grows from the second quarter of the windows to the
/// last one; zero if it has died out.
pub fn growth(stiffness: f64, coupling: Coupling, window: f64) -> f64 {
    let options = GlueOptions { coupling, window, ..GlueOptions::default() };
    let joined = two_masses(stiffness).and_then(|system| join(&system, "spring", options));
    let Some(mut glued) = joined else { return f64::NAN };
    let mut sizes = Vec::with_capacity(WINDOWS);
    let ended = glued.run(WINDOWS as f64 * window, &mut |c| {
        let [a, b] = c.motions() else { return Err(GlueError::Unfit("there are two ports".into())) };
        let (stretch, rate) = ((b.place - a.place)[0] - 1.0, (b.velocity - a.velocity)[0]);
        let size = (2.0 * stiffness * stretch * stretch + rate * rate).sqrt();
        sizes.push(size);
        if size < 1e6 { Ok(()) } else { Err(GlueError::Unfit("it flies apart".into())) }
    });
    if ended.is_err() || sizes.len() < WINDOWS {
        return f64::INFINITY;
    }
    let largest = |from: usize, to: usize| sizes[from..to].iter().fold(0.0f64, |m, x| m.max(*x));
    let (then, now) = (largest(WINDOWS / 4, WINDOWS / 2), largest(3 * WINDOWS / 4, WINDOWS));
    if now < 1e-5 { 0.0 } else { now / then }
}

/// The longest window for which explicit coupling does not grow, by bisection to 1/2 %.
fn limit(stiffness: f64, (mut stable, mut unstable): (f64, f64)) -> f64 {
    while unstable / stable > 1.005 {
        let middle = f64::sqrt(stable * unstable);
        match growth(stiffness, Coupling::Explicit, middle) <= 1.0 {
            true => stable = middle,
            false => unstable = middle,
        }
    }
    stable
}

/// Where explicit coupling becomes unstable, and that the others do not.
pub fn stability(report: &mut Report, quick: bool) {
    let table = "stability";
    let mut rows = Vec::new();
    for (k, name, known) in KNOWN {
        // s₁ = s + H ṡ − ½H² a, ṡ₁ = ṡ − H a with a = 2(k s + d ṡ)/m: det < 1 and 1 + trace + det > 0
        let theory = f64::min(2.0 * DAMPING, 1.0 / (DAMPING * k));
        let ours = limit(k, if quick { (0.9 * known, 1.1 * known) } else { (1e-5, 1e-1) });
        rows.push(vec![name.into(), format!("{ours:.2e}"), format!("{theory:.2e}"), format!("{known:.1e}")]);
        let what = format!("longest stable window of explicit coupling, k = {name} N/m: min(2d/k, m/d)");
        report.claim(table, Against::Theory, what).asks("window [s]", ours, near(theory, 0.01));
        let what = format!("longest stable window of explicit coupling, k = {name} N/m");
        report.claim(table, Against::Independent, what).asks("window [s]", ours, near(known, 0.04));
    }
    report.tables.push(Table {
        title: "Two masses of 1 kg, a spring k and a damper d = k · 10 ms between them: longest stable window".into(),
        note: "Loads that are held from the start of a window act half a window late: stiffness takes away damping, \
               d − kH/2, and a strong damper turns velocities round within a window, H < m/d. The other program's \
               masses and damping are not known; with these its limits are met to 3 %."
            .into(),
        header: ["k [N/m]", "measured [s]", "min(2d/k, m/d) [s]", "other program [s]"].map(String::from).to_vec(),
        rows,
    });
    let window = 2e-2;
    let stiffnesses = [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
    let stiffnesses = if quick { &stiffnesses[2..] } else { &stiffnesses };
    let couplings = [Coupling::Position, Coupling::Stabilized, Coupling::Windows, Coupling::Explicit];
    let grown: Vec<_> = stiffnesses.iter().map(|k| couplings.map(|c| growth(*k, c, window))).collect();
    let worst = grown.iter().flat_map(|g| &g[..3]).fold(0.0f64, |m, g| if g.is_nan() { f64::NAN } else { m.max(*g) });
    // the mean of two ends damps nothing that is infinitely stiff, nor does it let it grow
    let what = "glued at a fixed window of 20 ms, k = 1e2 … 1e8 N/m, three couplings";
    report.claim(table, Against::Theory, what).asks("largest growth", worst, at_most(1.0 + 1e-6));
    let stiff = || stiffnesses.iter().zip(&grown).filter(|(k, _)| **k >= 1e3);
    let flies = stiff().filter(|(_, g)| g[3] > 1.0).count();
    let what = "explicit at the same window, k = 1e3 … 1e8 N/m";
    report.claim(table, Against::Theory, what).all("stiffnesses at which it grows", flies, stiff().count());
    let cell = |g: f64| if g == f64::INFINITY { "flies apart".to_string() } else { format!("{g:.2}") };
    report.tables.push(Table {
        title: "Growth of the oscillation over 200 windows of 20 ms".into(),
        note: "From the second to the last quarter of 400 windows; 0 where it has died out.".into(),
        header: ["k [N/m]", "position", "stabilized", "windows", "explicit"].map(String::from).to_vec(),
        rows: stiffnesses
            .iter()
            .zip(&grown)
            .map(|(k, g)| std::iter::once(format!("{k:.0e}")).chain(g.iter().map(|g| cell(*g))).collect())
            .collect(),
    });
}
