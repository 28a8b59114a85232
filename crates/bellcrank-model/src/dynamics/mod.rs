//! The interface between machines and solvers: equations of motion as pieces that are *added* into the caller's buffer.
//!
//! Every compiled model, and every hand-written set of equations, is
//!
//! ```text
//!     T(q) q̇ = v                    N = T⁻¹; T = I except for rotation charts
//!     M(q) v̇ = f(t, q, v, z) − Gᵀλ
//!     g(t, q) = 0,   G v + g_t = 0   G = ∂g/∂q · N
//!     ż = φ(t, q, v, z)
//! ```
//!
//! A formulation is a table of pieces; it knows no joint, and no joint knows a formulation.
//!
//! **Derivatives with respect to [`Unknown::Q`] are taken along tangent displacements δ with Δq = N(q) δ**: the pose
//! moves as it would under the velocity δ. So ∂g/∂q is G itself, and a Newton step is applied by
//! [`Geometry::retract`].
//!
//! | what | where |
//! |---|---|
//! | the equations | [`Dynamics`], with [`Layout`], [`Piece`] and [`Unknown`] |
//! | what moves, and scratch | [`State`], [`Point`], [`Workspace`] |
//! | charts and scales | [`Geometry`] |
//! | assembly of the start | [`StartRules`] |
//! | events, breakpoints in time | [`Switching`], [`Course`] |
//! | accelerations by recursion | [`TreeRecursion`] |
//! | names, channels, momentum | [`Observable`] |
//! | matrices | [`Targets`], [`MatrixHints`] |

mod courses;
mod geometry;
mod laws;
mod layout;
mod matrix;
mod observable;
mod start;
mod state;
mod switching;
mod tree;
mod workspace;

pub use courses::{Ahead, Break, Course};
pub use geometry::{CHART_LIMIT, Geometry, Scale};
pub use laws::{PlacedLaw, StateLaw};
pub use layout::{Layout, Piece, Slopes, Unknown};
pub use matrix::{MatrixHints, Targets};
pub use observable::{Balance, BeyondLimit, Channel, Energy, Limit, Lost, Observable};
pub use start::{StartGiven, StartRow, StartRules};
pub use state::{ChartChange, ChartMove, Charts, LeftOut, Point, State};
pub use switching::{
    Approach, BY_VALUE, Candidate, Crossing, DryModes, Follower, GapModes, HoldingLaw, Mode, Switching, Track,
};
pub use tree::{Carries, TreeRecursion};
pub use workspace::{Cache, Workspace};

/// All roles at once, for calls on concrete types: `use bellcrank_model::dynamics::roles::*;`. On `dyn Dynamics` their
/// methods need no import.
pub mod roles {
    pub use super::{Dynamics, Geometry, HasLayout, MatrixHints, Observable, StartRules, Switching, TreeRecursion};
}

use bellcrank_math::threads::team;

/// The grouping of unknowns and rows into blocks, which all roles share.
pub trait HasLayout {
    /// How the unknowns are grouped.
    fn layout(&self) -> &Layout;
}

/// Equations of motion: immutable, and shared between threads.
///
/// An implementation writes the six required methods below and [`HasLayout::layout`], and takes the defaults of the roles it
/// has no use for: [`default_roles!`](crate::default_roles) implements them in one line. Solvers see `dyn Dynamics`, on
/// which the methods of all roles can be called. Dense equations are easier to write as
/// [`Equations`](crate::hand_written::Equations), which become `Dynamics` by themselves.
///
/// The order of calls: a solver makes a [`Workspace`] once. After each move of the [`Point`] it calls
/// [`Workspace::invalidate`] and [`realize`](Dynamics::realize), then any number of pieces and derivatives.
///
/// ```
/// use bellcrank_model::dynamics::*;
///
/// /// A mass of 2 kg on a massless rod of length 1 m, in Cartesian coordinates: g = ½(x² + y² − 1) = 0.
/// struct Pendulum(Layout);
///
/// impl HasLayout for Pendulum {
///     fn layout(&self) -> &Layout {
///         &self.0
///     }
/// }
///
/// bellcrank_model::default_roles!(Pendulum: Geometry, StartRules, Switching, TreeRecursion, Observable, MatrixHints);
///
/// impl Dynamics for Pendulum {
///     fn workspace(&self) -> Workspace {
///         Workspace::new(2, ()) // room for G, and no cache
///     }
///     fn realize(&self, at: &Point, w: &mut Workspace) {
///         if !w.valid {
///             w.jacobian.copy_from_slice(&at.q); // G = (x, y)
///             w.valid = true;
///         }
///     }
///     fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]) {
///         let g = &w.jacobian;
///         let mut add = |i: usize, x: f64| out[i] += c * x;
///         match piece {
///             Piece::Rate => (0..2).for_each(|i| add(i, at.qdot[i])),
///             Piece::Speed => (0..2).for_each(|i| add(i, at.v[i])),
///             Piece::MassAccel => (0..2).for_each(|i| add(i, 2.0 * at.vdot[i])),
///             Piece::Force => add(1, -2.0 * 9.81),
///             Piece::GtLambda => (0..2).for_each(|i| add(i, g[i] * at.lambda[0])),
///             Piece::GtMu => (0..2).for_each(|i| add(i, g[i] * at.mu[0])),
///             Piece::MinvGtMu => (0..2).for_each(|i| add(i, 0.5 * g[i] * at.mu[0])),
///             Piece::Position => add(0, 0.5 * (at.q[0] * at.q[0] + at.q[1] * at.q[1] - 1.0)),
///             Piece::Velocity => add(0, g[0] * at.v[0] + g[1] * at.v[1]),
///             Piece::Acceleration => (0..2).for_each(|i| add(0, g[i] * at.vdot[i] + at.v[i] * at.v[i])),
///             Piece::ZDot | Piece::Flow => {}
///         }
///     }
///     // one body and one constraint: every derivative that does not vanish is a single block
///     fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
///         use Piece::*;
///         match (piece, wrt) {
///             (Rate | GtLambda | GtMu | MinvGtMu | Position | Velocity | Acceleration, Unknown::Q)
///             | (Speed | MassAccel | Velocity | Acceleration, Unknown::V)
///             | (GtLambda, Unknown::Lambda)
///             | (GtMu | MinvGtMu, Unknown::Mu) => vec![(0, 0)],
///             _ => vec![],
///         }
///     }
///     fn add_derivative(
///         &self, c: f64, piece: Piece, wrt: Unknown, slopes: Slopes, at: &Point, w: &mut Workspace, out: &mut Targets,
///     ) {
///         use Piece::*;
///         let diagonal = |x: f64, block: &mut [f64]| (0..2).for_each(|i| block[3 * i] += c * x);
///         let row = |x: &[f64], f: f64, block: &mut [f64]| (0..2).for_each(|i| block[i] += c * f * x[i]);
///         match (piece, wrt) {
///             (Rate, Unknown::Q) => diagonal(slopes.q, out.block(2, 2)),
///             (Speed, Unknown::V) => diagonal(1.0, out.block(2, 2)),
///             (MassAccel, Unknown::V) => diagonal(2.0 * slopes.v, out.block(2, 2)),
///             (GtLambda, Unknown::Q) => diagonal(at.lambda[0], out.block(2, 2)),
///             (GtMu, Unknown::Q) => diagonal(at.mu[0], out.block(2, 2)),
///             (MinvGtMu, Unknown::Q) => diagonal(0.5 * at.mu[0], out.block(2, 2)),
///             (GtLambda, Unknown::Lambda) | (GtMu, Unknown::Mu) => row(&w.jacobian, 1.0, out.block(2, 1)),
///             (MinvGtMu, Unknown::Mu) => row(&w.jacobian, 0.5, out.block(2, 1)),
///             (Position, Unknown::Q) | (Velocity, Unknown::V) => row(&w.jacobian, 1.0, out.block(1, 2)),
///             (Velocity, Unknown::Q) => row(&at.v, 1.0, out.block(1, 2)),
///             (Acceleration, Unknown::Q) => row(&at.vdot, 1.0, out.block(1, 2)),
///             (Acceleration, Unknown::V) => {
///                 let block = out.block(1, 2);
///                 row(&w.jacobian, slopes.v, block);
///                 row(&at.v, 2.0, block);
///             }
///             _ => {}
///         }
///     }
///     fn energy(&self, at: &Point, _: &mut Workspace) -> Energy {
///         let kinetic = at.v[0] * at.v[0] + at.v[1] * at.v[1];
///         Energy { kinetic, stored: 2.0 * 9.81 * at.q[1], power: 0.0 }
///     }
/// }
///
/// let one = |n: usize| vec![0..n; 1];
/// let pendulum = Pendulum(Layout { bodies: one(2), constraints: one(1), rates: one(1), states: vec![] });
/// // it hangs at rest: M v̇ − f + Gᵀλ = 0 with the rod's pull λ = m g
/// let state = State { q: vec![0.0, -1.0], v: vec![0.0; 2], ..State::default() };
/// let mut at = Point::at(&state, pendulum.layout());
/// at.lambda[0] = 2.0 * 9.81;
/// let equations: &dyn Dynamics = &pendulum;
/// let mut w = equations.workspace();
/// equations.realize(&at, &mut w);
/// let mut balance = [1.0, 1.0];
/// let terms = [(1.0, Piece::MassAccel), (-1.0, Piece::Force), (1.0, Piece::GtLambda)];
/// equations.set(&terms, &at, &mut w, &mut balance);
/// assert_eq!(balance, [0.0, 0.0]);
/// // and its channels come from a role that it left at its default
/// assert_eq!(equations.channels()[0].name, "q1");
/// ```
pub trait Dynamics:
    HasLayout + Geometry + StartRules + Switching + TreeRecursion + Observable + MatrixHints + Send + Sync
{
    /// A workspace of the right size.
    fn workspace(&self) -> Workspace;

    /// Computes what the pieces need of this point (poses, G), unless the workspace holds it already.
    fn realize(&self, at: &Point, w: &mut Workspace);

    /// Computes what the power needs of this point (poses); what else pieces need may be missing, and the workspace stays invalid then.
    fn place(&self, at: &Point, w: &mut Workspace) {
        self.realize(at, w);
    }

    /// `out += c · piece` at a realized point.
    fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]);

    /// `out += c · (g̈ − G v̇)` at a realized point; v̇ is lost.
    fn add_bias(&self, c: f64, at: &mut Point, w: &mut Workspace, out: &mut [f64]) {
        at.vdot.fill(0.0);
        self.add(c, Piece::Acceleration, at, w, out);
    }

    /// `out ← Σ c · piece` over the pieces of one row.
    fn set(&self, terms: &[(f64, Piece)], at: &Point, w: &mut Workspace, out: &mut [f64]) {
        set_by_pieces(self, terms, at, w, out);
    }

    /// The (row block, column block) pairs of ∂piece/∂unknown, in the order in which
    /// [`Dynamics::add_derivative`] emits them. A pair may occur more than once.
    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)>;

    /// `out += c · ∂piece/∂unknown`, where the rates q̇, v̇, ż depend on q, v, z through the slopes.
    fn add_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    );

    /// `out += c₀ · ∂piece/∂q`, then `c₁ · ∂piece/∂v`, whose blocks follow: what both need is computed once.
    fn add_both_derivatives(
        &self,
        c: [f64; 2],
        piece: Piece,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    ) {
        self.add_derivative(c[0], piece, Unknown::Q, slopes, at, w, out);
        self.add_derivative(c[1], piece, Unknown::V, slopes, at, w, out);
    }

    /// Energies at a realized point.
    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy;

    /// The power of [`Dynamics::energy`] alone.
    fn power(&self, at: &Point, w: &mut Workspace) -> f64 {
        self.energy(at, w).power
    }
}

/// [`Dynamics::set`], one piece after another.
pub(crate) fn set_by_pieces<D: Dynamics + ?Sized>(
    of: &D,
    terms: &[(f64, Piece)],
    at: &Point,
    w: &mut Workspace,
    out: &mut [f64],
) {
    team::fill([&mut *out], |_, [out]| out.fill(0.0));
    terms.iter().for_each(|&(c, piece)| of.add(c, piece, at, w, out));
}

/// Implements roles of [`Dynamics`](crate::dynamics::Dynamics) with their defaults:
/// `default_roles!(Pendulum: Geometry, Switching);`.
#[macro_export]
macro_rules! default_roles {
    ($type:ty: $($role:ident),+ $(,)?) => {
        $(impl $crate::dynamics::$role for $type {})+
    };
}
