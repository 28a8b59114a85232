//! Two curves that stay in touch.

use super::{Axes, Equation, Joint, Kind, Mount};
use crate::dual::{DISPLACEMENTS, DualVec, add_stiffness};
use crate::dynamics::Limit;
use crate::frames::{Covector, Frames, Row, Stiffness};
use crate::pair::{Meeting, PAIR_FIELDS, Pair};
use crate::space::Space;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// A curve of the second body slides and rolls on one of the first.
struct CurveOnCurve {
    pair: Arc<Pair>,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "curve-on-curve",
    doc: "Two curves, one on each body, that stay in touch and slide on each other: cams with curved shoes, wheels that are \
          not round, rings and hooks. Each curve is in a frame at its point, with the axes of the world at the start (with `on` those of the body). \
          In the plane the free side of a closed curve is its outside, of an open one its left; with `inside` the second body is within the first \
          curve; the second body is convex, and more curved than any hollow of the first. In space the frames have z along `axis` and x along \
          `axis2`, and the curves are the middle lines of round wires (`radius`, `radius2`), or cross as lines without thickness. They touch at \
          one place, the nearest. For bodies that may lift off use the force `curve-contact`.",
    fields: &PAIR_FIELDS,
    mount: Mount::Points(Axes::None),
    in_plane: None,
    make: |values, place| {
        Ok(Box::new(CurveOnCurve { pair: Arc::new(Pair::read(values, place.space, &place.frames)?) }))
    },
};

impl Joint for CurveOnCurve {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![in_touch(self.pair.clone())]
    }
    fn outline(&self) -> Vec<Vec3> {
        self.pair.outline()
    }
}

/// The gap of two curves is zero.
struct InTouch(Arc<Pair>);

/// The equation that two curves touch.
pub fn in_touch(pair: Arc<Pair>) -> Box<dyn Equation> {
    Box::new(InTouch(pair))
}

/// The gradient of the gap.
pub fn gradient<const N: usize>(at: &Meeting<N>) -> Row {
    let n = at.normal.value();
    let [first, second] = at.arms.map(|arm| arm.value());
    let mut row = Row::default();
    row[0] = Covector::new(-n, -first.cross(n));
    row[1] = Covector::new(n, second.cross(n));
    row
}

/// The loads of a force on the second body at the contact.
pub fn loads<const N: usize>(at: &Meeting<N>, force: DualVec<N>) -> [[DualVec<N>; 2]; 2] {
    [[-force, -at.arms[0].cross(force)], [force, at.arms[1].cross(force)]]
}

impl Equation for InTouch {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = self.0.meet::<0>(at.ends).gap.x;
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = gradient(&self.0.meet::<0>(at.ends));
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let meeting = self.0.meet::<DISPLACEMENTS>(at.ends);
        add_stiffness(&loads(&meeting, meeting.normal * lambda[0]), k, &mut Stiffness::default());
    }
    fn is_limited(&self) -> bool {
        self.0.is_limited()
    }
    fn limit(&self, at: &Frames) -> Option<(Limit, f64)> {
        self.is_limited().then(|| self.0.limit(at.ends))
    }
}
