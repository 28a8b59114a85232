//! One implicit step as equations for Newton: formulation × equations of motion × stencil.

use crate::formulation::{Additive, Formulation, MOST_TERMS};
use crate::kkt::{Kkt, add_position_residual, add_velocity_residual};
use crate::methods::alpha::AlphaParameters;
use crate::newton::{Iteration, Residual};
use crate::splitting::Split;
use crate::stencil::Stencil;
use crate::weights::{Weights, root_mean_square, root_mean_square_with_rates};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::threads::team;
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Unknown, Workspace};
use std::ops::Range;
use std::sync::Arc;

/// The order of the unknowns in a step's vector.
const ORDER: [Unknown; 5] = [Unknown::V, Unknown::Q, Unknown::Z, Unknown::Lambda, Unknown::Mu];

/// The blocks of a step's unknowns: which of them exist, and where.
pub struct Unknowns {
    ranges: [Range<usize>; 5],
    first_block: [usize; 5],
    /// Blocks of the layout that have unknowns, by kind: their number in the pattern.
    numbers: [Vec<u32>; 5],
    sizes: Vec<usize>,
    classes: Vec<Class>,
    owners: Vec<(Unknown, usize)>,
}

const NONE: u32 = u32::MAX;

impl Unknowns {
    /// The unknowns a formulation has, without the velocities where they are condensed.
    pub fn of(dynamics: &dyn Dynamics, formulation: &Formulation, condensed: bool) -> Unknowns {
        let layout = dynamics.layout();
        let mut u = Unknowns {
            ranges: Default::default(),
            first_block: [0; 5],
            numbers: Default::default(),
            sizes: Vec::new(),
            classes: Vec::new(),
            owners: Vec::new(),
        };
        let mut scalar = 0;
        for (k, unknown) in ORDER.into_iter().enumerate() {
            let present = formulation.unknowns().any(|x| x == unknown) && !(condensed && unknown == Unknown::V);
            u.first_block[k] = u.sizes.len();
            let start = scalar;
            for (number, range) in layout.columns(unknown).iter().enumerate() {
                if !present || range.is_empty() {
                    u.numbers[k].push(NONE);
                    continue;
                }
                u.numbers[k].push(u.sizes.len() as u32);
                u.sizes.push(range.len());
                u.owners.push((unknown, number));
                u.classes.push(match unknown {
                    Unknown::V => Class::Velocity,
                    Unknown::Q | Unknown::Z => Class::Body,
                    Unknown::Lambda | Unknown::Mu => Class::Multiplier,
                });
                scalar += range.len();
            }
            u.ranges[k] = start..scalar;
        }
        u
    }

    fn place(unknown: Unknown) -> usize {
        ORDER.iter().position(|u| *u == unknown).unwrap_or(0)
    }

    /// The part of a step's vector that belongs to an unknown.
    pub fn range(&self, unknown: Unknown) -> Range<usize> {
        self.ranges[Self::place(unknown)].clone()
    }

    /// The block of the pattern that a block of the layout is, if it has unknowns.
    pub fn block(&self, unknown: Unknown, number: u32) -> Option<u32> {
        let b = self.numbers[Self::place(unknown)][number as usize];
        (b != NONE).then_some(b)
    }

    /// Which unknown and which block of the layout a block of the pattern is.
    pub fn owner(&self, block: usize) -> (Unknown, usize) {
        self.owners[block]
    }
}

/// What the matrix of a step leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Velocities are no unknowns: v = T q̇ follows q, where the formulation condenses.
    pub condensed: bool,
    /// (Gᵀλ)_q is left out, and that charts bend T q̇: bodies hang together by constraints alone, and the matrix is
    /// much sparser. The iteration contracts by about h ω.
    pub lean: bool,
}

/// One derivative ∂piece/∂unknown in a row of the table, with its targets.
struct Term {
    factor: f64,
    piece: Piece,
    wrt: Unknown,
    offsets: Vec<u32>,
    /// Whether it sets its blocks, and whether they follow each other.
    fresh: bool,
    together: bool,
}

impl Term {
    /// Whether its blocks stand in the workspace as they are to stand in the matrix.
    fn is_kept(&self, dynamics: &dyn Dynamics) -> bool {
        let gradients = (self.piece, self.wrt) == (Piece::Position, Unknown::Q) && self.factor == 1.0;
        self.fresh && self.together && gradients && dynamics.keeps_gradients()
    }

    /// Where its blocks go.
    fn targets<'a>(&'a self, values: &'a mut [f64]) -> Targets<'a> {
        let mut targets = Targets::rising(values, &self.offsets);
        (targets.fresh, targets.together) = (self.fresh, self.together);
        targets
    }
}

/// A term, and the pairs of blocks it has.
type Placed = (Term, Vec<(u32, u32)>);

/// ∂/∂v of condensed velocities in charts: (∂r/∂v) ∂(T q̇)/∂q goes where ∂r/∂q is.
#[derive(Default)]
struct Chain {
    /// The blocks ∂r/∂v, and ∂(T q̇)/∂q of every body.
    values: Vec<f64>,
    rates: Vec<f64>,
    rate_offsets: Vec<u32>,
    links: Vec<Link>,
}

/// One of them: where it is, its factor, and where the product goes.
struct Link {
    from: u32,
    rate: u32,
    to: u32,
    rows: u32,
    columns: u32,
}

impl Chain {
    /// For these pairs of blocks, given with the terms that are to be put there.
    fn new(unknowns: &Unknowns, pattern: &BlockPattern, terms: &mut [Placed]) -> Chain {
        let mut pairs: Vec<(u32, u32)> = terms.iter().flat_map(|t| t.1.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut chain = Chain::default();
        let size = |b: u32| pattern.size(b as usize) as u32;
        let mut rate_of = vec![NONE; pattern.blocks()];
        let mut length = 0;
        for &b in unknowns.numbers[Unknowns::place(Unknown::Q)].iter().filter(|b| **b != NONE) {
            rate_of[b as usize] = length;
            chain.rate_offsets.push(length);
            length += size(b) * size(b);
        }
        chain.rates = vec![0.0; length as usize];
        let mut from = 0;
        for &(r, c) in &pairs {
            let Some(to) = pattern.offset(r as usize, c as usize) else { continue };
            let (rows, columns) = (size(r), size(c));
            chain.links.push(Link { from, rate: rate_of[c as usize], to, rows, columns });
            from += rows * columns;
        }
        chain.values = vec![0.0; from as usize];
        for (term, blocks) in terms {
            let place = |pair: &(u32, u32)| pairs.binary_search(pair).ok().map(|k| chain.links[k].from);
            term.offsets = blocks.iter().filter_map(place).collect();
        }
        chain
    }

    /// Adds the products to a matrix.
    fn add(&self, out: &mut [f64]) {
        for link in &self.links {
            let (rows, n) = (link.rows as usize, link.columns as usize);
            let by_v = &self.values[link.from as usize..][..rows * n];
            let rate = &self.rates[link.rate as usize..][..n * n];
            let out = &mut out[link.to as usize..][..rows * n];
            for (by_v, out) in by_v.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                for (a, rate) in by_v.iter().zip(rate.chunks_exact(n)).filter(|(a, _)| **a != 0.0) {
                    out.iter_mut().zip(rate).for_each(|(o, r)| *o += a * r);
                }
            }
        }
    }
}

/// Lets terms set blocks where one alone stands for all of a part of the matrix: rows of bodies without columns of multipliers, and
/// rows of multipliers. Others are added to it. Tells for which part it is so.
fn set_first(dynamics: &dyn Dynamics, pattern: &BlockPattern, terms: &mut [Placed]) -> [bool; 2] {
    let is_multiplier = |b: u32| pattern.class(b as usize) == Class::Multiplier;
    let all = (0..pattern.blocks()).flat_map(|r| pattern.row(r).map(move |(c, _)| (r as u32, c as u32)));
    let within = |&(r, c): &(u32, u32), multipliers: bool| match multipliers {
        true => is_multiplier(r),
        false => !is_multiplier(r) && !is_multiplier(c),
    };
    let mut wanted = [0; 2];
    all.for_each(|pair| (0..2).filter(|&k| within(&pair, k == 1)).for_each(|k| wanted[k] += 1));
    [false, true].map(|multipliers| {
        let covers = |(term, pairs): &Placed| {
            let mut own: Vec<_> = pairs.iter().filter(|pair| within(pair, multipliers)).collect();
            own.sort_unstable();
            own.dedup();
            own.len() == pairs.len() && own.len() == wanted[multipliers as usize] && dynamics.sets(term.piece, term.wrt)
        };
        let first = terms.iter_mut().find(|term| covers(term));
        first.map(|term| term.0.fresh = true).is_some()
    })
}

/// x −= d.
fn subtract(d: &[f64], x: &mut [f64]) {
    x.iter_mut().zip(d).for_each(|(x, d)| *x -= d);
}

/// Whether a derivative is that of reactions by the positions they act at.
fn bends(piece: Piece, wrt: Unknown) -> bool {
    matches!(piece, Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu) && wrt == Unknown::Q
}

/// The equations of one implicit step.
pub struct Step {
    dynamics: Arc<dyn Dynamics>,
    formulation: Formulation,
    /// Where the unknowns are in a step's vector.
    pub unknowns: Unknowns,
    pattern: Arc<BlockPattern>,
    terms: Vec<Term>,
    /// Whether the first of them set all blocks of bodies, and those in the rows of multipliers.
    sets: [bool; 2],
    /// Whether v follows q; the derivatives by v, and what they are multiplied by where charts bend it.
    condensed: bool,
    by_velocity: Vec<Term>,
    chain: Option<Chain>,
    /// The present trial point.
    pub point: Point,
    /// The law for the rates.
    pub stencil: Stencil,
    /// What decides about convergence.
    pub weights: Weights,
    /// Corrections of this size are round-off.
    pub round_off: f64,
    /// No more than this, in units of the tolerance, is corrected at once: a step that turns a body about finds
    /// another solution.
    pub reach: f64,
    /// Corrections of this size may stop shrinking.
    pub stagnation: f64,
    /// A unit of rounding, where it is amplified close to singular positions.
    pub rounding: f64,
    /// What eliminates the multipliers, in iterations that do.
    elimination: Option<Elimination>,
    /// The point before the step, where a formulation needs it.
    old: Option<Old>,
    w: Workspace,
}

/// The old point of the additive formulation, with the pull M_n⁻¹G_nᵀλ of the reactions there.
struct Old {
    point: Point,
    w: Workspace,
    pull: Vec<f64>,
    /// Where M_n⁻¹G_nᵀ goes in the kinematic rows, and G_nᵀ in the balance.
    kinematics: Vec<u32>,
    balance: Vec<u32>,
}

/// The system that gives multipliers to given rates: [XXᵀ Gᵀ; G 0] of a split, or [M Gᵀ; G 0].
struct Elimination {
    kkt: Kkt,
    /// Whether matrices are formed on the manifold; else the system is that of a split.
    on_manifold: bool,
    factored: bool,
    /// The trial point, while the step's own stands on the manifold.
    aside: Point,
    load: Vec<f64>,
    rest: Vec<f64>,
    change: Vec<f64>,
}

/// The prediction is on the manifold when its projection moves by less than this part of the tolerance.
const ON_MANIFOLD: f64 = 0.1;

/// A constraint is closed when it is open by less than this part of the coordinates.
const CLOSED: f64 = 1e-13;

/// How often that is tried before new factors are taken.
const CLOSINGS: usize = 4;

/// How often a projection is repeated with factors that are not of this point.
const PROJECTIONS: usize = 2;

/// And how often the multipliers are corrected at most (S1c at ε = 1e-10, TOL 1e-3: 31 evaluations with
/// two corrections, 25 with four, as many as with new factors).
const REPETITIONS: usize = 4;

/// Or until they change by less than this part of themselves.
const BALANCED: f64 = 1e-6;

impl Step {
    /// The equations of a formulation at some point of the right sizes.
    pub fn new(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point) -> Step {
        Step::shaped(dynamics, formulation, point, Shape::default())
    }

    /// The same with a matrix of some shape.
    pub fn shaped(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point, shape: Shape) -> Step {
        let condensed = shape.condensed && formulation.condenses();
        let unknowns = Unknowns::of(&*dynamics, &formulation, condensed);
        let mut found = Vec::new();
        for row in &formulation.rows {
            for &(factor, piece) in &row.terms {
                for wrt in ORDER.into_iter().filter(|wrt| !(shape.lean && bends(piece, *wrt))) {
                    let pairs = dynamics.pattern(piece, wrt);
                    let column = if condensed && wrt == Unknown::V { Unknown::Q } else { wrt };
                    let blocks: Vec<(u32, u32)> = pairs
                        .iter()
                        .filter_map(|&(r, c)| Some((unknowns.block(row.pairs, r)?, unknowns.block(column, c)?)))
                        .collect();
                    // an unknown that the formulation does not have, has no derivative
                    if !pairs.is_empty() && blocks.len() == pairs.len() {
                        let (offsets, fresh, together) = (Vec::new(), false, false);
                        found.push((Term { factor, piece, wrt, offsets, fresh, together }, blocks));
                    }
                }
            }
        }
        let of_old = |row: Unknown, piece: Piece| -> Vec<(u32, u32)> {
            let pairs = dynamics.pattern(piece, Unknown::Mu);
            let blocks =
                pairs.iter().map(|&(r, c)| Some((unknowns.block(row, r)?, unknowns.block(Unknown::Lambda, c)?)));
            blocks.flatten().collect()
        };
        let (old_kinematics, old_balance) = match formulation.additive {
            Some(_) => (of_old(Unknown::V, Piece::MinvGtMu), of_old(Unknown::Q, Piece::GtMu)),
            None => (Vec::new(), Vec::new()),
        };
        // multipliers have none: nothing is copied and cleared for their sake
        let has_own = |b: &u32| unknowns.classes[*b as usize] != Class::Multiplier;
        let diagonal = (0..unknowns.sizes.len() as u32).filter(has_own).map(|b| (b, b));
        let diagonal = diagonal.chain(old_kinematics.iter().copied()).chain(old_balance.iter().copied());
        let entries = found.iter().flat_map(|f| f.1.iter().copied()).chain(diagonal).collect();
        let pattern = Arc::new(BlockPattern::new(unknowns.sizes.clone(), unknowns.classes.clone(), entries));
        for (term, blocks) in &mut found {
            term.offsets = blocks.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect();
            let size = |&(r, c): &(u32, u32)| (pattern.size(r as usize) * pattern.size(c as usize)) as u32;
            let follows = |(pair, at): (&(u32, u32), &[u32])| at[0] + size(pair) == at[1];
            term.together = blocks.iter().zip(term.offsets.windows(2)).all(follows);
        }
        let bent = condensed && !shape.lean && !dynamics.flat();
        let (mut by_velocity, mut terms): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(term, _)| bent && term.wrt == Unknown::V);
        let chain = bent.then(|| Chain::new(&unknowns, &pattern, &mut by_velocity));
        let sets = set_first(&*dynamics, &pattern, &mut terms);
        terms.sort_by_key(|(term, _)| !term.fresh);
        let [terms, by_velocity] = [terms, by_velocity].map(|list| list.into_iter().map(|(term, _)| term).collect());
        let w = dynamics.workspace();
        let layout = dynamics.layout();
        let offsets = |pairs: &[(u32, u32)]| -> Vec<u32> {
            pairs.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect()
        };
        let old = formulation.additive.map(|_| Old {
            point: point.clone(),
            w: dynamics.workspace(),
            pull: vec![0.0; layout.n()],
            kinematics: offsets(&old_kinematics),
            balance: offsets(&old_balance),
        });
        let stencil = Stencil {
            eta_q: vec![0.0; layout.n()],
            eta_v: vec![0.0; layout.n()],
            eta_z: vec![0.0; layout.nz()],
            velocities_follow: condensed && dynamics.flat(),
            ..Stencil::default()
        };
        let weights = Weights::default();
        Step {
            dynamics,
            formulation,
            unknowns,
            pattern,
            terms,
            sets,
            condensed,
            by_velocity,
            chain,
            point,
            stencil,
            weights,
            round_off: 0.0,
            reach: f64::INFINITY,
            stagnation: 0.0,
            rounding: 0.0,
            elimination: None,
            old,
            w,
        }
    }

    /// Sets the rates from q, v and z; v = T q̇ where velocities follow q.
    pub fn follow(&mut self) {
        let (law, p) = (&self.stencil, &mut self.point);
        if law.velocities_follow {
            return law.rates_and_velocities(p);
        }
        law.flows(p);
        if self.condensed {
            self.dynamics.velocities(&p.q, &p.qdot, &mut p.v);
        }
        law.accelerations(p);
    }

    /// Takes the present point for the old one of the next step, where the formulation needs it.
    pub fn remember(&mut self) {
        let Some(old) = &mut self.old else { return };
        old.point.clone_from(&self.point);
        old.w.invalidate();
        self.dynamics.realize(&old.point, &mut old.w);
    }

    /// Finds M_n⁻¹G_nᵀλ and adds its share to v̇, where the formulation has it. The law of the stencil takes
    /// it off again.
    fn pull(&mut self) {
        let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) else { return };
        old.point.mu.copy_from_slice(&self.point.lambda);
        old.pull.fill(0.0);
        self.dynamics.add(1.0, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.vdot.iter_mut().zip(&old.pull).for_each(|(a, r)| *a += factors.share * r);
    }

    /// v̇ without the reactions, M⁻¹f, in the place of v̇, where the additive formulation counts with it.
    pub fn free_accelerations(&mut self) {
        let Some(factors) = self.formulation.additive else { return };
        self.pull();
        self.dynamics.realize(&self.point, &mut self.w);
        let mut vdot = std::mem::take(&mut self.point.vdot);
        self.dynamics.add(factors.share, Piece::MinvGtMu, &self.point, &mut self.w, &mut vdot);
        self.point.vdot = vdot;
    }

    /// The same at a start, where λ are the reactions.
    pub fn free_start(&mut self) {
        if self.formulation.additive.is_none() {
            return;
        }
        self.point.mu.copy_from_slice(&self.point.lambda);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        let mut vdot = std::mem::take(&mut self.point.vdot);
        self.dynamics.add(1.0, Piece::MinvGtMu, &self.point, &mut self.w, &mut vdot);
        self.point.vdot = vdot;
    }

    /// Adds what the reactions of the prediction do to its positions and velocities: in the additive formulation
    /// the method knows nothing of them.
    pub fn add_reactions(&mut self) {
        let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) else { return };
        let (h, slopes) = (self.stencil.h, self.stencil.slopes);
        // v −= h/2 (R_I + R_II), and what the kinematic row asks of q then
        old.point.mu.copy_from_slice(&self.point.lambda);
        old.point.mu.iter_mut().zip(&self.point.mu).for_each(|(a, b)| *a += b);
        old.pull.fill(0.0);
        self.dynamics.add(0.5 * h, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.v.iter_mut().zip(&old.pull).for_each(|(v, r)| *v -= r);
        self.point.q.iter_mut().zip(&old.pull).for_each(|(q, r)| *q -= r / slopes.q);
        for (i, mu) in old.point.mu.iter_mut().enumerate() {
            *mu = factors.old * self.point.lambda[i] + factors.new * self.point.mu[i];
        }
        old.pull.fill(0.0);
        self.dynamics.add(h / slopes.q, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.q.iter_mut().zip(&old.pull).for_each(|(q, r)| *q -= r);
        self.stencil.rates(&mut self.point);
        self.w.invalidate();
    }

    /// Takes the factors of another method.
    pub fn retune(&mut self, parameters: Option<AlphaParameters>) {
        if let (Some(factors), Some(p)) = (&mut self.formulation.additive, parameters) {
            *factors = Additive::new(p, factors.b);
        }
    }

    /// The factor of a piece: those of the additive formulation come from the method and its step.
    fn factor(&self, c: f64, piece: Piece) -> f64 {
        match (self.formulation.additive, piece) {
            (Some(factors), Piece::MinvGtMu) => c * factors.new * self.stencil.h,
            (Some(factors), Piece::GtMu) => c * factors.share,
            _ => c,
        }
    }

    /// Prepares for an iteration: what eliminates the multipliers.
    pub fn prepare(&mut self, iteration: Iteration) {
        let (dynamics, layout) = (&self.dynamics, self.dynamics.layout());
        let on_manifold = iteration == Iteration::Auto;
        self.elimination = (layout.m() > 0 && (on_manifold || iteration.splits())).then(|| Elimination {
            kkt: if on_manifold { Kkt::new(dynamics.clone()) } else { Kkt::split(dynamics.clone()) },
            on_manifold,
            factored: false,
            aside: self.point.clone(),
            load: vec![0.0; layout.n()],
            rest: vec![0.0; layout.n()],
            change: vec![0.0; layout.m()],
        });
    }

    /// Changes the split that eliminates the multipliers, if one does; the matrix is another then.
    pub fn set_split(&mut self, split: &Split) -> bool {
        match &mut self.elimination {
            Some(e) if !e.on_manifold => e.kkt.set_split(split),
            _ => return false,
        }
        true
    }

    /// Factorizations of the small system beside the step's own.
    pub fn factorizations(&self) -> usize {
        self.elimination.as_ref().map_or(0, |e| e.kkt.factorizations)
    }

    /// Changes λ and μ so that they balance M v̇ − f and T q̇ − v as well as the system at hand can:
    /// at once with factors of this point, and by repetition with older ones.
    fn balance(&mut self, e: &mut Elimination) -> Result<(), LinearError> {
        let (dynamics, w, point) = (&*self.dynamics, &mut self.w, &mut self.point);
        let layout = dynamics.layout();
        let stabilized = self.formulation.rows.iter().any(|r| r.terms.iter().any(|t| t.1 == Piece::GtMu));
        // a nonholonomic row has no μ, and the system at hand none without it
        let both = stabilized && layout.m() == layout.m_rates();
        for of in [Unknown::Lambda, Unknown::Mu].into_iter().take(1 + both as usize) {
            let (given, taken, reaction) = match of {
                Unknown::Lambda => (Piece::Force, Piece::MassAccel, Piece::GtLambda),
                _ => (Piece::Speed, Piece::Rate, Piece::GtMu),
            };
            e.load.fill(0.0);
            dynamics.add(1.0, given, point, w, &mut e.load);
            dynamics.add(-1.0, taken, point, w, &mut e.load);
            for _ in 0..if e.on_manifold { REPETITIONS } else { 1 } {
                e.rest.copy_from_slice(&e.load);
                dynamics.add(-1.0, reaction, point, w, &mut e.rest);
                e.kkt.multipliers(&e.rest, &mut e.change)?;
                let multipliers = if of == Unknown::Lambda { &mut point.lambda } else { &mut point.mu };
                multipliers.iter_mut().zip(&e.change).for_each(|(l, d)| *l += d);
                let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                if largest(&e.change) <= BALANCED * largest(multipliers) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Eliminates λ and μ before a residual is formed; leaves them alone where that cannot be. A split
    /// does it exactly; on the manifold the factors of the last matrix do it by repetition.
    fn eliminate(&mut self) {
        let Some(mut e) = self.elimination.take() else { return };
        if !(e.on_manifold && e.factored) {
            e.factored = e.kkt.factor(&self.point, &mut self.w).is_ok();
        }
        if e.factored {
            let _ = self.balance(&mut e);
        }
        self.elimination = Some(e);
    }

    /// Moves the point onto g = 0 with the factors of the last matrix, keeping the law for the rates, and
    /// takes the least-squares multipliers there.
    fn go_to_manifold(&mut self, e: &mut Elimination) -> Result<(), LinearError> {
        for _ in 0..PROJECTIONS {
            let (dynamics, point, w) = (&*self.dynamics, &mut self.point, &mut self.w);
            let delta = e.kkt.project(|rows| add_position_residual(dynamics, -1.0, point, w, rows))?;
            let moved = root_mean_square(&[(&self.weights.q, delta)]);
            dynamics.retract(1.0, &mut point.q, delta);
            self.stencil.rates(point);
            w.invalidate();
            dynamics.realize(point, w);
            if moved <= ON_MANIFOLD {
                break;
            }
        }
        e.factored = false;
        e.kkt.factor(&self.point, &mut self.w)?;
        e.factored = true;
        self.balance(e)
    }

    /// Puts q and v onto the constraints to rounding, with the least change and the factors of the last
    /// matrix, where the iteration has them. Newton's iteration stops at a third of the tolerance; with
    /// this a run of an hour keeps |g| below 1e-10 at any tolerance.
    pub fn polish(&mut self) {
        let Some(mut e) = self.elimination.take() else { return };
        let velocities = self.formulation.rows.iter().any(|r| r.pairs == Unknown::Mu);
        if e.on_manifold && e.factored && self.formulation.index > 1 {
            for velocity in [false, true].into_iter().take(1 + velocities as usize) {
                let _ = self.close(&mut e, velocity);
            }
            self.stencil.rates(&mut self.point);
            self.w.invalidate();
        }
        self.elimination = Some(e);
    }

    /// Closes the constraints, or their rates, to rounding.
    fn close(&mut self, e: &mut Elimination, velocity: bool) -> Result<(), LinearError> {
        let (dynamics, w, point) = (&*self.dynamics, &mut self.w, &mut self.point);
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let scale = if velocity { largest(&point.v) } else { largest(&point.q) } + dynamics.length();
        for repetition in 0..2 * CLOSINGS {
            dynamics.realize(point, w);
            if repetition == CLOSINGS {
                // the factors are too old
                e.kkt.factor(point, w)?;
            }
            let mut open = 0.0;
            let delta = e.kkt.project(|rows| {
                match velocity {
                    true => add_velocity_residual(dynamics, -1.0, point, w, rows),
                    false => add_position_residual(dynamics, -1.0, point, w, rows),
                }
                open = largest(rows);
            })?;
            if open <= CLOSED * scale {
                break;
            }
            if velocity {
                point.v.iter_mut().zip(delta).for_each(|(v, d)| *v += d);
            } else {
                dynamics.retract(1.0, &mut point.q, delta);
                w.invalidate();
            }
        }
        Ok(())
    }

    /// The sparsity of the matrix.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// To be called when the point was changed from outside.
    pub fn touched(&mut self) {
        self.w.invalidate();
    }

    /// What is largest in a correction: where it hurts.
    pub fn worst(&self, dx: &[f64]) -> (Unknown, usize) {
        let mut worst = (0.0, 0);
        for block in 0..self.pattern.blocks() {
            if let (Unknown::Q | Unknown::V | Unknown::Z, _) = self.unknowns.owner(block) {
                let size = self.pattern.range(block).map(|i| dx[i].abs()).fold(0.0, f64::max);
                if size > worst.0 || size.is_nan() {
                    worst = (size, block);
                }
            }
        }
        self.unknowns.owner(worst.1)
    }

    /// Which unknown and which block of the layout a scalar row belongs to.
    pub fn owner(&self, row: usize) -> (Unknown, usize) {
        self.unknowns.owner(self.pattern.block_of(row))
    }

    /// The workspace, realized at the present point.
    pub fn realized(&mut self) -> &mut Workspace {
        self.dynamics.realize(&self.point, &mut self.w);
        &mut self.w
    }

    /// The present point with its workspace, realized.
    pub fn parts(&mut self) -> (&Point, &mut Workspace) {
        self.dynamics.realize(&self.point, &mut self.w);
        (&self.point, &mut self.w)
    }
}

impl Residual for Step {
    fn residual(&mut self, r: &mut [f64]) {
        self.dynamics.realize(&self.point, &mut self.w);
        self.eliminate();
        self.pull();
        for row in self.formulation.rows.iter().filter(|row| !(self.condensed && row.pairs == Unknown::V)) {
            let mut terms = [(0.0, Piece::Rate); MOST_TERMS];
            for (term, &(c, piece)) in terms.iter_mut().zip(&row.terms) {
                *term = (self.factor(c, piece), piece);
            }
            let out = &mut r[self.unknowns.range(row.pairs)];
            self.dynamics.set(&terms[..row.terms.len()], &self.point, &mut self.w, out);
        }
        if let (Some(old), Some(factors)) = (&self.old, self.formulation.additive) {
            let c = factors.old * self.stencil.h;
            r[self.unknowns.range(Unknown::V)].iter_mut().zip(&old.pull).for_each(|(r, p)| *r += c * p);
            self.stencil.rates(&mut self.point);
        }
    }

    fn jacobian(&mut self, iteration: Iteration, whole: bool, j: &mut BlockMatrix) {
        self.dynamics.realize(&self.point, &mut self.w);
        let mut elimination = self.elimination.take();
        let manifold = elimination.as_mut().filter(|e| e.on_manifold && e.factored);
        let moved = manifold.is_some();
        if let Some(e) = manifold {
            e.aside.clone_from(&self.point);
            if self.go_to_manifold(e).is_err() {
                self.point.clone_from(&e.aside);
                self.w.invalidate();
                self.dynamics.realize(&self.point, &mut self.w);
            }
        }
        self.pull();
        let slopes = self.stencil.slopes;
        let [first, last, _] = self.pattern.ends();
        let free = elimination.is_none() && self.old.is_none();
        let lends = j.borrows && free && self.w.jacobian.len() == last - first;
        let mut lent = false;
        for term in &self.terms {
            let above =
                matches!((term.piece, term.wrt), (Piece::GtLambda, Unknown::Lambda) | (Piece::GtMu, Unknown::Mu));
            if bends(term.piece, term.wrt) && iteration == Iteration::CoordinateModified || above && !whole {
                continue;
            }
            if lends && term.is_kept(&*self.dynamics) {
                lent = true;
                continue;
            }
            let follows = if self.condensed && term.wrt == Unknown::V { slopes.q } else { 1.0 };
            let (c, mut out) = (self.factor(term.factor, term.piece) * follows, term.targets(&mut j.values));
            self.dynamics.add_derivative(c, term.piece, term.wrt, slopes, &self.point, &mut self.w, &mut out);
        }
        if let Some(chain) = &mut self.chain {
            chain.values.fill(0.0);
            chain.rates.fill(0.0);
            let mut out = Targets::new(&mut chain.rates, &chain.rate_offsets);
            self.dynamics.add_derivative(1.0, Piece::Rate, Unknown::Q, slopes, &self.point, &mut self.w, &mut out);
            for t in &self.by_velocity {
                let mut out = Targets::new(&mut chain.values, &t.offsets);
                self.dynamics.add_derivative(t.factor, t.piece, t.wrt, slopes, &self.point, &mut self.w, &mut out);
            }
            chain.add(&mut j.values);
        }
        if let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) {
            let (c, slopes) = (factors.old * self.stencil.h, self.stencil.slopes);
            let mut out = Targets::new(&mut j.values, &old.kinematics);
            self.dynamics.add_derivative(c, Piece::MinvGtMu, Unknown::Mu, slopes, &old.point, &mut old.w, &mut out);
            // M M_n⁻¹ = I + O(h) is left out: it is I where M is constant
            let mut out = Targets::new(&mut j.values, &old.balance);
            let share = factors.share;
            self.dynamics.add_derivative(share, Piece::GtMu, Unknown::Mu, slopes, &old.point, &mut old.w, &mut out);
            self.stencil.rates(&mut self.point);
        }
        if let Some(e) = elimination.as_ref().filter(|_| moved) {
            self.point.clone_from(&e.aside);
            self.w.invalidate();
        }
        self.elimination = elimination;
        if lent {
            j.borrow_last(&mut self.w.jacobian);
        }
    }

    fn take_back(&mut self, j: &mut BlockMatrix) {
        j.give_back(&mut self.w.jacobian);
    }

    fn sets(&self) -> [bool; 2] {
        self.sets
    }

    fn correct(&mut self, dx: &[f64]) {
        let p = &mut self.point;
        let part = |u| &dx[self.unknowns.range(u)];
        let less = |x: &mut [f64], d: &[f64]| {
            let n = d.len(); // zero where they are no unknowns
            team::fill([&mut x[..n]], |range, [x]| subtract(&d[range], x));
        };
        less(&mut p.v, part(Unknown::V));
        less(&mut p.z, part(Unknown::Z));
        less(&mut p.mu, part(Unknown::Mu));
        let (dq, dlambda, law) = (part(Unknown::Q), part(Unknown::Lambda), &self.stencil);
        if law.velocities_follow {
            team::fill_both(
                ([&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot], |range, [q, qdot, v, vdot]| {
                    subtract(&dq[range.clone()], q);
                    law.follow(range, q, qdot, v, vdot);
                }),
                ([&mut p.lambda[..dlambda.len()]], |range, [lambda]| subtract(&dlambda[range], lambda)),
            );
            law.states(p);
        } else {
            less(&mut p.lambda, dlambda);
            self.dynamics.retract(-1.0, &mut p.q, dq);
            self.follow();
        }
        self.w.invalidate();
    }

    fn size(&self, dx: &[f64]) -> f64 {
        let part = |u| &dx[self.unknowns.range(u)];
        let w = &self.weights;
        if self.condensed {
            let slope = self.stencil.slopes.q;
            return root_mean_square_with_rates(&w.q, &w.v, slope, part(Unknown::Q), &w.z, part(Unknown::Z));
        }
        root_mean_square(&[
            (&w.q, part(Unknown::Q)),
            (&w.v, part(Unknown::V)),
            (&w.z, part(Unknown::Z)),
            (&w.lambda, part(Unknown::Lambda)),
            (&w.mu, part(Unknown::Mu)),
        ])
    }

    fn part(&self, dx: &[f64], size: f64) -> f64 {
        // none is larger than the root of the sum of all squares, at most two for every unknown
        if size * (2.0 * dx.len() as f64).sqrt() <= self.reach {
            return 1.0;
        }
        let (dq, w) = (&dx[self.unknowns.range(Unknown::Q)], &self.weights.q);
        let largest =
            |i: Range<usize>| dq[i.clone()].iter().zip(&w[i]).fold(0.0, |m: f64, (d, w)| m.max((d * w).abs()));
        self.reach / team::reduced(dq.len(), largest, f64::max).max(self.reach)
    }

    fn round_off(&self) -> f64 {
        self.round_off
    }

    fn stagnation(&self) -> f64 {
        self.stagnation
    }

    fn rounding(&self) -> f64 {
        self.rounding
    }

    fn slope(&self) -> f64 {
        self.stencil.slopes.v
    }
}
