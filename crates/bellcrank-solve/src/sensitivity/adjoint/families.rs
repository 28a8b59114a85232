//! Parameters that share a pair of neighbours: where each changes rows of its own, the difference of two models in which all of them differ
//! tells them apart, so that a thousand parameters cost a handful of pairs [Curtis, Powell & Reid 1974].
//!
//! That holds for the masses of bodies and for forces, whose rows the model tells; outputs, starts and events mix what differs. Whether a
//! family keeps to its rows is looked at with its first imbalance, and where anything else differs its parameters go alone.

use super::super::moves::Move;
use super::super::neighbours::{Imbalance, Pair};
use super::super::tangent::Tangent;
use super::super::{FAR, Member, Members, SensitivityError};
use super::equations::dot;
use crate::choices::{Coordinates, Options};
use crate::run::Simulation;
use bellcrank_model::dynamics::{Layout, Switching};
use bellcrank_model::system::ReachedRows;
use bellcrank_model::{Point, System};
use std::collections::HashSet;
use std::sync::Arc;

/// Parameters with the pair of models in which they differ.
pub(super) struct Siblings<'a> {
    pub pair: Pair<'a>,
    pub members: Vec<Relative>,
}

/// A parameter in a family.
pub(super) struct Relative {
    /// Its number.
    pub number: usize,
    /// What differences are to be multiplied with: one where it is alone.
    pub factor: f64,
    /// The rows that it changes; all where it is alone.
    rows: Option<ReachedRows>,
}

impl Relative {
    /// The part of a sum over rows of bodies that is its own.
    pub fn of_bodies(&self, layout: &Layout, x: &[f64], y: &[f64]) -> f64 {
        let over = |b: &usize| dot(&x[layout.bodies[*b].clone()], &y[layout.bodies[*b].clone()]);
        self.factor * self.rows.as_ref().map_or_else(|| dot(x, y), |rows| rows.bodies.iter().map(over).sum())
    }

    /// The same over rows of states.
    pub fn of_states(&self, layout: &Layout, x: &[f64], y: &[f64]) -> f64 {
        let over = |k: &usize| dot(&x[layout.states[*k].clone()], &y[layout.states[*k].clone()]);
        self.factor * self.rows.as_ref().map_or_else(|| dot(x, y), |rows| rows.states.iter().map(over).sum())
    }

    /// The same over rows of constraints, which are nobody's in a family.
    pub fn of_constraints(&self, x: &[f64], y: &[f64]) -> f64 {
        if self.rows.is_some() { 0.0 } else { self.factor * dot(x, y) }
    }
}

impl Siblings<'_> {
    /// Whether it has more than one parameter.
    pub fn is_shared(&self) -> bool {
        self.members.iter().any(|of| of.rows.is_some())
    }
}

/// Families of parameters, with the tangents of their starts.
pub(super) type Families<'a> = (Vec<Siblings<'a>>, Vec<Tangent>);

/// Every parameter with a pair of its own.
pub(super) fn alone<'a>(
    members: &'a Members<'a>,
    options: &Options,
    nominal: &Simulation,
) -> Result<Families<'a>, SensitivityError> {
    let (mut families, mut starts) = (Vec::new(), Vec::new());
    for number in 0..members.list.len() {
        let (pair, start) = Pair::new(members, &[number], options, nominal)?;
        families.push(Siblings { pair, members: vec![Relative { number, factor: 1.0, rows: None }] });
        starts.push(start);
    }
    Ok((families, starts))
}

/// Families as large as they may be; nothing where parameters must go alone.
pub(super) fn shared<'a>(
    system: &System,
    members: &'a Members<'a>,
    options: &Options,
    nominal: &Simulation,
) -> Option<Families<'a>> {
    let dynamics = &**nominal.equations();
    let mixes = dynamics.recursive() || dynamics.may_follow().is_some();
    if nominal.plan().coordinates != Coordinates::Cartesian || mixes {
        return None;
    }
    let rows: Vec<ReachedRows> = members
        .list
        .iter()
        .map(|of: &Member| of.reach.as_ref().and_then(|reach| system.reached(&reach.bodies, &reach.forces)))
        .collect::<Option<_>>()?;
    let layout = dynamics.layout();
    let seen: Vec<String> = system.model.outputs.iter().flat_map(|output| output.channels.clone()).collect();
    let mut families = Vec::new();
    let none = || Tangent { q: vec![0.0; layout.n()], v: vec![0.0; layout.n()], z: vec![0.0; layout.nz()] };
    for group in coloured(&rows, layout.bodies.len(), layout.states.len()) {
        let reaches = || group.iter().filter_map(|k| members.list[*k].reach.as_ref());
        let trim = |model: Arc<System>| without_others(model, reaches().flat_map(|reach| &reach.forces), &seen);
        // the start of a family is nobody's
        let (mut pair, start) = Pair::trimmed(members, &group, options, nominal, &trim).ok()?;
        if start.size() != 0.0 || !keeps_to_rows(&mut pair, group.iter().map(|k| &rows[*k]), nominal) {
            return None;
        }
        let shares = group.len() > 1;
        let relative = |number: &usize| Relative {
            number: *number,
            factor: if shares { 1.0 / (FAR * members.list[*number].delta) } else { 1.0 },
            rows: shares.then(|| rows[*number].clone()),
        };
        families.push(Siblings { pair, members: group.iter().map(relative).collect() });
    }
    Some((families, members.list.iter().map(|_| none()).collect()))
}

/// A model without the forces that are the same in both of a pair, which their difference does not see; but with those that outputs see.
fn without_others<'r>(system: Arc<System>, forces: impl Iterator<Item = &'r String>, seen: &[String]) -> Arc<System> {
    let model = &system.model;
    let counted = |system: &System| system.initial_state().charts.angles.len();
    if !model.signals.is_empty() || system.layout().nz() > 0 || system.switches() > 0 {
        return system;
    }
    let wanted: HashSet<&str> = forces.map(String::as_str).collect();
    let mut model = model.clone();
    model.forces.retain(|force| {
        let sees = |channel: &String| channel.strip_prefix(&force.name).is_some_and(|rest| rest.starts_with('.'));
        wanted.contains(force.name.as_str()) || seen.iter().any(sees)
    });
    let trimmed = model.into_system();
    // angles that forces count have their places in the charts
    if counted(&trimmed) == counted(&system) { Arc::new(trimmed) } else { system }
}

/// Whether what a run did leaves families as they are: neighbours that run themselves through events mix what differs.
pub(super) fn may_stay(families: &[Siblings<'_>], moves: &[Move]) -> bool {
    !families.iter().any(Siblings::is_shared) || !moves.iter().any(|next| matches!(next, Move::Cross(_)))
}

/// Groups of which no two members have rows in common.
fn coloured(rows: &[ReachedRows], bodies: usize, states: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // the groups that have something in a row
    let mut taken = vec![Vec::new(); bodies + states];
    for (number, rows) in rows.iter().enumerate() {
        let places = || rows.bodies.iter().copied().chain(rows.states.iter().map(|k| bodies + k));
        let free = |group: &usize| !places().any(|place| taken[place].contains(group));
        let group = (0..groups.len()).find(free).unwrap_or(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(number);
        places().for_each(|place| taken[place].push(group));
    }
    groups
}

/// Whether nothing differs at the start but the rows of a family.
fn keeps_to_rows<'r>(pair: &mut Pair<'_>, rows: impl Iterator<Item = &'r ReachedRows>, nominal: &Simulation) -> bool {
    let layout = nominal.equations().layout();
    let (n, nz) = (layout.n(), layout.nz());
    let zeros = |n: usize| vec![0.0; n];
    let mut parts = Imbalance { load: zeros(n), rows: zeros(layout.m()), qdot: zeros(n), zdot: zeros(nz) };
    let at = Point { vdot: vec![1.0; n], lambda: vec![1.0; layout.m()], ..Point::at(nominal.state(), layout) };
    if pair.imbalance(&at, (&zeros(n), &zeros(n), &zeros(nz)), false, &mut parts).is_err() {
        return false;
    }
    for rows in rows {
        rows.bodies.iter().for_each(|b| parts.load[layout.bodies[*b].clone()].fill(0.0));
        rows.states.iter().for_each(|k| parts.zdot[layout.states[*k].clone()].fill(0.0));
    }
    [&parts.load, &parts.rows, &parts.qdot, &parts.zdot].into_iter().flatten().all(|x| *x == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_a_colour_share_a_row() {
        let rows: Vec<ReachedRows> =
            (0..100).map(|k| ReachedRows { bodies: vec![k / 3, k / 3 + 1], states: vec![k % 7] }).collect();
        let groups = coloured(&rows, 40, 7);
        let mut seen = 0;
        for group in &groups {
            let mut places: Vec<usize> = group
                .iter()
                .flat_map(|k| rows[*k].bodies.iter().copied().chain(rows[*k].states.iter().map(|s| 40 + s)))
                .collect();
            let all = places.len();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), all);
            seen += group.len();
        }
        assert_eq!(seen, 100);
    }
}
