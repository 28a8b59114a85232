//! The first number that is none: which force, drive or expression it came from, and for which arguments.

use super::*;
use crate::Place;
use crate::dynamics::Lost;
use crate::file::Expression;

/// Numbers beyond this have lost all meaning: what makes them is about to be infinite. Next to a simple pole 1/(t − a) the
/// nearest time gives some 1e16, and a step that collapses before it some 1e13.
const HUGE: f64 = 1e12;

/// Most arguments that are told.
const ARGUMENTS: usize = 6;

/// A time as people write it: next to zero by its power of ten.
fn time(t: f64) -> String {
    if t != 0.0 && t.abs() < 1e-6 { format!("{t:e}") } else { t.to_string() }
}

fn is_lost(x: f64) -> bool {
    x.is_nan() || x.abs() >= HUGE
}

impl System {
    /// The first expression or force whose value is no number at a realized point, with what it depends on.
    pub(super) fn first_lost(&self, at: &Point, w: &Workspace) -> Option<Lost> {
        let drives = self.constraints.iter().enumerate().find_map(|(k, constraint)| {
            let lost = constraint.equations.iter().flat_map(|e| e.courses()).find_map(|e| self.lost(e, true, at))?;
            Some(Lost { subject: self.subject(Unknown::Lambda, k), ..lost })
        });
        drives.or_else(|| (0..self.forces.len()).find_map(|f| self.lost_force(f, at, w)))
    }

    /// What an expression of time and inputs is, where that is no number; of a drive its derivatives too.
    fn lost(&self, of: &Expression, drives: bool, at: &Point) -> Option<Lost> {
        let inputs = &at.charts.inputs;
        let jet = of.jet_with(at.t, inputs);
        let all = [("", jet.value), ("the rate of ", jet.rate), ("the second derivative of ", jet.second)];
        let counts = if drives { all.len() } else { 1 };
        let (what, value) = all.into_iter().take(counts).find(|(_, value)| is_lost(*value))?;
        let names = self.model.inputs.iter().map(|input| input.name.as_str());
        let given = names.zip(inputs).enumerate().filter(|(k, _)| of.uses(k + 1));
        let given: String = given.take(ARGUMENTS).map(|(_, (name, value))| format!(", {name} = {value}")).collect();
        let what = format!("{what}`{}` is {} for t = {} s{given}", of.text(), told(value), time(at.t));
        Some(Lost { what, is_finite: value.is_finite(), ..Lost::default() })
    }

    /// A force with a load that is no number, and what it measures.
    fn lost_force(&self, force: usize, at: &Point, w: &Workspace) -> Option<Lost> {
        let subject = || self.model.subject(Place::Force(force));
        if let Some(lost) = self.forces[force].force.courses().into_iter().find_map(|e| self.lost(e, false, at)) {
            return Some(Lost { subject: subject(), ..lost });
        }
        let table = self.forces[force].force.quantities();
        let mut values = vec![0.0; table.len()];
        let load = self.with_force(force, at, w, |f, seen| {
            let mut loads = [Covector::default(); MAX_ENDS];
            f.force.load(seen, &mut loads[..f.ends.len()]);
            f.force.observe(seen, &mut values);
            let parts = loads.iter().flat_map(|load| [load.lin, load.ang]).flat_map(|x| x.0);
            parts.into_iter().find(|x| is_lost(*x))
        })?;
        let measured = table.iter().zip(&values).filter(|(_, value)| value.is_finite());
        let measured: Vec<String> =
            measured.take(ARGUMENTS).map(|(q, value)| format!("{} = {value} {}", q.name, q.unit)).collect();
        let measured = if measured.is_empty() { String::new() } else { format!(", where {}", measured.join(", ")) };
        let what = format!("its load is {} at t = {} s{measured}", told(load), at.t);
        Some(Lost { subject: subject(), what, is_finite: load.is_finite() })
    }
}

fn told(x: f64) -> String {
    match x {
        x if x.is_nan() => "no number".into(),
        x if x.is_infinite() => "infinite".into(),
        x => format!("{x:.1e}"),
    }
}
