//! Frames: what joints and forces see of the bodies they stand on.
//!
//! Joints and forces are written once, in terms of frames in space: a row of G is a [`Covector`] on the twist of each
//! frame, a load is a force and a torque. How a frame moves with the coordinates of its body (rigid, planar, a rod, a
//! point) is up to `bodies/`.

use arrayvec::ArrayVec;
use bellcrank_math::{Mat3, Vec3};

/// The most frames of one element: those of two joints, for a gear or a controller.
pub const MAX_ENDS: usize = 4;
/// The most rows a single constraint block of a joint may have.
pub const MAX_ROWS: usize = 6;
/// The most coordinates of one body: a flexible one with many modes.
pub const MAX_WIDTH: usize = 64;
/// In place of a station: fixed to the floating frame of the body.
pub const RIGIDLY: u32 = u32::MAX;
/// In place of a station: to be found when the model is compiled.
pub const LATER: u32 = u32::MAX - 1;

/// A place on a body: a point and axes, in the body's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// The point.
    pub point: Vec3,
    /// The axes, frame to body.
    pub axes: Mat3,
    /// On a flexible body: the number of its station there, or [`RIGIDLY`] on the floating frame itself.
    pub node: u32,
}

impl Attachment {
    /// The body's own frame.
    pub const CENTRE: Attachment = Attachment { point: Vec3::ZERO, axes: Mat3::IDENTITY, node: RIGIDLY };

    /// A place in the body's frame; on a flexible body it moves with the deformation.
    #[inline]
    pub fn new(point: Vec3, axes: Mat3) -> Attachment {
        Attachment { point, axes, node: LATER }
    }
}

/// The angle of axes in the plane against those they are given in: from −π to π, and exactly zero for none.
pub fn angle_of(axes: &Mat3) -> f64 {
    axes.0[1][0].atan2(axes.0[0][0])
}

/// A frame on a body, seen from the world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    /// Its origin.
    pub p: Vec3,
    /// Its rotation, frame to world.
    pub r: Mat3,
    /// Velocity of its origin.
    pub v: Vec3,
    /// Angular velocity.
    pub w: Vec3,
}

impl Frame {
    /// Axis `i` of the frame, in the world.
    #[inline]
    pub fn axis(&self, i: usize) -> Vec3 {
        self.r.column(i)
    }
}

/// The frames an element stands on, at one time.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    /// Time.
    pub t: f64,
    /// One for each end.
    pub ends: &'a [Frame],
    /// Predictions of the element's angles, which tell full turns apart.
    pub near: &'a [f64],
}

/// A linear form on twists, lin·v + ang·ω: a row of G, or a force with its torque.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Covector {
    /// Acts on the velocity; a force.
    pub lin: Vec3,
    /// Acts on the angular velocity; a torque.
    pub ang: Vec3,
}

impl Covector {
    /// The form lin·v + ang·ω.
    #[inline]
    pub fn new(lin: Vec3, ang: Vec3) -> Covector {
        Covector { lin, ang }
    }
    /// lin·v + ang·ω of a frame.
    #[inline]
    pub fn on(&self, f: &Frame) -> f64 {
        self.lin.dot(f.v) + self.ang.dot(f.w)
    }
}

/// One row of a constraint: a form for each end.
pub type Row = [Covector; MAX_ENDS];

/// ∂(loads on the ends)/∂(displacements or twists of the ends), in 3×3 parts.
#[derive(Clone, Debug, Default)]
pub struct Stiffness {
    /// The parts that something was added to. All of them would be 4.6 kB to clear, and most elements have two ends.
    parts: ArrayVec<StiffnessBlock, { MAX_ENDS * MAX_ENDS }>,
    /// `place[i][j]`: one more than the place of the load on end i by end j among the parts; zero where there is none.
    place: [[u8; MAX_ENDS]; MAX_ENDS],
}

/// Rows (force, torque), columns (translation, rotation).
type StiffnessBlock = [[Mat3; 2]; 2];

/// The translational half of a load or a displacement.
pub const LIN: usize = 0;
/// The rotational half of a load or a displacement.
pub const ANG: usize = 1;

impl Stiffness {
    /// Sets everything to zero.
    #[inline]
    pub fn clear(&mut self) {
        self.parts.clear();
        self.place = Default::default();
    }

    /// Adds to the load (`LIN` force or `ANG` torque) on end `i` by the motion of end `j`.
    #[inline]
    pub fn add(&mut self, i: usize, load: usize, j: usize, motion: usize, m: Mat3) {
        if self.place[i][j] == 0 {
            self.parts.push([[Mat3::ZERO; 2]; 2]);
            self.place[i][j] = self.parts.len() as u8;
        }
        self.parts[self.place[i][j] as usize - 1][load][motion] += m;
    }

    /// The part (i, j), or `None` where nothing was added.
    #[inline]
    fn part(&self, i: usize, j: usize) -> Option<&StiffnessBlock> {
        self.parts.get((self.place[i][j] as usize).wrapping_sub(1))
    }

    /// Adds a form on the motion of end `j`, times a load on end `i`: the outer product of both.
    #[inline]
    pub fn add_outer(&mut self, i: usize, load: Covector, j: usize, by: Covector) {
        for (l, load) in [load.lin, load.ang].into_iter().enumerate() {
            for (m, by) in [by.lin, by.ang].into_iter().enumerate() {
                self.add(i, l, j, m, load.outer(by));
            }
        }
    }

    /// Adds c times the stiffness of fewer ends, the first of which is end `first` here.
    #[inline]
    pub fn add_scaled(&mut self, c: f64, other: &Stiffness, first: usize) {
        for i in 0..MAX_ENDS - first {
            for j in 0..MAX_ENDS - first {
                for (load, part) in other.part(i, j).into_iter().flatten().enumerate() {
                    (0..2).for_each(|motion| self.add(first + i, load, first + j, motion, part[motion] * c));
                }
            }
        }
    }

    /// Row `r` (0–2 force, 3–5 torque) of the part (i, j), or `None` where nothing was added.
    #[inline]
    pub fn row(&self, i: usize, j: usize, r: usize) -> Option<Covector> {
        self.part(i, j).map(|part| {
            let [lin, ang] = &part[r / 3];
            Covector::new(lin.row(r % 3), ang.row(r % 3))
        })
    }

    /// Σᵢ twistᵢᵀ ∂(load on end i)/∂(displacement of end j): with unit loads of a constraint row this
    /// is the drift (G w)_q of its velocity row.
    #[inline]
    pub fn contract(&self, ends: &[Frame]) -> Row {
        let mut row = Row::default();
        for (i, end) in ends.iter().enumerate() {
            for (j, form) in row.iter_mut().enumerate().take(ends.len()) {
                if let Some(k) = self.part(i, j) {
                    form.lin += k[LIN][LIN].transpose_times(end.v) + k[ANG][LIN].transpose_times(end.w);
                    form.ang += k[LIN][ANG].transpose_times(end.v) + k[ANG][ANG].transpose_times(end.w);
                }
            }
        }
        row
    }

    /// Whether anything was added to the part (i, j).
    #[inline]
    pub fn has(&self, i: usize, j: usize) -> bool {
        self.place[i][j] > 0
    }
}

/// The angle nearest to `near` among `angle` + 2πk.
#[inline]
pub fn nearest_turn(angle: f64, near: f64) -> f64 {
    use std::f64::consts::TAU;
    angle + TAU * ((near - angle) / TAU).round()
}
