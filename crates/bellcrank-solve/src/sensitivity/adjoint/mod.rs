//! Gradients by many parameters: the way of the tangents, backwards.
//!
//! Tangents obey a linear recursion along the accepted steps of a run, s⁺ = Φ s + b_p, and a measure's derivative is a linear function of them,
//! Σ wᵀ s + w_p. Instead of carrying one s for each parameter forwards, ŝ = Φᵀ ŝ⁺ + w is carried backwards once for each measure, and
//!
//! ```text
//!     dJ/dp = ŝ₀ᵀ s₀ + Σ ( ŝ⁺ᵀ b_p + w_p )
//! ```
//!
//! It is the transpose of what [`sensitivities`](super::sensitivities) computes, step by step, so that both agree to the rounding of differences.
//! The states of all accepted steps are kept; stages are computed anew on the way back. A parameter costs its start, and two values of
//! the equations for each stage or point: nothing is factored or solved for it. Parameters that change rows of their own share these (`families`).
//!
//! The method of the run must be one of one step: generalized-α and its kin, whose points are followed by the law of second order that the
//! forward way takes, or an explicit one, stage by stage. Bdf is refused, with what to use.
//!
//! **Events.** A way through events is a smooth map of the state before them. Its derivatives along all admissible directions, and by the
//! parameters, are differences of tight runs from one side to the other, as forwards.

mod crossing;
mod equations;
mod families;
mod points;
mod stages;

use super::along::Along;
use super::measures::{Functional, Measure, Measured};
use super::moves::{Move, Smooth};
use super::neighbours::{SIGNS, refused};
use super::one_step::OneStep;
use super::tangent::{Tangent, add, directions};
use super::{Asked, Members, Sensitivities, SensitivityError, Varied, check_outputs, unsolved};
use crate::analyses::begin;
use crate::choices::{MethodName, Options};
use crate::engines::Statistics;
use crate::plan::EnginePlan;
use crate::run::Simulation;
use bellcrank_model::dynamics::{Ahead, Break};
use bellcrank_model::file::expression::Jet;
use bellcrank_model::model::Output;
use bellcrank_model::{State, System};
use equations::Equations;
use families::{Families, Siblings, alone, may_stay, shared};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Measures of a run with their gradients.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// Their values.
    pub values: Vec<f64>,
    /// The measures, in the order in which they were asked for.
    pub measured: Vec<Measured>,
    /// The name of the method.
    pub method: &'static str,
    /// Work of the run itself.
    pub statistics: Statistics,
    /// Events that were crossed.
    pub events: usize,
}

/// Runs a model once, and computes the gradients of measures of its outputs by any number of parameters on the way back.
pub fn gradients(
    system: &Arc<System>,
    varied: &[Varied],
    of: &[(String, Measure)],
    options: &Options,
) -> Result<Gradients, SensitivityError> {
    gradients_of(system, &Members::of(varied), of, options)
}

/// The same for parameters whose models are made when they are needed: of those whose reach is known, many share two.
pub fn gradients_of(
    system: &Arc<System>,
    members: &Members<'_>,
    of: &[(String, Measure)],
    options: &Options,
) -> Result<Gradients, SensitivityError> {
    let mut outputs: Vec<String> = Vec::new();
    of.iter().for_each(|(name, _)| {
        if !outputs.contains(name) {
            outputs.push(name.clone())
        }
    });
    check_outputs(system, &outputs)?;
    let over_time = of.iter().any(|(_, measure)| *measure != Measure::Final);
    let asked = Asked { outputs, over_time };
    let nobody = Members::of(&[]);
    let options = Along::new(system, &nobody, &asked, options)?.options().clone();
    let mut nominal = begin::simulation(system, options.clone())?;
    check_method(&nominal)?;
    if let Some(families) = shared(system, members, &options, &nominal)
        && let Some(found) = way_back(system, (members, families), (of, &asked), &options, &mut nominal)?
    {
        return Ok(found);
    }
    let families = alone(members, &options, &nominal)?;
    let found = way_back(system, (members, families), (of, &asked), &options, &mut nominal)?;
    found.ok_or(SensitivityError::Interrupted)
}

/// The run and the way back over it; nothing where parameters turned out to need pairs of their own.
fn way_back(
    system: &Arc<System>,
    (members, (mut families, mut tangents)): (&Members<'_>, Families<'_>),
    (of, asked): (&[(String, Measure)], &Asked),
    options: &Options,
    nominal: &mut Simulation,
) -> Result<Option<Gradients>, SensitivityError> {
    let nobody = Members::of(&[]);
    let along = Along::new(system, &nobody, asked, options)?;
    let start = nominal.state().clone();
    let moving = moving_breaks(nominal, &mut families, options.until);
    if !families.iter().any(Siblings::is_shared) {
        let mut route = OneStep::new(nominal.equations(), &start);
        for (family, tangent) in families.iter_mut().zip(&mut tangents) {
            let of = std::slice::from_mut(&mut family.pair);
            route.project(&start, of, std::slice::from_mut(tangent)).map_err(|e| unsolved(start.t, e))?;
        }
    }
    let (run, found, moves) = along.note(moving)?;
    check_method(&run)?;
    if !may_stay(&families, &moves) {
        return Ok(None);
    }
    let places = |name: &String| found.outputs.iter().position(|o| o.name == *name).unwrap_or(0);
    let places: Vec<usize> = of.iter().map(|(name, _)| places(name)).collect();
    let functionals: Vec<Functional> =
        of.iter().zip(&places).map(|((_, measure), k)| found.functional(*k, *measure)).collect::<Result<_, _>>()?;
    let end = run.state().clone();
    let seen = OutputSources::new(system, &asked.outputs, options)?;
    let asked_and_found = (asked, &found, members.list.len());
    let mut back = Back::new((system, seen, options.clone()), asked_and_found, (&functionals, places), families, &end)?;
    back.go(&moves, end)?;
    if back.mixed {
        return Ok(None);
    }
    let measured = functionals.iter().zip(back.finish(&tangents)).map(|(of, derivatives)| Measured {
        value: of.value,
        derivatives,
        at: of.at,
    });
    Ok(Some(Gradients {
        parameters: members.list.iter().map(|of| of.name.clone()).collect(),
        values: members.list.iter().map(|of| of.value).collect(),
        measured: measured.collect(),
        method: found.method,
        statistics: found.statistics,
        events: found.events,
    }))
}

/// Refuses methods that remember more than one point.
fn check_method(run: &Simulation) -> Result<(), SensitivityError> {
    let method = run.plan().method();
    let one_step = match &run.plan().engine {
        EnginePlan::Implicit(_) => method.is_some_and(|method| method != MethodName::Bdf),
        _ => true,
    };
    match one_step {
        true => Ok(()),
        false => Err(SensitivityError::Method { method: method.map_or("kinematic", MethodName::name) }),
    }
}

/// The breakpoints in time up to the end of a run, from a state on.
fn breaks(run: &mut Simulation, from: &State, until: f64) -> Vec<Break> {
    run.forget_breaks();
    let (mut at, mut found) = (from.clone(), Vec::new());
    while at.t < until {
        match run.breaks_ahead(&at, until) {
            Ahead::Break(b) => {
                at.t = b.after;
                found.push(b);
            }
            Ahead::Clear(to) if to <= at.t => break,
            Ahead::Clear(to) => at.t = to,
        }
    }
    run.forget_breaks();
    found
}

/// The breakpoints of a run that stand elsewhere for a neighbour.
fn moving_breaks(nominal: &mut Simulation, families: &mut [Siblings<'_>], until: f64) -> Vec<Break> {
    let start = nominal.state().clone();
    let mut moving = breaks(nominal, &start, until);
    let mut fixed = moving.clone();
    for side in families.iter_mut().flat_map(|family| &mut family.pair.far) {
        let theirs = breaks(&mut side.run, &start, until);
        let same = |b: &Break| theirs.iter().any(|o| (o.before, o.after) == (b.before, b.after));
        fixed.retain(same);
    }
    moving.retain(|b| !fixed.contains(b));
    moving
}

/// Adjoints of a state, one for each measure.
type Adjoints = Vec<Tangent>;

/// What outputs are computed from: their channels, which are differenced, and their expressions, which have exact derivatives. (The angle
/// acos(−z/l) of a pendulum that hangs is exact to nobody's differences.)
struct OutputSources {
    /// It observes the channels.
    run: Simulation,
    outputs: Vec<Output>,
    /// Where the variables of each stand among the channels.
    places: Vec<Vec<usize>>,
}

impl OutputSources {
    fn new(system: &Arc<System>, names: &[String], options: &Options) -> Result<OutputSources, SensitivityError> {
        let known = &system.model.outputs;
        let outputs: Vec<Output> = known.iter().filter(|o| names.contains(&o.name)).cloned().collect();
        let mut channels: Vec<String> = outputs.iter().flat_map(|o| o.channels.clone()).collect();
        channels.sort();
        channels.dedup();
        let run = begin::simulation(system, options.clone().with(|o| o.record = channels))?;
        let header = run.header().channels;
        let place = |name: &String| header.iter().position(|c| c.name == *name).unwrap_or(usize::MAX);
        let places = outputs.iter().map(|o| o.channels.iter().map(place).collect()).collect();
        Ok(OutputSources { run, outputs, places })
    }

    /// ∂u/∂(channel) at a state, of each output: channels with their weights.
    fn slopes(&mut self, at: &State) -> Result<Vec<Vec<(usize, f64)>>, SensitivityError> {
        let channels = self.run.observe_at(at)?.to_vec();
        let of = |output: &Output, places: &Vec<usize>| {
            let known = |v: usize| if v == 0 { at.t } else { places.get(v - 1).map_or(f64::NAN, |k| channels[*k]) };
            let along = |along: usize| {
                let variable = |v: usize| if v == along { Jet::variable(known(v)) } else { Jet::constant(known(v)) };
                let variables: Vec<Jet> = (0..=places.len()).map(variable).collect();
                output.value.jet_of(&variables).rate
            };
            places.iter().enumerate().map(|(k, place)| (*place, along(k + 1))).collect()
        };
        Ok(self.outputs.iter().zip(&self.places).map(|(output, places)| of(output, places)).collect())
    }
}

/// The way back. Its thirteen fields are what is asked, the run and its neighbours, and where it stands.
struct Back<'a> {
    system: &'a Arc<System>,
    options: Options,
    seen: OutputSources,
    families: Vec<Siblings<'a>>,
    functionals: &'a [Functional],
    /// The outputs of the measures.
    places: Vec<usize>,
    found: &'a Sensitivities,
    /// The places of these outputs among those of the model.
    of_model: Vec<usize>,
    /// Of each measure, by the parameters.
    gradients: Vec<Vec<f64>>,
    /// Adjoints of the present state, and of those before it that laws through past points have reached.
    ahead: VecDeque<Adjoints>,
    equations: Option<Equations>,
    /// Two runs through events.
    beside: Option<[Simulation; 2]>,
    /// Whether something differs in a family that is nobody's own.
    mixed: bool,
}

impl<'a> Back<'a> {
    fn new(
        (system, seen, options): (&'a Arc<System>, OutputSources, Options),
        (asked, found, parameters): (&Asked, &'a Sensitivities, usize),
        (functionals, places): (&'a [Functional], Vec<usize>),
        families: Vec<Siblings<'a>>,
        end: &State,
    ) -> Result<Back<'a>, SensitivityError> {
        let model = &system.model.outputs;
        let of_model = (0..model.len()).filter(|k| asked.outputs.contains(&model[*k].name)).collect();
        let gradients = vec![vec![0.0; parameters]; functionals.len()];
        let mut back = Back {
            system,
            options,
            seen,
            families,
            functionals,
            places,
            found,
            of_model,
            gradients,
            ahead: VecDeque::new(),
            equations: None,
            beside: None,
            mixed: false,
        };
        back.ahead.push_back(back.none(end));
        back.stand(end)?;
        Ok(back)
    }

    /// Adjoints that are zero.
    fn none(&self, at: &State) -> Adjoints {
        let zero = Tangent { q: vec![0.0; at.q.len()], v: vec![0.0; at.v.len()], z: vec![0.0; at.z.len()] };
        vec![zero; self.functionals.len()]
    }

    /// All models stand where a state does, on the equations that its modes hold.
    fn stand(&mut self, at: &State) -> Result<(), SensitivityError> {
        self.seen.run.restart(at)?;
        self.families.iter_mut().try_for_each(|family| family.pair.restart(at))?;
        Ok(())
    }

    fn go(&mut self, moves: &[Move], mut at: State) -> Result<(), SensitivityError> {
        let mut waiting: Vec<(usize, Adjoints)> = Vec::new();
        for (k, next) in moves.iter().enumerate().rev() {
            if self.options.resources.interrupt.load(Ordering::Relaxed) {
                return Err(SensitivityError::Interrupted);
            }
            if self.mixed {
                return Ok(());
            }
            while let Some((_, adjoints)) = waiting.pop_if(|(moves, _)| *moves == k + 1) {
                add_all(&adjoints, &mut self.ahead[0]);
            }
            match next {
                Move::Row(number) => self.observe(*number, &at)?,
                Move::Back(moves_before) => {
                    let zero = self.none(&at);
                    waiting.push((*moves_before, std::mem::replace(&mut self.ahead[0], zero)));
                    self.ahead.truncate(1);
                    // what follows was noted before
                    at = end_of(&moves[..k]).cloned().unwrap_or(at);
                }
                Move::Cross(crossing) => {
                    self.cross(crossing)?;
                    at.clone_from(&crossing.from);
                }
                Move::Step(step) => {
                    if self.ahead.iter().flatten().any(|s| s.size() != 0.0) {
                        self.step(&moves[..=k], step)?;
                    }
                    at.clone_from(&step.from);
                }
            }
        }
        while let Some((_, adjoints)) = waiting.pop() {
            add_all(&adjoints, &mut self.ahead[0]);
        }
        Ok(())
    }

    /// Back over a smooth step, the last of some moves.
    fn step(&mut self, moves: &[Move], step: &Smooth) -> Result<(), SensitivityError> {
        let equations = match self.equations.take().filter(|e| Arc::ptr_eq(&e.dynamics, &step.dynamics)) {
            Some(equations) => self.equations.insert(equations),
            None => self.equations.insert(Equations::new(&step.dynamics, &step.to)),
        };
        let (families, gradients) = (&mut self.families[..], &mut self.gradients[..]);
        let done = match step.tableau {
            Some(tableau) => equations.stages(tableau, step, families, &mut self.ahead[0], gradients),
            None => equations.points(moves, step, families, &mut self.ahead, gradients),
        };
        done.map_err(|e| unsolved(step.to.t, e))
    }

    /// What measures take from a row.
    fn observe(&mut self, number: usize, at: &State) -> Result<(), SensitivityError> {
        let found = self.found;
        let weight = |of: &Functional| {
            let rows = of.rows.iter().filter(|(k, _)| found.rows[*k].number == number);
            rows.map(|(_, weight)| *weight).sum::<f64>()
        };
        let weights: Vec<f64> = self.functionals.iter().map(weight).collect();
        if weights.iter().all(|weight| *weight == 0.0) {
            return Ok(());
        }
        // u_y along all directions
        let slopes = self.seen.slopes(at)?;
        let run = &mut self.seen.run;
        let dynamics = run.equations().clone();
        let zero = Tangent { q: vec![0.0; at.q.len()], v: vec![0.0; at.v.len()], z: vec![0.0; at.z.len()] };
        for (part, place, h) in directions(&*dynamics, at) {
            let mut unit = zero.clone();
            *part_of(&mut unit, part, place) = 1.0;
            let plus = run.observe_at(&unit.moved(&*dynamics, h, at))?.to_vec();
            let minus = run.observe_at(&unit.moved(&*dynamics, -h, at))?;
            for ((adjoint, weight), k) in self.ahead[0].iter_mut().zip(&weights).zip(&self.places) {
                let along = |(c, slope): &(usize, f64)| slope * (plus[*c] - minus[*c]) / (2.0 * h);
                *part_of(adjoint, part, place) += weight * slopes[*k].iter().map(along).sum::<f64>();
            }
        }
        for Siblings { pair, members } in &mut self.families {
            let mut change = vec![0.0; weights.len()];
            for (side, sign) in pair.far.iter_mut().zip(SIGNS) {
                let found = side.run.observe_at(at)?;
                for (change, k) in change.iter_mut().zip(&self.places) {
                    *change += sign * found[*k] / (2.0 * pair.reach);
                }
            }
            // whose it is, outputs do not tell
            self.mixed |= members.len() > 1 && change.iter().any(|x| *x != 0.0);
            for ((gradient, weight), change) in self.gradients.iter_mut().zip(&weights).zip(change) {
                gradient[members[0].number] += weight * change;
            }
        }
        Ok(())
    }

    /// With the tangents of the start.
    fn finish(self, starts: &[Tangent]) -> Vec<Vec<f64>> {
        let mut gradients = self.gradients;
        for (gradient, adjoint) in gradients.iter_mut().zip(self.ahead.iter().flatten()) {
            gradient.iter_mut().zip(starts).for_each(|(g, start)| *g += adjoint.dot(start));
        }
        gradients
    }
}

/// The state that some moves led to.
fn end_of(moves: &[Move]) -> Option<&State> {
    match moves.last()? {
        Move::Step(step) => Some(&step.to),
        Move::Cross(crossing) => Some(&crossing.to),
        Move::Row(_) => end_of(&moves[..moves.len() - 1]),
        Move::Back(to) => end_of(&moves[..*to]),
    }
}

fn part_of(tangent: &mut Tangent, part: usize, place: usize) -> &mut f64 {
    &mut [&mut tangent.q, &mut tangent.v, &mut tangent.z][part][place]
}

fn add_all(from: &[Tangent], to: &mut [Tangent]) {
    for (from, to) in from.iter().zip(to) {
        add(1.0, &from.q, &mut to.q);
        add(1.0, &from.v, &mut to.v);
        add(1.0, &from.z, &mut to.z);
    }
}
