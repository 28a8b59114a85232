//! The iteration `auto` against CS and CM, on every problem of the papers.

use super::problems::{PointMass, TwoBody};
use super::strings;
use crate::claim::{Against, at_least, at_most};
use crate::parallel;
use crate::report::{Report, Table};
use crate::study::{Preset, Setting, consistent, own, run};
use bellcrank_model::{Dynamics, State};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Machine, Simulation, Status};
use std::sync::Arc;

/// The coordinates at the end by an explicit method of order 8. Where the motion does not depend on ε (S1c, table 4), the
/// equations of motion do not either, once λ is eliminated.
fn tight(dynamics: &Arc<dyn Dynamics>, q: &[f64], v: &[f64], until: f64) -> Option<Vec<f64>> {
    let state = State { q: q.to_vec(), v: v.to_vec(), ..State::default() };
    let options = Options { method: MethodName::Dop853, rtol: 1e-11, until, ..Options::default() };
    let mut simulation = Simulation::new(Machine::equations("reference", dynamics.clone(), &state), options).ok()?;
    let summary = simulation.run(&mut Silent);
    (summary.status == Status::Finished).then(|| simulation.state().q.clone())
}

/// A problem of the comparison.
struct Problem {
    name: String,
    dynamics: Arc<dyn Dynamics>,
    q: Vec<f64>,
    v: Vec<f64>,
    until: f64,
    /// Where it ends, where that is known.
    end: Option<Vec<f64>>,
    /// Of an oscillation that nothing damps: the lowest order whose errors can be shared in less than a million steps.
    followed: Option<usize>,
}

/// CS, CM and `auto` at one order and tolerance, and where nothing is damped `auto` with shared errors.
struct Race {
    order: usize,
    tolerance: f64,
    evaluations: [usize; 3],
    finished: bool,
    /// CM ends elsewhere than CS and `auto` do: it has converged falsely.
    astray: bool,
    /// Of CS and `auto`, at the end.
    errors: [f64; 2],
    shared: Option<(usize, f64)>,
}

/// Where hundreds of periods are followed, errors are shared with orders up to this one alone.
const MANY: usize = 5;

impl Problem {
    fn all(quick: bool) -> Vec<Problem> {
        let mut all = Vec::new();
        let mut add = |name: String, dynamics, q: &[f64], v: &[f64], until, end: &Option<Vec<f64>>, followed| {
            all.push(Problem { name, dynamics, q: q.to_vec(), v: v.to_vec(), until, end: end.clone(), followed });
        };
        let (q, v) = TwoBody::start();
        let (at, rest) = ([1.0, 0.0], [0.0; 2]);
        // where the motion does not depend on ε, the softest spring has the least rounding
        let circle = tight(&own(PointMass::s1c(1e-2)), &at, &rest, 1.0);
        let two_body = tight(&own(TwoBody::with_stiffness(1e2)), &q, &v, 0.5);
        for epsilon in [1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
            add(format!("S1c, ε = {epsilon:e}"), own(PointMass::s1c(epsilon)), &at, &rest, 1.0, &circle, None);
            if epsilon >= if quick { 1e-2 } else { 1e-6 } {
                for angle in [-0.25f64, 0.2] {
                    let least = Some(if epsilon < 1e-5 { MANY } else { 2 });
                    let (q, from) = ([angle.cos(), angle.sin()], format!("from {angle}, ε = {epsilon:e}"));
                    let [a, b] = [own(PointMass::s1a(epsilon)), own(PointMass::s1b(epsilon))];
                    add(format!("S1a {from}"), a, &q, &rest, 2.0, &None, least);
                    add(format!("S1b {from}"), b, &q, &rest, 2.0, &None, least);
                }
            }
            let stiff = own(TwoBody::with_stiffness(1.0 / epsilon));
            add(format!("table 4, ε = {epsilon:e}"), stiff, &q, &v, 0.5, &two_body, None);
        }
        all
    }

    /// All orders and tolerances.
    fn races(&self, tolerances: &[f64], max_steps: usize) -> Vec<Race> {
        let Some(start) = consistent(&self.dynamics, &self.q, &self.v) else { return Vec::new() };
        let known = self.end.clone().or_else(|| tight(&self.dynamics, &self.q, &self.v, self.until));
        let Some(exact) = known else { return Vec::new() };
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        let race = |order: usize, tolerance: f64| {
            let go = |preset: Preset, shared| {
                let max_steps = if shared { MOST_SHARED } else { max_steps };
                let setting = Setting { as_dassl: false, max_steps, shared, ..preset.setting(tolerance, order) };
                run(&self.dynamics, &start, self.until, None, &setting)
            };
            let [cs, cm, ours] = [Preset::Cs, Preset::Cm, Preset::Auto].map(|p| go(p, false));
            let agree = apart(&cs.last.q, &ours.last.q);
            let shared = self.followed.filter(|least| order >= *least).map(|_| {
                let o = go(Preset::Auto, true);
                let error = if o.finished { apart(&o.last.q, &exact) } else { f64::INFINITY };
                (o.statistics.residual_evaluations, error)
            });
            Race {
                order,
                tolerance,
                evaluations: [&cs, &cm, &ours].map(|o| o.statistics.residual_evaluations),
                finished: ours.finished,
                astray: !cm.finished || apart(&cm.last.q, &ours.last.q) > (20.0 * agree).max(20.0 * tolerance),
                errors: [&cs, &ours].map(|o| apart(&o.last.q, &exact)),
                shared,
            }
        };
        [2, 5].iter().flat_map(|order| tolerances.iter().map(|t| race(*order, *t))).collect()
    }
}

/// Most steps of a run with shared errors.
const MOST_SHARED: usize = 1_500_000;

/// All problems for `auto` against CS and CM, our own control, the same test for all.
pub(super) fn auto(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "auto against CS and CM: residual evaluations with our own control, errors tested alike".into(),
        note: "Where CM takes fewer it is said whether it came to the right end: an iteration that contracts slowly can pass the \
               convergence test far from the solution. S1a and S1b are not damped, and with the velocities tested the \
               oscillation is followed, for 318 periods at ε = 1e-6. A BDF of order k lags behind by O(h^k) in every period, so the \
               error at the end goes with TOL^{k/(k+1)} times the number of periods: with orders ≤ 2 error/TOL grows by 2.2 for \
               every decade, whatever the iteration, when every step may err by TOL. For such motions errors can be shared \
               (--errors run): a step may then err by min(1, 10 h/T) TOL, so that all of them together stay below 10 TOL and a factor of ten is left for growth. The last \
               two columns are auto with shared errors, – where that would take millions of steps: orders ≤ 2 at ε = 1e-6. From 0.2 \
               the amplitude is half a radian, and the period depends on it: an error of the amplitude shifts the phase more \
               with every period, and errors add up twice."
            .into(),
        header: strings(&[
            "problem",
            "order",
            "TOL",
            "CS",
            "CM",
            "auto",
            "auto/best",
            "error of CS/TOL",
            "error of auto/TOL",
            "auto, shared",
            "error/TOL",
        ]),
        rows: Vec::new(),
    };
    let tolerances: &[f64] = if quick { &[1e-3, 1e-5] } else { &[1e-3, 1e-4, 1e-5, 1e-6] };
    let problems = Problem::all(quick);
    let races = parallel::map(&problems, |p| p.races(tolerances, if quick { 1500 } else { 1_000_000 }));
    let mut undamped = Undamped::default();
    for (problem, race) in problems.iter().zip(&races).flat_map(|(p, races)| races.iter().map(move |r| (p, r))) {
        table.rows.push(race.row(problem));
        race.claim(report, problem);
        if problem.followed.is_some() {
            undamped.count(race);
        }
    }
    undamped.claim(report);
    report.tables.push(table);
}

/// The runs of S1a and S1b, which nothing damps.
#[derive(Default)]
struct Undamped {
    runs: usize,
    /// Runs of CS, `auto` and `auto` with shared errors that end within 100 TOL.
    near: [usize; 3],
    /// Σ ln(error of `auto` / error of CS).
    log_ratios: f64,
}

impl Undamped {
    fn count(&mut self, race: &Race) {
        let most = 100.0 * race.tolerance;
        self.runs += 1;
        (0..2).for_each(|i| self.near[i] += (race.errors[i] <= most) as usize);
        self.near[2] += race.shared.is_some_and(|s| s.1 <= most) as usize;
        self.log_ratios += (race.errors[1] / race.errors[0]).ln();
    }

    fn claim(&self, report: &mut Report) {
        let (runs, near) = (self.runs, self.near);
        let mean = (self.log_ratios / runs as f64).exp();
        let what =
            format!("S1a and S1b, {runs} runs, every step within TOL: error of auto by that of CS, geometric mean");
        report.claim("auto", Against::Ours, what).asks("error by that of CS", mean, at_most(1.25));
        let what = format!("S1a and S1b, {runs} runs that end within 100 TOL");
        let claim = report.claim("auto", Against::Ours, what);
        claim.asks("auto by CS", near[1] as f64 / near[0] as f64, at_least(0.8));
        claim.asks("auto with shared errors by auto", near[2] as f64 / near[1] as f64, at_least(1.0));
    }
}

impl Race {
    /// Evaluations of `auto` by those of the better of CS and CM, where CM came to the right end.
    fn ratio(&self) -> f64 {
        let f = self.evaluations;
        let best = if self.astray { f[0] } else { f[0].min(f[1]) };
        f[2] as f64 / best as f64
    }

    fn cm_shown(&self) -> String {
        let f = self.evaluations[1];
        if self.astray { format!("{f} (astray)") } else { f.to_string() }
    }

    fn row(&self, problem: &Problem) -> Vec<String> {
        let (f, tolerance) = (self.evaluations, self.tolerance);
        let units = |error: f64| format!("{:.1}", error / tolerance);
        let (shared, shared_error) =
            self.shared.map_or(("–".into(), "–".into()), |(f, e)| (f.to_string(), units(e)));
        vec![
            problem.name.clone(),
            self.order.to_string(),
            format!("{tolerance:e}"),
            f[0].to_string(),
            self.cm_shown(),
            f[2].to_string(),
            format!("{:.2}", self.ratio()),
            units(self.errors[0]),
            units(self.errors[1]),
            shared,
            shared_error,
        ]
    }

    fn claim(&self, report: &mut Report, problem: &Problem) {
        let (f, tolerance) = (self.evaluations, self.tolerance);
        let what = format!("{}, order ≤ {}, TOL {tolerance:e}", problem.name, self.order);
        let counts = format!("{} evaluations against CS {}, CM {}", f[2], f[0], self.cm_shown());
        let claim = report.claim("auto", Against::Ours, format!("{what}: {counts}"));
        claim.all("runs that finished", self.finished as usize, 1);
        claim.asks("evaluations by those of the best", self.ratio(), at_most(1.10));
        let (how, error) = match (problem.followed, self.shared) {
            (None, _) => ("", self.errors[1]),
            (Some(_), Some((_, error))) => (" with shared errors", error),
            (Some(_), None) => return,
        };
        let what = format!("{what}: error of auto{how} at the end");
        // every step may err by TOL, and steps of order 2 are TOL^(1/3) long: their errors add up to TOL^(2/3)
        let (quantity, ours, most) = match (problem.followed, self.order) {
            (None, 2) => ("error/TOL^(2/3)", error / tolerance.powf(2.0 / 3.0), 0.4),
            (None, _) => ("error/TOL", error / tolerance, 20.0),
            // 318 periods, which from 0.2 depend on the amplitude: errors add up twice
            (Some(MANY), _) => ("error/TOL, shared, over 318 periods", error / tolerance, 100.0),
            (Some(_), _) => ("error/TOL, shared", error / tolerance, 12.0),
        };
        report.claim("auto", Against::Ours, what).asks(quantity, ours, at_most(most));
    }
}
