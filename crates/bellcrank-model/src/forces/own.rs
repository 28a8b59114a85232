//! Forces that a program brings along: a law for the load on a point of a body, differentiated by differences unless it
//! gives its derivatives.

use super::{Force, Seen};
use crate::frames::{ANG, Covector, Frame, LIN, Stiffness};
use bellcrank_math::{Mat3, Quat, Vec3};

/// The law of a force on one place of a body.
pub trait Law: Send + Sync {
    /// The load at the origin of the frame: force and torque, in the world.
    fn load(&self, t: f64, inputs: &[f64], frame: &Frame) -> Covector;

    /// ∂load/∂displacement and ∂load/∂twist, each a force and a torque by rows and a translation and a rotation by columns.
    /// Nothing stands for central differences: 24 evaluations.
    fn derivatives(&self, _t: f64, _inputs: &[f64], _frame: &Frame) -> Option<[[[Mat3; 2]; 2]; 2]> {
        None
    }
}

/// A force by a law, on one end.
pub struct Own<L>(pub L);

/// Steps of differences: in lengths and angles, and in speeds, against their size.
const STEP: f64 = 1e-6;

impl<L: Law> Own<L> {
    fn differences(&self, at: &Seen) -> [[[Mat3; 2]; 2]; 2] {
        let base = at.ends[0];
        let mut out = [[[Mat3::ZERO; 2]; 2]; 2];
        for (rate, out) in out.iter_mut().enumerate() {
            for motion in [LIN, ANG] {
                let size = match (rate, motion) {
                    (0, LIN) => base.p.norm(),
                    (0, _) => 0.0,
                    (_, LIN) => base.v.norm(),
                    _ => base.w.norm(),
                };
                let h = STEP * (1.0 + size);
                for j in 0..3 {
                    let mut e = Vec3::ZERO;
                    e.0[j] = 1.0;
                    let moved = |s: f64| {
                        let mut f = base;
                        match (rate, motion) {
                            (0, LIN) => f.p += e * s,
                            (0, _) => f.r = Quat::exp(e * s).matrix() * f.r,
                            (_, LIN) => f.v += e * s,
                            _ => f.w += e * s,
                        }
                        self.0.load(at.t, at.inputs, &f)
                    };
                    let (a, b) = (moved(h), moved(-h));
                    for (load, d) in [a.lin - b.lin, a.ang - b.ang].into_iter().enumerate() {
                        (0..3).for_each(|i| out[load][motion].0[i][j] = d.0[i] / (2.0 * h));
                    }
                }
            }
        }
        out
    }
}

impl<L: Law> Force for Own<L> {
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let load = self.0.load(at.t, at.inputs, &at.ends[0]);
        out[0].lin += load.lin;
        out[0].ang += load.ang;
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let known = self.0.derivatives(at.t, at.inputs, &at.ends[0]);
        let found = known.unwrap_or_else(|| self.differences(at));
        for (out, part) in [k, d].into_iter().zip(found) {
            for load in [LIN, ANG] {
                for motion in [LIN, ANG] {
                    out.add(0, load, 0, motion, part[load][motion]);
                }
            }
        }
    }
    fn power(&self, at: &Seen) -> f64 {
        self.0.load(at.t, at.inputs, &at.ends[0]).on(&at.ends[0])
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
    fn rotational(&self, _end: usize) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spring to a point beside a body, a damper, and a torque that turns with the body.
    struct Magnet;

    impl Law for Magnet {
        fn load(&self, t: f64, _: &[f64], f: &Frame) -> Covector {
            let arm = f.r * Vec3([0.3, -0.2, 0.1]);
            let force = (f.p + arm) * -(40.0 + t) - f.v * 3.0;
            Covector::new(force, arm.cross(force) - f.w * 0.5)
        }
    }

    #[test]
    fn differences_are_those_of_the_law() {
        let mut frame = Frame { r: Quat::exp(Vec3([0.3, 0.4, -0.2])).matrix(), ..Frame::default() };
        (frame.p, frame.v, frame.w) = (Vec3([1.0, 2.0, -0.5]), Vec3([0.1, 0.0, 3.0]), Vec3([2.0, -1.0, 0.4]));
        let (t, ends) = (0.5, [frame]);
        let at = Seen {
            t,
            inputs: &[],
            ends: &ends,
            near: &[],
            z: &[],
            mode: 0,
            lambda: 0.0,
            across: [0.0; 2],
            reaction: &[],
        };
        let [k, d] = Own(Magnet).differences(&at);
        let arm = frame.r * Vec3([0.3, -0.2, 0.1]);
        for i in 0..3 {
            for j in 0..3 {
                let unit = if i == j { 1.0 } else { 0.0 };
                assert!((k[LIN][LIN].0[i][j] + 40.5 * unit).abs() < 1e-7);
                assert!((d[LIN][LIN].0[i][j] + 3.0 * unit).abs() < 1e-7);
                assert!((d[ANG][ANG].0[i][j] + 0.5 * unit).abs() < 1e-7);
                // a turn δ moves the arm by δ × arm = −arm~ δ
                assert!((k[LIN][ANG].0[i][j] - 40.5 * arm.tilde().0[i][j]).abs() < 1e-6);
            }
        }
        let mut load = [Covector::default()];
        Own(Magnet).load(&at, &mut load);
        assert!((Own(Magnet).power(&at) - load[0].on(&frame)).abs() < 1e-12);
    }
}
