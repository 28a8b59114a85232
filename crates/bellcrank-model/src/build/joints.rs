//! Every kind of joint.

// Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank-model --test build`: do not edit.

use super::element;
use super::value::{Bodies, BodyRef, JointRef, Joints, Numbers, Pairs, Points, Scalar, Text, Vector};

element! {
    /// Holds two bodies together; no motion stays free.
    joint Fixed "fixed"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A hinge: one rotation about `axis`.
    joint Revolute "revolute"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A slide: one translation along `axis`, no rotation.
    joint Prismatic "prismatic"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A shaft in a sleeve: one rotation about `axis` and one translation along it. Only in space; in the plane use a revolute joint for a shaft seen end on, a prismatic one for a shaft in the plane.
    joint Cylindrical "cylindrical"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A ball joint: the points stay together, all rotations are free (in the plane the same as a revolute).
    joint Spherical "spherical"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A Hooke's joint: a cross that turns in the first body about `axis` and in the second about `axis2`, which is perpendicular to `axis`. Only in space; in the plane use a revolute joint.
    joint Universal "universal"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A homokinetic joint: the shafts `axis` of the first body and `axis2` of the second may incline at the point where they meet, and turn by equal angles at any inclination. Only in space; in the plane use a revolute joint.
    joint ConstantVelocity "constant-velocity"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A flat face on another: two translations in the plane normal to `axis` (the first along `axis2`), one rotation about it. Only in space; in the plane use no joint: bodies of a planar model move so by themselves.
    joint Planar "planar"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A pin in a slot, a bead on a wire: a point of the second body slides along `axis` of the first, all rotations are free.
    joint PointOnLine "point-on-line"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A point of the second body stays in the plane of the first that is normal to `axis`, all rotations are free. Only in space; in the plane use a point-on-line joint.
    joint PointOnPlane "point-on-plane"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A bead on a wire, a pin in a curved slot, a barrel cam: a point of the second body stays on a curve of the first, all rotations are free. The first point is the origin of the curve's frame, the second one follows. That frame has the axes of the world at the start (with `on` those of the first body), in space with z along `axis` and x along `axis2`. In space the curve must not cross itself as seen along z.
    joint PointOnCurve "point-on-curve"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
        /// The curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and tables, in m. Default: through `points`.
        curve: Vector = "curve",
        /// With `curve`: the first and the last `s`, in any.
        range: Numbers = "range",
        /// Points \[x, y\] of the curve, through which a cubic spline runs, in m. Default: by a `curve`.
        points: Pairs = "points",
        /// The curve ends where it begins; of points the first follows the last. Default: false.
        closed: bool = "closed",
    }
}

element! {
    /// A cam on the first body with a follower on the second that never leaves it: a roller of a `radius` about the second point, or a flat face through it (`face` is its normal, away from the cam). The cam is a curve in a frame at the first point, with the axes of the world at the start (with `on` those of the first body); in space it is a cylinder along z of that frame (`axis`). The roller stays on the side of the curve that it starts on. For a follower that may lift off use the force `contact` with a `curve`.
    joint Cam "cam"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
        /// The curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and tables, in m. Default: through `points`.
        curve: Vector = "curve",
        /// With `curve`: the first and the last `s`, in any.
        range: Numbers = "range",
        /// Points \[x, y\] of the curve, through which a cubic spline runs, in m. Default: by a `curve`.
        points: Pairs = "points",
        /// The curve ends where it begins; of points the first follows the last. Default: false.
        closed: bool = "closed",
        /// Radius of the roller, in m. Default: a `face`.
        radius: Scalar = "radius",
        /// Normal of a flat face, away from the cam (plane): in the world at the start, with `on` in the body's frame. Default: a roller.
        face: Vector = "face",
    }
}

element! {
    /// Two curves, one on each body, that stay in touch and slide on each other: cams with curved shoes, wheels that are not round, rings and hooks. Each curve is in a frame at its point, with the axes of the world at the start (with `on` those of the body). In the plane the free side of a closed curve is its outside, of an open one its left; with `inside` the second body is within the first curve; the second body is convex, and more curved than any hollow of the first. In space the frames have z along `axis` and x along `axis2`, and the curves are the middle lines of round wires (`radius`, `radius2`), or cross as lines without thickness. They touch at one place, the nearest. For bodies that may lift off use the force `curve-contact`.
    joint CurveOnCurve "curve-on-curve"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
        /// The curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and tables, in m. Default: through `points`.
        curve: Vector = "curve",
        /// With `curve`: the first and the last `s`, in any.
        range: Numbers = "range",
        /// Points \[x, y\] of the curve, through which a cubic spline runs, in m. Default: by a `curve`.
        points: Pairs = "points",
        /// The curve ends where it begins; of points the first follows the last. Default: false.
        closed: bool = "closed",
        /// The curve in the second frame: x, y (and z) as expressions of a parameter `s`, parameters and tables, in m. Default: through `points2`.
        curve2: Vector = "curve2",
        /// With `curve2`: the first and the last `s`, in any.
        range2: Numbers = "range2",
        /// Points \[x, y\] of the second curve, through which a cubic spline runs, in m. Default: by a `curve2`.
        points2: Pairs = "points2",
        /// The second curve ends where it begins; of points the first follows the last. Default: false.
        closed2: bool = "closed2",
        /// In the plane: the second body is inside of the first curve, which is closed. Default: false.
        inside: bool = "inside",
        /// In space: the curve is the middle line of a round wire of this radius, in m. Default: 0.
        radius: Scalar = "radius",
        /// In space: the same of the second curve, in m. Default: 0.
        radius2: Scalar = "radius2",
    }
}

element! {
    /// A massless bar between two points, one on each body.
    joint Distance "distance"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
        /// The distance, in m. Default: that at the start.
        length: Scalar = "length",
    }
}

element! {
    /// A screw in its nut: a rotation about `axis` is also a translation along it. Only in space; in the plane use a rack joint between a revolute and a prismatic one.
    joint Screw "screw"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
        /// Translation of the second body along `axis` per turn; negative for a left-handed thread, in m.
        pitch: Scalar = "pitch",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// Two wheels in mesh: the angle of the second of two turning `joints` is `ratio` times that of the first, counted from the start, over any number of turns.
    joint Gear "gear"
    required {
        /// The two joints whose motions it couples.
        joints: Joints = "joints",
        /// Turns of the second joint per turn of the first; negative for external gears.
        ratio: Scalar = "ratio",
    }
    optional {
    }
}

element! {
    /// A belt or chain that does not slip, over pulleys on two turning `joints`: the rims of both have the same speed.
    joint Belt "belt"
    required {
        /// The two joints whose motions it couples.
        joints: Joints = "joints",
        /// Radii of the pulleys, in m.
        radii: Numbers = "radii",
    }
    optional {
        /// The pulleys turn opposite ways. Default: false.
        crossed: bool = "crossed",
    }
}

element! {
    /// A pinion and its rack: the first of two `joints` turns, and the second slides by `radius` times the angle.
    joint Rack "rack"
    required {
        /// The two joints whose motions it couples.
        joints: Joints = "joints",
        /// Pitch radius of the pinion; negative if the rack moves backwards when the pinion turns forwards, in m.
        radius: Scalar = "radius",
    }
    optional {
    }
}

element! {
    /// Couples two joint coordinates: x₂ = offset + ratio · x₁ for one coordinate of each of two `joints`, turns or slides, over any number of turns.
    joint Tie "tie"
    required {
        /// The two joints whose motions it couples.
        joints: Joints = "joints",
    }
    optional {
        /// Motion of the second joint per motion of the first, in rad/rad, m/m, m/rad, rad/m. Default: 1.
        ratio: Scalar = "ratio",
        /// The second coordinate where the first is zero, in rad, m. Default: as drawn.
        offset: Scalar = "offset",
        /// Which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …. Default: their only ones.
        coordinates: Text = "coordinates",
    }
}

element! {
    /// Reflected inertia of a motor: `inertia` along one coordinate x of a joint, with the kinetic energy ½ · inertia · (dx/dt)². It has no weight and no gyroscopic effect; a rotor of inertia J behind a gear of ratio n counts as n² · J.
    joint Armature "armature"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
        /// Inertia along the coordinate, as the joint feels it, in kg m², kg.
        inertia: Scalar = "inertia",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
    }
}

element! {
    /// A motor that makes one coordinate of another joint (or its rate) follow a function of time; give one of the keys by which the joint's results are named.
    joint Drive "drive"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
    }
    optional {
        /// The angle, up to full turns, in rad. Default: free.
        angle: Scalar = "angle",
        /// The position, in m. Default: free.
        position: Scalar = "position",
        /// The rate, from wherever the start is, in rad/s, m/s. Default: free.
        rate: Scalar = "rate",
        /// The rate of the slide of a joint that also turns, in m/s. Default: free.
        speed: Scalar = "speed",
        /// The second angle, in rad. Default: free.
        angle2: Scalar = "angle2",
        /// The second position, in m. Default: free.
        position2: Scalar = "position2",
        /// The rate of the second motion, in rad/s, m/s. Default: free.
        rate2: Scalar = "rate2",
        /// The rate of the second slide, in m/s. Default: free.
        speed2: Scalar = "speed2",
    }
}

element! {
    /// Moves a point of a body along a path in the world.
    joint DrivePoint "drive-point"
    required {
        /// The body whose point it holds.
        body: BodyRef = "body",
        /// Where the point is, in the world, in m.
        position: Vector = "position",
    }
    optional {
        /// The point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: the point in the body's frame, in m.
        on: Vector = "on",
    }
}

element! {
    /// A skate or blade on the second body: its point has no velocity across the edge `axis`; in space `axis2` is the direction across. A nonholonomic joint.
    joint KnifeEdge "knife-edge"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
    }
}

element! {
    /// A thin disk on the second body that rolls on a plane of the first without slip (in the plane: a wheel on a line). The first point lies in that plane, the second is the centre of the disk, and `axis` is its axle.
    joint RollingDisk "rolling-disk"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
        /// Radius of the disk, in m.
        radius: Scalar = "radius",
    }
    optional {
        /// The joint's point in the world at the start (two for a distance or a rolling disk), in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z, in the plane x.
        axis: Points = "axis",
        /// Second axis, where a joint has two; else where its angle is zero. Default: any.
        axis2: Points = "axis2",
        /// Relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut. Default: chosen.
        tree: bool = "tree",
        /// Normal of the plane it rolls on. Default: z, in the plane y.
        normal: Vector = "normal",
    }
}
