//! Every kind of force.

// Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank-model --test build`: do not edit.

use super::element;
use super::value::{Bodies, BodyRef, JointRef, Joints, Matrix, Numbers, Pairs, Points, Scalar, Text, Vector};

element! {
    /// A spring and damper along the line between two points: tension F(l − length) + damping · dl/dt with F(s) = stiffness · s, or F the curve through given points (monotone where they are, beyond them straight). A one-sided one acts in tension (a cable) or in compression (a stop) alone.
    force SpringDamper "spring-damper"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z.
        axis: Points = "axis",
        /// Second axis. Default: any.
        axis2: Points = "axis2",
        /// Stiffness, in N/m. Default: a `curve`.
        stiffness: Scalar = "stiffness",
        /// Pairs \[elongation, tension\] instead of `stiffness`, in m, N.
        curve: Pairs = "curve",
        /// Viscous damping, in N s/m. Default: 0.
        damping: Scalar = "damping",
        /// Unstretched length, in m. Default: that at the start.
        length: Scalar = "length",
        /// Acts only when longer than `length`. Default: false.
        tension_only: bool = "tension_only",
        /// Acts only when shorter than `length`. Default: false.
        compression_only: bool = "compression_only",
        /// Elongation over which the damping of a one-sided spring sets in, in m. Default: 1 % of `length`.
        engagement: Scalar = "engagement",
    }
}

element! {
    /// A spring and damper about an axis: torque −F(θ − angle) − damping · dθ/dt on the second body with F(s) = stiffness · s, or F the curve through given points. In the plane θ is the second body's angle less the first's; in space it is counted from the start.
    force TorsionalSpringDamper "torsional-spring-damper"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z.
        axis: Points = "axis",
        /// Second axis. Default: any.
        axis2: Points = "axis2",
        /// Stiffness, in N m/rad. Default: a `curve`.
        stiffness: Scalar = "stiffness",
        /// Pairs \[angle, torque\] instead of `stiffness`, in rad, N m.
        curve: Pairs = "curve",
        /// Viscous damping, in N m s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Angle at which the spring is at rest, in rad. Default: 0.
        angle: Scalar = "angle",
    }
}

element! {
    /// A spring and damper along a joint coordinate x: −F(x − rest) − damping · dx/dt with F(s) = stiffness · s, or F the curve through given points. x is the recorded coordinate, over any number of turns.
    force JointSpring "joint-spring"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
        /// Stiffness, in N/m, N m/rad. Default: a `curve`.
        stiffness: Scalar = "stiffness",
        /// Pairs \[displacement, force\] instead of `stiffness`, in m, N; rad, N m.
        curve: Pairs = "curve",
        /// Viscous damping, in N s/m, N m s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Coordinate at which the spring is at rest, in m, rad. Default: 0.
        rest: Scalar = "rest",
    }
}

element! {
    /// Nonlinear springs by direction, in addition to `stiffness`.
    table BushingCurves none
    required {
    }
    optional {
        /// Pairs \[displacement, force\], in m, N.
        x: Pairs = "x",
        /// Pairs \[displacement, force\], in m, N.
        y: Pairs = "y",
        /// Pairs \[displacement, force\] (space), in m, N.
        z: Pairs = "z",
        /// Pairs \[angle, torque\] (space), in rad, N m.
        rx: Pairs = "rx",
        /// Pairs \[angle, torque\] (space), in rad, N m.
        ry: Pairs = "ry",
        /// Pairs \[angle, torque\] (space), in rad, N m.
        rz: Pairs = "rz",
        /// Pairs \[angle, torque\] (plane), in rad, N m.
        angle: Pairs = "angle",
    }
}

element! {
    /// Springs and dampers in all directions between two frames, by the displacement (x, y, z) of the second frame seen from the first and the rotation vector (rx, ry, rz) between them; in the plane (x, y, angle). The load on the second body is −stiffness · s − curve(s) + preload − damping · ds/dt with s the displacement less `offset`. In the plane turns are counted from the start; in space rotations must stay below half a turn, and a run that goes further reports it.
    force Bushing "bushing"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z.
        axis: Points = "axis",
        /// Second axis. Default: any.
        axis2: Points = "axis2",
        /// Diagonal or full symmetric matrix, in N/m, N m/rad. Default: none.
        stiffness: Matrix = "stiffness",
        /// Diagonal or full symmetric matrix, in N s/m, N m s/rad. Default: none.
        damping: Matrix = "damping",
        /// Nonlinear springs by direction, in addition to `stiffness`. Default: none.
        curve: BushingCurves = "curve",
        /// Displacement and rotation vector at which the springs are at rest, in m, rad. Default: none.
        offset: Numbers = "offset",
        /// Constant force and torque on the second body, in the directions of the first frame, in N, N m. Default: none.
        preload: Numbers = "preload",
    }
}

element! {
    /// A force at a point of a body as a function of time and of the state, in the world's directions or in those of the body.
    force Force "force"
    required {
        /// The body it acts on.
        body: BodyRef = "body",
        /// The force, each component a function of t and the state, in N.
        force: Vector = "force",
    }
    optional {
        /// The point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: the point in the body's frame, in m.
        on: Vector = "on",
        /// The axes of its components; with `body` it turns with the body (a follower load). Default: world.
        frame: Text = "frame",
    }
}

element! {
    /// A torque on a body as a function of time and of the state: a number in the plane, three in space, in the world's directions or in those of the body.
    force Torque "torque"
    required {
        /// The body it acts on.
        body: BodyRef = "body",
        /// The torque, a function of t and the state, in N m.
        torque: Vector = "torque",
    }
    optional {
        /// The point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: the point in the body's frame, in m.
        on: Vector = "on",
        /// The axes of its components; with `body` it turns with the body (a follower load). Default: world.
        frame: Text = "frame",
    }
}

element! {
    /// Drag at a point of a body: −c |u| u − linear · u with the velocity u of the point relative to the wind and c = ½ · density · cd · area, the same from every side.
    force Drag "drag"
    required {
        /// The body it acts on.
        body: BodyRef = "body",
    }
    optional {
        /// The point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: the point in the body's frame, in m.
        on: Vector = "on",
        /// Drag coefficient.
        cd: Scalar = "cd",
        /// Area it refers to, in m².
        area: Scalar = "area",
        /// Density of the medium (air at sea level), in kg/m³. Default: 1.225.
        density: Scalar = "density",
        /// Instead of `cd`, `area` and `density`: c, in kg/m.
        coefficient: Scalar = "coefficient",
        /// Drag in proportion to the speed: 6π · viscosity · radius of a slow sphere (Stokes), in N s/m. Default: 0.
        linear: Scalar = "linear",
        /// Velocity of the medium, a function of t, in m/s. Default: none.
        wind: Vector = "wind",
    }
}

element! {
    /// Gravity between two points, as a rule the centres of mass: constant · m₁ m₂/r² along the line between them. (The gravity of the earth's surface is `gravity` under \[model\].).
    force Attraction "attraction"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z.
        axis: Points = "axis",
        /// Second axis. Default: any.
        axis2: Points = "axis2",
        /// The two masses, in kg. Default: those of the bodies.
        masses: Numbers = "masses",
        /// Constant of gravitation \[CODATA 2018\], in m³/(kg s²). Default: 6.6743e-11.
        constant: Scalar = "constant",
    }
}

element! {
    /// Friction along a joint coordinate x: −viscous · dx/dt − coulomb · tanh((dx/dt)/velocity). The level `coulomb` is given, or follows the reaction R of the joint: coefficient · (preload + R), of a turn times `radius`. R is the force across the axis, of a turn also the thrust along it; with `length`, moments across the axis press two bearings (or the ends of a guide) at that distance, and on a slide with `radius`, moments about the axis press too. Below `velocity` the joint creeps instead of sticking. With `static` or `static_coefficient` it sticks: dry friction is then exactly that of sliding, and x is held while that takes no more; sticking and slipping are events. Impacts do not rub.
    force JointFriction "joint-friction"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
        /// Viscous friction, in N s/m, N m s/rad. Default: 0.
        viscous: Scalar = "viscous",
        /// Dry friction: the force or torque when sliding, in N, N m. Default: 0.
        coulomb: Scalar = "coulomb",
        /// Dry friction that follows the reaction of the joint: the coefficient when sliding. Default: `coulomb`.
        coefficient: Scalar = "coefficient",
        /// With `coefficient`: a force that presses the surfaces together whatever the reaction, in N. Default: 0.
        preload: Scalar = "preload",
        /// With `coefficient`: the radius at which a turn rubs, or that of a guide which keeps a slide from turning, in m. Default: moments about a slide do not press.
        radius: Scalar = "radius",
        /// With `coefficient`: the distance of two bearings, or the length of the guide, about the place on the second body, in m. Default: moments across the axis do not press.
        length: Scalar = "length",
        /// Rate at which dry friction reaches 76 % of its level, in m/s, rad/s. Default: 0.01.
        velocity: Scalar = "velocity",
        /// The force or torque up to which it sticks, at least `coulomb`, in N, N m. Default: creeps.
        static_: Scalar = "static",
        /// The coefficient up to which it sticks, at least `coefficient`. Default: creeps.
        static_coefficient: Scalar = "static_coefficient",
    }
}

element! {
    /// Stops at the limits of a joint coordinate x: at the depth d beyond `lower` or `upper` they push back by stiffness · d · (1 + damping · dd/dt), and never pull. With `restitution` they are hard: x bounces off, and rests where less than `rest_speed` would be left. Touching, leaving and bouncing are events.
    force Stop "stop"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
        /// Lower limit of the coordinate, in m, rad. Default: no limit.
        lower: Scalar = "lower",
        /// Upper limit of the coordinate, in m, rad. Default: no limit.
        upper: Scalar = "upper",
        /// Stiffness of the stops, in N/m, N m/rad. Default: `restitution`.
        stiffness: Scalar = "stiffness",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1). Default: a soft one.
        restitution: Scalar = "restitution",
        /// With `restitution`: an impact that would leave less than this ends at rest, in m/s, rad/s. Default: 0.001.
        rest_speed: Scalar = "rest_speed",
        /// With `restitution`: bodies that start too deep are moved out until they touch; without it, such a start is an error. Default: false.
        push_out: bool = "push_out",
    }
}

element! {
    /// Teeth that give and have play, between one coordinate of each of two `joints`, turns or slides: the second is ahead of its place by d = x₂ − ratio · x₁, counted from the start, over any number of turns. Up to half the `backlash` on either side nothing touches; beyond that by s, a flank pushes back with stiffness · s · (1 + damping · ds/dt), and never pulls. Flanks that touch and leave are events. `viscous` acts everywhere. Without `backlash` it is a spring, stiffness · d, with `viscous` as its damper. The load on the first joint is −ratio times that on the second.
    force GearMesh "gear-mesh"
    required {
        /// The two joints it acts between.
        joints: Joints = "joints",
        /// Motion of the second joint per motion of the first; negative for external gears, in rad/rad, m/m, m/rad, rad/m.
        ratio: Scalar = "ratio",
        /// Stiffness of the teeth, seen at the second joint, in N/m, N m/rad.
        stiffness: Scalar = "stiffness",
    }
    optional {
        /// The whole play, seen at the second joint, in m, rad. Default: 0.
        backlash: Scalar = "backlash",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Damping that acts also within the play, in N s/m, N m s/rad. Default: 0.
        viscous: Scalar = "viscous",
        /// How far the second is ahead of the middle of the play at the start, in m, rad. Default: 0.
        offset: Scalar = "offset",
        /// Which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …. Default: their only ones.
        coordinates: Text = "coordinates",
    }
}

element! {
    /// Contact of a sphere about a point of the second body with a plane through a point of the first (`normal`, which points at the sphere), or with a sphere about that point (`radii`); in the plane of a disk with a line, a disk or a `curve`, a cam: the first point is the origin of its frame, which has the axes of the world at the start (with `on` those of the first body), and the disk touches from the side that it starts on. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never pull, with friction across. With `restitution` they are hard: they bounce, and rest where less than `rest_speed` would be left; with `friction` the impact also has Coulomb's friction, and a resting body slides, rolls or sticks. Touching, leaving, bouncing, sliding and sticking are events.
    force Contact "contact"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m. Default: the centres of mass.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Normal of the plane of the first body. Default: two spheres.
        normal: Vector = "normal",
        /// Radius of the sphere, in m. Default: that of the second body.
        radius: Scalar = "radius",
        /// Radii of two spheres, in m. Default: those of the bodies.
        radii: Numbers = "radii",
        /// The curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and tables, in m. Default: through `points`.
        curve: Vector = "curve",
        /// With `curve`: the first and the last `s`, in any.
        range: Numbers = "range",
        /// Points \[x, y\] of the curve, through which a cubic spline runs, in m. Default: by a `curve`.
        points: Pairs = "points",
        /// The curve ends where it begins; of points the first follows the last. Default: false.
        closed: bool = "closed",
        /// Stiffness, in N/m^exponent. Default: `restitution`.
        stiffness: Scalar = "stiffness",
        /// Exponent of the depth: 3/2 after Hertz, 1 for a spring. Default: 1.5.
        exponent: Scalar = "exponent",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Coefficient of friction. Default: 0.
        friction: Scalar = "friction",
        /// Speed of sliding at which friction reaches 71 % of its level, in m/s. Default: 0.01.
        velocity: Scalar = "velocity",
        /// Instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1). Default: a soft one.
        restitution: Scalar = "restitution",
        /// With `restitution`: an impact that would leave less than this ends at rest, in m/s, rad/s. Default: 0.001.
        rest_speed: Scalar = "rest_speed",
        /// With `restitution`: bodies that start too deep are moved out until they touch; without it, such a start is an error. Default: false.
        push_out: bool = "push_out",
    }
}

element! {
    /// Contact between two curves, one on each body, as of the joint `curve-on-curve`: they push each other apart and may lift off. In space one of the wires at least needs a radius. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never pull, with friction across; with `restitution` they are hard: they bounce, and rest where less than `rest_speed` would be left. Touching, leaving and bouncing are events.
    force CurveContact "curve-contact"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Axis in the world at the start; with `on`, on each body. Default: z.
        axis: Points = "axis",
        /// Second axis. Default: any.
        axis2: Points = "axis2",
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
        /// Stiffness, in N/m^exponent. Default: `restitution`.
        stiffness: Scalar = "stiffness",
        /// Exponent of the depth: 3/2 after Hertz, 1 for a spring. Default: 1.5.
        exponent: Scalar = "exponent",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Coefficient of friction. Default: 0.
        friction: Scalar = "friction",
        /// Speed of sliding at which friction reaches 71 % of its level, in m/s. Default: 0.01.
        velocity: Scalar = "velocity",
        /// Instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1). Default: a soft one.
        restitution: Scalar = "restitution",
        /// With `restitution`: an impact that would leave less than this ends at rest, in m/s, rad/s. Default: 0.001.
        rest_speed: Scalar = "rest_speed",
        /// With `restitution`: bodies that start too deep are moved out until they touch; without it, such a start is an error. Default: false.
        push_out: bool = "push_out",
    }
}

element! {
    /// A tyre on the second body that rolls and slips on a road of the first: vertical spring and damper, which never pull, forces along and across from slip, slip angle and camber, with relaxation lengths. The law is a brush model (`friction`, `slip_stiffness`), or the magic formula with coefficients from a `file`. The road is flat, or has the height `road` over x and y of its own frame. `axis` is the axle and points to the left of the wheel, which rolls towards axis × normal (in the plane along the normal turned clockwise). Touching and leaving are events.
    force Tyre "tyre"
    required {
        /// Two bodies, or `ground` and a body; a marker stands for its body with its point and axes.
        between: Bodies = "between",
    }
    optional {
        /// Points in the world at the start, in m. Default: the centres of mass.
        at: Points = "at",
        /// Instead of `at`: the point on each body, in its own frame, in m.
        on: Points = "on",
        /// Upward normal of the road's frame. Default: z, in the plane y.
        normal: Vector = "normal",
        /// The axle, to the left (space). Default: y.
        axis: Points = "axis",
        /// Height of the road above its frame, an expression of `x`, `y`, parameters and tables, in m. Default: 0.
        road: Scalar = "road",
        /// Unloaded radius, in m. Default: that of the wheel.
        radius: Scalar = "radius",
        /// Vertical stiffness, in N/m. Default: from the `file`.
        stiffness: Scalar = "stiffness",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Brush model: coefficient of friction. Default: from the `file`.
        friction: Scalar = "friction",
        /// Brush model: force per slip and per tangent of the slip angle at small slip; one number for both, in N. Default: from the `file`.
        slip_stiffness: Numbers = "slip_stiffness",
        /// Brush model: force per sine of the camber, in N. Default: 0.
        camber_stiffness: Scalar = "camber_stiffness",
        /// Brush model: pneumatic trail at small slip, in m. Default: 0.
        trail: Scalar = "trail",
        /// Coefficients of the magic formula: a .tir file in the model's folder. Default: the brush model.
        file: Text = "file",
        /// The tyre and its `road` in a mirror, left for right: files are of tyres on one side, and `road` gets −y for y. Default: false.
        mirrored: bool = "mirrored",
        /// Relaxation lengths along and across; one number for both, in m. Default: none, or from the `file`.
        relaxation: Numbers = "relaxation",
        /// Effective rolling radius: speed over spin when rolling freely, in m. Default: the loaded radius.
        rolling_radius: Scalar = "rolling_radius",
        /// Coefficient of rolling resistance: moment over load and radius. Default: 0.
        rolling_resistance: Scalar = "rolling_resistance",
        /// Below about this speed slip is measured against it: a standing tyre creeps, in m/s. Default: 0.1.
        velocity: Scalar = "velocity",
    }
}

element! {
    /// A massless elastic rope from a point of the first of `bodies` over points of the next ones to the last, two to four in all: it pulls by stiffness · e · (1 + damping · de/dt) at the elongation e and never pushes. In the plane the points between the ends may be the centres of pulleys (`radii`), which the rope passes on the outer side of the bend that the drawing shows. With `friction` the rope slides over its pulleys with Euler's and Eytelwein's ratio of tensions. Becoming slack or taut is an event.
    force Rope "rope"
    required {
        /// The bodies in order; `ground` may be among them.
        bodies: Text = "bodies",
        /// Force per elongation of the whole rope, in N/m.
        stiffness: Scalar = "stiffness",
    }
    optional {
        /// A point for each body, in the world at the start, in m.
        at: Points = "at",
        /// Instead of `at`: the points in the bodies' own frames, in m.
        on: Points = "on",
        /// Damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed, in s/m, s/rad. Default: 0.
        damping: Scalar = "damping",
        /// Unstretched length, with the arcs, in m. Default: that at the start.
        length: Scalar = "length",
        /// Radii of the pulleys between the ends (plane), in m. Default: points.
        radii: Numbers = "radii",
        /// Coefficient of friction on the pulleys. Default: 0.
        friction: Scalar = "friction",
        /// Speed of sliding at which the exponent of friction reaches 76 % of its level, in m/s. Default: 0.01.
        velocity: Scalar = "velocity",
    }
}

element! {
    /// A force (or torque) along a joint coordinate as a function of time and of the state, kept within `limits` and following with a first-order `lag`. It acts on the second body of the joint and against the first.
    force JointActuator "joint-actuator"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
        /// The force or torque, a function of t and the state, in N, N m.
        effort: Scalar = "effort",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
        /// Least and greatest effort; reaching and leaving them are events, in N; N m. Default: none.
        limits: Numbers = "limits",
        /// Time constant with which the effort follows its command, in s. Default: 0.
        lag: Scalar = "lag",
        /// Effort at the start, with `lag`, in N, N m. Default: 0.
        start: Scalar = "start",
    }
}

element! {
    /// A controller: the effort kp·e + ∫ki·e dt + kd·de/dt along a joint coordinate, with the error e of what it measures (a joint coordinate, a coordinate of a probe or of a body, or a rate of these) against a `reference`. `limits` bound the effort and keep the integral from winding up; `lag` delays it.
    force Pid "pid"
    required {
        /// The joint it acts on.
        joint: JointRef = "joint",
        /// The desired value of the measured quantity, a function of t and the state, in m, rad, m/s, rad/s.
        reference: Scalar = "reference",
    }
    optional {
        /// Which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …. Default: its only one.
        coordinate: Text = "coordinate",
        /// What is controlled, by its name in the results: `pin.angle`, `slide.rate`, `tip.x` of a probe, `cart.vx` of a body. Default: the coordinate it acts on.
        measure: Text = "measure",
        /// Effort per error, in SI units. Default: 0.
        kp: Scalar = "kp",
        /// Effort per integral of the error, in SI units. Default: 0.
        ki: Scalar = "ki",
        /// Effort per rate of the error, in SI units. Default: 0.
        kd: Scalar = "kd",
        /// Least and greatest effort; reaching and leaving them are events, in N; N m. Default: none.
        limits: Numbers = "limits",
        /// Time in which the integral follows the effort while the limits hold it, in s. Default: kp/ki.
        windup: Scalar = "windup",
        /// Time constant with which the effort follows its command, in s. Default: 0.
        lag: Scalar = "lag",
        /// Effort at the start, with `lag`, in N, N m. Default: 0.
        start: Scalar = "start",
    }
}
