//! Laws that every body, joint and force must obey: each derivative of each piece against
//! differences at random states, G against ġ, and energy against power.

use bellcrank_math::{Quat, Vec3};
use bellcrank_model::bodies::Body;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::dynamics::{Dynamics, Targets};
use bellcrank_model::joints::Motion;
use bellcrank_model::model::Space;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::{Random, assemble, derivative, least_squares, moved, values};
use bellcrank_model::{Piece, Point, Slopes, State, System, Unknown};

const PLANE: &str = r#"
model = { plane = "xy", gravity = [0.3, -9.81] }
[body]
a = { mass = 2.0, inertia = 0.3, at = [0.1, 0.2], angle = 0.4 }
b = { mass = 1.0, inertia = 0.2, at = [0.9, -0.3], angle = -1.2 }
c = { mass = 1.5, inertia = 0.1, at = [-0.4, 0.8], angle = 7.5 }
p = { mass = 0.5, at = [1.0, 1.0] }
r = { rod = { from = [0, 0], to = [1.2, 0.5], mass = 0.7 }, coordinates = "natural" }
"#;

const SPACE: &str = r#"
model = { gravity = [0.3, -9.81, 0.7] }
[body]
a = { mass = 2.0, inertia = [0.3, 0.5, 0.6], at = [0.1, 0.2, 0.3], orientation = { axis = [1, 2, 3], angle = 0.4 } }
b = { mass = 1.0, inertia = [[0.4, 0.05, 0], [0.05, 0.5, 0.02], [0, 0.02, 0.3]], at = [0.9, -0.3, 0.2] }
c = { mass = 1.5, inertia = [0.2, 0.3, 0.25], at = [-0.4, 0.8, 0.1], orientation = { axis = [2, -1, 1], angle = 0.8 } }
p = { mass = 0.5, at = [1.0, 1.0, 0.5] }
r = { rod = { from = [0, 0, 0], to = [1.2, 0.5, -0.3], mass = 0.7 }, coordinates = "natural" }
"#;

/// The bodies of `PLANE`, `a` and `b` flexible; soft, so that derivatives of large deformations are seen.
const SOFT_PLANE: &str = r#"
model = { plane = "xy", gravity = [0.3, -9.81] }
[body]
a = { beam = { from = [0.1, 0.2], to = [0.9, 0.5], mass = 2, youngs_modulus = 1, area = 3, second_moment = 0.2 } }
b = { beam = { from = [0.2, -0.3], to = [1.1, 0.3], mass = 1, youngs_modulus = 1, area = 3, second_moment = 0.2, ends = "clamped", bending = 1, static_modes = true } }
c = { mass = 1.5, inertia = 0.1, at = [-0.4, 0.8], angle = 7.5 }
p = { mass = 0.5, at = [1.0, 1.0] }
r = { rod = { from = [0, 0], to = [1.2, 0.5], mass = 0.7 }, coordinates = "natural" }
"#;

/// The bodies of `SPACE`, `a` and `b` flexible.
const SOFT_SPACE: &str = r#"
model = { gravity = [0.3, -9.81, 0.7] }
[body]
a = { beam = { from = [0, 0.1, 0.1], to = [0.9, 0.2, 0.3], up = [0, 1, 0], mass = 2, youngs_modulus = 1, area = 3, second_moment = [0.2, 0.1], torsion_constant = 0.2, bending = 1 } }
b = { beam = { from = [0.1, -0.3, 0.2], to = [1.2, 0.3, 0.1], up = [0, 1, 0], mass = 1, youngs_modulus = 1, area = 3, second_moment = 0.2, torsion_constant = 0.2, ends = "clamped", axial = 0, bending = [2, 1] } }
c = { mass = 1.5, inertia = [0.2, 0.3, 0.25], at = [-0.4, 0.8, 0.1], orientation = { axis = [2, -1, 1], angle = 0.8 } }
p = { mass = 0.5, at = [1.0, 1.0, 0.5] }
r = { rod = { from = [0, 0, 0], to = [1.2, 0.5, -0.3], mass = 0.7 }, coordinates = "natural" }
"#;

/// Elements between bodies of every kind, in the plane and in space.
fn samples() -> Vec<(String, String)> {
    let plane = [
        "[joint.j]\ntype = \"fixed\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"ground\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"r\", \"p\"]\non = [[0.1, 0.2], [0, 0]]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"spherical\"\nbetween = [\"p\", \"b\"]\non = [[0, 0], [0.3, 0.1]]",
        "[joint.j]\ntype = \"distance\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]",
        "[joint.j]\ntype = \"distance\"\nbetween = [\"b\", \"p\"]\non = [[0.1, 0.2], [0, 0]]\nlength = 0.4",
        "[joint.j]\ntype = \"point-on-line\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"point-on-line\"\nbetween = [\"r\", \"p\"]\non = [[0.1, 0.1], [0, 0]]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"knife-edge\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"knife-edge\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.j]\ntype = \"rolling-disk\"\nbetween = [\"a\", \"b\"]\nat = [[0.5, 0.1], [0.9, -0.3]]\nnormal = [0.2, 1]\nradius = 0.3",
        "[joint.j]\ntype = \"drive-point\"\nbody = \"b\"\non = [0.1, 0.2]\nposition = [\"cos(t)\", \"2*t^2\"]",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.j]\ntype = \"drive\"\njoint = \"hinge\"\nangle = \"3*sin(2*t)\"",
        "[joint.hinge]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]\n[joint.j]\ntype = \"drive\"\njoint = \"hinge\"\nrate = \"3*sin(2*t)\"",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.s]\ntype = \"revolute\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\n[joint.j]\ntype = \"gear\"\njoints = [\"hinge\", \"s\"]\nratio = -0.7",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1]\n[joint.s]\ntype = \"revolute\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\n[joint.j]\ntype = \"belt\"\njoints = [\"hinge\", \"s\"]\nradii = [0.2, 0.5]",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\naxis = [1, 0.3]\n[joint.j]\ntype = \"rack\"\njoints = [\"hinge\", \"s\"]\nradius = 0.4",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nstiffness = 30\ndamping = 4\nlength = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"r\", \"b\"]\nstiffness = 30\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\nstiffness = [[30, 2, 1], [2, 20, 3], [1, 3, 10]]\ndamping = [3, 2, 1]",
        "[force.f]\ntype = \"force\"\nbody = \"r\"\non = [0.1, 0.2]\nforce = [\"3 + t\", \"sin(2*t)\"]",
        "[force.f]\ntype = \"torque\"\nbody = \"r\"\ntorque = \"3 + t\"",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [[-0.5, -8], [-0.1, -1], [0, 0], [0.3, 9], [0.8, 11]]\ndamping = 4\nlength = 0.9",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nstiffness = 30\ndamping = 2\nlength = 0.7\ntension_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [[-1, -20], [-0.5, -3], [0, 0], [1, 1]]\ndamping = 2\nlength = 1.2\ncompression_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"r\", \"b\"]\ncurve = { table = \"curve.csv\", columns = [\"s\", \"f\"], scale = 2 }\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\nstiffness = [30, 20, 10]\noffset = [0.1, -0.2, 0.3]\npreload = [4, 5, 6]\n[force.f.curve]\ny = [[-1, -10], [0, 0], [0.5, 20], [2, 30]]\nangle = { table = \"curve.csv\", columns = [\"s\", \"f\"] }",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2]\nforce = [{ table = \"load.csv\", column = \"fx\" }, \"sin(2*t)\"]\nframe = \"body\"",
        "[force.f]\ntype = \"force\"\nbody = \"r\"\nat = [0.3, 0.2]\nforce = { table = \"load.csv\", columns = [\"fx\", \"fy\"], scale = 3, interpolation = \"monotone\" }\nframe = \"body\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = { table = \"load.csv\", time = \"time\", column = \"m\" }\nframe = \"body\"",
        "[force.f]\ntype = \"drag\"\nbody = \"r\"\non = [0.1, 0.2]\ncd = 1.2\narea = 3\nwind = [\"2*t\", 0.5]",
        "[force.f]\ntype = \"attraction\"\nbetween = [\"p\", \"r\"]\nconstant = 2",
        "[force.f]\ntype = \"stop\"\njoint = \"j\"\nlower = -0.2\nupper = 0.1\nstiffness = 30\ndamping = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"stop\"\njoint = \"j\"\nupper = 0.05\nstiffness = 30\n[joint.j]\ntype = \"point-on-line\"\nbetween = [\"a\", \"p\"]\non = [[0.2, 0], [0, 0]]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoordinate = \"position\"\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlimits = [-1.9, 2]\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlag = 0.3\nstart = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"r\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"k.position\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\nlimits = [-20, 15]\nlag = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.k]\ntype = \"prismatic\"\nbetween = [\"b\", \"r\"]\nat = [0.5, 0.1]\naxis = [1, 2]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"r.angle\"\nreference = { table = \"load.csv\", column = \"m\" }\nkp = 10\nkd = 2\nlag = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"j.rate\"\nreference = \"sin(t)\"\nkp = 10\nki = 4\nlimits = [-20, 15]\nwindup = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nnormal = [0.2, 1]\nradius = 5\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5",
        "[force.f]\ntype = \"contact\"\nbetween = [\"b\", \"p\"]\nnormal = [0.2, 1]\nradius = 5\nstiffness = 3\nexponent = 1",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[6, 0.2], [0.5, 0.1]]\nradii = [9, 5]\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"r\"]\non = [[6, 0.2], [0.5, 0]]\nradii = [0.1, 0.2]\nrestitution = 0.4",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2], [0.5, 0]]\nnormal = [0.2, 1]\nradius = 0.2\nrestitution = 0.4",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.5, 0]]\nnormal = [0.2, 1]\nradius = 0.2\nrestitution = 0.4\nfriction = 0.3",
        "[force.f]\ntype = \"stop\"\njoint = \"j\"\nlower = -0.2\nrestitution = 0.3\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoulomb = 3\nstatic = 4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoefficient = 0.3\nradius = 0.2\npreload = 1.5\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoefficient = 0.3\nlength = 0.4\npreload = 0.5\nvelocity = 0.4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"r\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoefficient = 0.3\nstatic_coefficient = 0.4\nlength = 0.4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.j]\ntype = \"armature\"\njoint = \"hinge\"\ninertia = 0.7",
        "[joint.slide]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]\n[joint.j]\ntype = \"armature\"\njoint = \"slide\"\ninertia = 0.7",
        "[joint.hinge]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\naxis = [1, 0.3]\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\naxis = [1, 0.2]\n[joint.j]\ntype = \"tie\"\njoints = [\"hinge\", \"s\"]\nratio = -0.7\noffset = 0.1",
        "[force.f]\ntype = \"joint-spring\"\njoint = \"j\"\nstiffness = 30\ndamping = 4\nrest = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        // functions of the state: all that they can measure, on bodies that the force does not touch
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2]\nforce = [\"-3*k.position*k.rate + a.vx*c.angle - tip.y^2\", \"p.x*sin(j.angle) + u*c.wz + tip.vx\"]\nframe = \"body\"\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.k]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\naxis = [1, 0.3]\n[probe.tip]\nbody = \"c\"\nrelative_to = \"a\"\non = [0.1, 0.3]\n[state.u]\nrate = \"w*k.rate - 2*u*a.x + sin(t)\"\nstart = 0.3\n[state.w]\nrate = \"o - w^2\"\n[output.o]\nvalue = \"u*tip.x + max(j.rate, abs(c.y))\"",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*c.x - 2*j.rate*u\"\nlag = 0.3\nlimits = [-40, 50]\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[state.u]\nrate = \"-u*c.vy\"\nstart = 1",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*c.x - 2*j.rate\"\nlimits = [-1.9, 2]\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nreference = \"c.x*c.vy + u\"\nkp = 10\nki = 3\nlimits = [-20, 15]\nlag = 0.2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[state.u]\nrate = \"-2*u\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = \"-4*b.angle - 0.3*b.wz*abs(b.wz)\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = \"map(c.x, b.wz)*line(a.y)\"\n[table.map]\nx = [-2, 0.1, 1, 3]\ny = [-3, 0.2, 2]\nvalues = [[1, 3, 2, 4], [2, 1, 5, 4], [0, 2, 1, 3]]\n[table.line]\nx = [-3, 0, 1, 4]\nvalues = [1, 3, 2, 7]",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nnormal = [0.2, 1]\nradius = 5\nstiffness = 3\ndamping = 0.05\nfriction = 0.8\nslip_stiffness = [9, 7]\nrolling_resistance = 0.1\nvelocity = 0.5",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"ground\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\nradius = 5\nstiffness = 3\nfriction = 0.8\nslip_stiffness = 3\nrelaxation = 0.4\nrolling_radius = 4\nvelocity = 0.5\nroad = \"0.3*sin(x) + bump(x)\"\n[table.bump]\nx = [-3, -1, 0, 2, 4]\nvalues = [0, 0.1, 0.3, 0.1, 0]",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"a\", \"b\"]\nat = [[0.1, 0.2], [0.5, 0.1]]\nfile = \"soft.tir\"\nvelocity = 0.5",
        "[joint.j]\ntype = \"point-on-curve\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [\"3*cos(s)\", \"2*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true",
        "[joint.j]\ntype = \"point-on-curve\"\nbetween = [\"r\", \"p\"]\nat = [[0.1, 0.05], [1, 1]]\ncurve = [\"s\", \"0.4*s + 0.1*sin(s)\"]\nrange = [-5, 5]",
        "[joint.j]\ntype = \"curve-on-curve\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"4*cos(s)\", \"4.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true",
        "[joint.j]\ntype = \"curve-on-curve\"\nbetween = [\"r\", \"c\"]\non = [[0.1, 0.2], [0.3, 0.1]]\ncurve = [\"5*cos(s)\", \"5.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ninside = true\ncurve2 = [\"1.2*sin(s)\", \"cos(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true",
        "[force.f]\ntype = \"curve-contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"4*cos(s)\", \"4.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true",
        "[force.f]\ntype = \"curve-contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\nrestitution = 0.5\nfriction = 0.4\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"4*cos(s)\", \"4.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true",
        "[joint.j]\ntype = \"cam\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = 1.5",
        "[joint.j]\ntype = \"cam\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [0.6, 0.1]]\ncurve = [\"3*cos(s) + 0.2\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nface = [0.3, 1]",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = 5\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2], [6, 0.1]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = 1\nrestitution = 0.3\nfriction = 0.2",
        "[force.f]\ntype = \"rope\"\nbodies = [\"a\", \"r\", \"b\"]\non = [[0.1, 0.2], [0.3, 0], [5, 3]]\nstiffness = 30\ndamping = 0.1\nlength = 1",
        "[force.f]\ntype = \"rope\"\nbodies = [\"p\", \"a\", \"ground\", \"b\"]\non = [[0, 0], [3, 0.2], [0.1, 4], [6, 3]]\nradii = [0.3, 0.2]\nstiffness = 30\nlength = 2",
        "[force.f]\ntype = \"rope\"\nbodies = [\"p\", \"a\", \"b\"]\non = [[0, 0], [3, 0.2], [6, 4]]\nradii = 0.3\nstiffness = 30\ndamping = 0.1\nlength = 2\nfriction = 0.3\nvelocity = 0.5",
    ];
    let space = [
        "[joint.j]\ntype = \"fixed\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"spherical\"\nbetween = [\"a\", \"r\"]\non = [[0.5, 0.1, 0.2], [0.3, 0, 0]]",
        "[joint.j]\ntype = \"distance\"\nbetween = [\"p\", \"b\"]\non = [[0, 0, 0], [0.3, 0.1, 0.2]]",
        "[joint.j]\ntype = \"cylindrical\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, -1, 0]",
        "[joint.j]\ntype = \"universal\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, -1, 0]",
        "[joint.j]\ntype = \"constant-velocity\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, 0.6, 0.5]",
        "[joint.j]\ntype = \"constant-velocity\"\nbetween = [\"a\", \"b\"]\non = [[0.5, 0.1, 0.2], [0.3, 0, 0.1]]\naxis = [0, 1, 0.5]\naxis2 = [0, 1, 0.6]",
        "[joint.j]\ntype = \"planar\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"point-on-line\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"point-on-line\"\nbetween = [\"a\", \"p\"]\non = [[0.2, 0, 0.1], [0, 0, 0]]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"point-on-plane\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"point-on-plane\"\nbetween = [\"a\", \"r\"]\non = [[0.2, 0, 0.1], [0.1, 0, 0]]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"screw\"\nbetween = [\"a\", \"b\"]\npitch = 0.8\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"knife-edge\"\nbetween = [\"ground\", \"b\"]\naxis2 = [1, -1, 0]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"knife-edge\"\nbetween = [\"a\", \"b\"]\naxis2 = [1, -1, 0]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.j]\ntype = \"rolling-disk\"\nbetween = [\"ground\", \"b\"]\nat = [[0, 0, 0], [0.9, -0.3, 0.2]]\naxis = [1, 0.2, 0.3]\nradius = 0.3",
        "[joint.j]\ntype = \"rolling-disk\"\nbetween = [\"a\", \"b\"]\nat = [[0.1, 0.2, 0], [0.9, -0.3, 0.2]]\nnormal = [0.2, 0.1, 1]\naxis = [1, 0.2, 0.3]\nradius = 0.3",
        "[joint.j]\ntype = \"drive-point\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nposition = [\"cos(t)\", \"2*t^2\", 1]",
        "[joint.hinge]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\naxis2 = [1, -1, 0]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.j]\ntype = \"drive\"\njoint = \"hinge\"\nangle2 = \"3*sin(2*t)\"",
        "[joint.hinge]\ntype = \"cylindrical\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.j]\ntype = \"drive\"\njoint = \"hinge\"\nangle = \"3*sin(2*t)\"\n[joint.k]\ntype = \"drive\"\njoint = \"hinge\"\nspeed = \"3*sin(2*t)\"",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.s]\ntype = \"revolute\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\n[joint.j]\ntype = \"gear\"\njoints = [\"hinge\", \"s\"]\nratio = -0.7",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.s]\ntype = \"revolute\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\n[joint.j]\ntype = \"belt\"\ncrossed = true\njoints = [\"hinge\", \"s\"]\nradii = [0.2, 0.5]",
        "[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\n[joint.j]\ntype = \"rack\"\njoints = [\"hinge\", \"s\"]\nradius = 0.4",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2, 0], [0.3, 0, 0]]\nstiffness = 30\ndamping = 4\nlength = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"a\", \"b\"]\naxis = [1, 1, 0.5]\nstiffness = 30\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\nstiffness = [30, 20, 25, 3, 4, 5]\ndamping = [3, 2, 1, 0.3, 0.2, 0.1]",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nforce = [\"3 + t\", \"sin(2*t)\", 1]",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = [\"3 + t\", \"sin(2*t)\", 1]",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"r\"]\non = [[0.1, 0.2, 0], [0.3, 0, 0]]\ncurve = [[-0.5, -8], [-0.1, -1], [0, 0], [0.3, 9], [0.8, 11]]\ndamping = 4\nlength = 0.9",
        "[force.f]\ntype = \"spring-damper\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0]]\nstiffness = 30\ndamping = 2\nlength = 0.7\ntension_only = true\nengagement = 0.2",
        "[force.f]\ntype = \"torsional-spring-damper\"\nbetween = [\"a\", \"b\"]\naxis = [1, 1, 0.5]\ncurve = { table = \"curve.csv\", columns = [\"s\", \"f\"] }\ndamping = 4\nangle = 0.2",
        "[force.f]\ntype = \"bushing\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\nstiffness = [30, 20, 25, 3, 4, 5]\ndamping = [3, 2, 1, 0.3, 0.2, 0.1]\noffset = [0.1, -0.2, 0.3, 0.1, 0.2, -0.1]\npreload = [4, 5, 6, 3, 2, 1]\n[force.f.curve]\nz = [[-1, -10], [0, 0], [0.5, 20], [2, 30]]\nrx = { table = \"curve.csv\", columns = [\"s\", \"f\"] }",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nforce = [{ table = \"load.csv\", column = \"fx\" }, \"sin(2*t)\", 1]\nframe = \"body\"",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = { table = \"load.csv\", columns = [\"fx\", \"fy\", \"m\"] }\nframe = \"body\"",
        "[force.f]\ntype = \"drag\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\ncoefficient = 1.2\nlinear = 0.7\nwind = [\"2*t\", 0.5, 0]",
        "[force.f]\ntype = \"attraction\"\nbetween = [\"ground\", \"p\"]\nmasses = [3, 2]\nconstant = 2",
        "[force.f]\ntype = \"stop\"\njoint = \"j\"\ncoordinate = \"angle2\"\nlower = -0.2\nupper = 0.1\nstiffness = 30\ndamping = 2\n[joint.j]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, -1, 0]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 2\ncoulomb = 3\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"joint-actuator\"\njoint = \"j\"\neffort = \"3*sin(t)\"\nlimits = [-1.9, 2]\nlag = 0.1\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\nlimits = [-20, 15]\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"tip.z\"\nreference = \"sin(t)\"\nkp = 10\nki = 3\nkd = 2\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[probe.tip]\nbody = \"r\"\non = [0.3, 0, 0]",
        "[force.f]\ntype = \"pid\"\njoint = \"j\"\nmeasure = \"k.rate\"\nreference = 1\nkp = 10\nki = 3\nlag = 0.1\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.k]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nnormal = [0.2, 1, 0.3]\nradius = 5\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5",
        "[force.f]\ntype = \"contact\"\nbetween = [\"ground\", \"p\"]\nnormal = [0.2, 1, 0.3]\nradius = 5\nstiffness = 3",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[6, 0.2, 0], [0.5, 0.1, 0.2]]\nradii = [9, 5]\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"p\"]\non = [[6, 0.2, 0.1], [0, 0, 0]]\nradii = [0.1, 0.2]\nrestitution = 0.4",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nnormal = [0.2, 1, 0.3]\nradius = 0.2\nrestitution = 0.4",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nnormal = [0.2, 1, 0.3]\nradius = 0.2\nrestitution = 0.4\nfriction = 0.3",
        "[force.f]\ntype = \"contact\"\nbetween = [\"a\", \"b\"]\non = [[6, 0.2, 0.1], [0, 0, 0]]\nradii = [0.1, 0.2]\nrestitution = 0.4\nfriction = 0.3",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoulomb = 3\nstatic = 4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoefficient = 0.3\nradius = 0.2\nlength = 0.4\npreload = 1.5\nvelocity = 0.4\n[joint.j]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\nviscous = 1\ncoefficient = 0.3\nradius = 0.2\nlength = 0.4\nvelocity = 0.4\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoordinate = \"angle2\"\ncoefficient = 0.3\nradius = 0.2\nlength = 0.4\nvelocity = 0.4\n[joint.j]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, -1, 0]",
        "[force.f]\ntype = \"joint-friction\"\njoint = \"j\"\ncoordinate = \"angle\"\ncoefficient = 0.3\nstatic_coefficient = 0.5\nradius = 0.2\npreload = 2\n[joint.j]\ntype = \"cylindrical\"\nbetween = [\"a\", \"c\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[joint.hinge]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\naxis2 = [1, -1, 0]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.j]\ntype = \"armature\"\njoint = \"hinge\"\ncoordinate = \"angle2\"\ninertia = 0.7",
        "[joint.slide]\ntype = \"prismatic\"\nbetween = [\"ground\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.j]\ntype = \"armature\"\njoint = \"slide\"\ninertia = 0.7",
        "[joint.hinge]\ntype = \"cylindrical\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\n[joint.j]\ntype = \"tie\"\njoints = [\"hinge\", \"s\"]\ncoordinates = [\"angle\", \"position\"]\nratio = 0.4",
        "[force.f]\ntype = \"joint-spring\"\njoint = \"j\"\ncurve = [[-1, -20], [-0.5, -3], [0, 0], [1, 1]]\ndamping = 4\nrest = 0.2\n[joint.j]\ntype = \"prismatic\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]",
        "[force.f]\ntype = \"force\"\nbody = \"b\"\non = [0.1, 0.2, 0.3]\nforce = [\"-3*k.position*k.rate + a.vz\", \"tip.vx*sin(j.angle2) + u*c.wy\", \"p.x*tip.z - j.rate2\"]\n[joint.j]\ntype = \"universal\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\naxis2 = [1, -1, 0]\n[joint.k]\ntype = \"prismatic\"\nbetween = [\"ground\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\n[probe.tip]\nbody = \"c\"\nrelative_to = \"a\"\non = [0.1, 0.3, 0.2]\n[state.u]\nrate = \"k.rate - 2*u*a.x + sin(t)\"\nstart = 0.3",
        "[force.f]\ntype = \"torque\"\nbody = \"b\"\ntorque = [\"-4*c.wx*b.wz\", \"c.wy*c.y\", \"min(c.wz, b.z)\"]\nframe = \"body\"",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nnormal = [0.2, 0.3, 1]\nradius = 5\nstiffness = 3\ndamping = 0.05\nfriction = 0.8\nslip_stiffness = [9, 7]\ncamber_stiffness = 2\ntrail = 0.3\nrolling_resistance = 0.1\nvelocity = 0.5",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"ground\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\naxis = [0.2, 1, 0.1]\nradius = 5\nstiffness = 3\nfriction = 0.8\nslip_stiffness = [3, 4]\ntrail = 0.2\nrelaxation = [0.4, 0.6]\nrolling_radius = 4\nvelocity = 0.5\nroad = \"0.1*sin(x) + 0.05*x*y + bump(x)\"\n[table.bump]\nx = [-3, -1, 0, 2, 4]\nvalues = [0, 0.1, 0.2, 0.1, 0]",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nfile = \"soft.tir\"\nvelocity = 0.5",
        "[force.f]\ntype = \"tyre\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.3, 0.1, 0.2]]\nfile = \"soft.tir\"\nrelaxation = 0.5\nvelocity = 0.5",
        "[joint.j]\ntype = \"curve-on-curve\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.9, 0.1, 0.2]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\", \"0.4*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"2*cos(s)\", \"0.3*cos(3*s)\", \"2.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true",
        "[joint.j]\ntype = \"curve-on-curve\"\nbetween = [\"c\", \"b\"]\non = [[0.1, 0.2, 0], [0.9, 0.1, 0.2]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\", \"0.4*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"2*cos(s)\", \"0.3*cos(3*s)\", \"2.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true\nradius = 0.2\nradius2 = 0.4",
        "[joint.j]\ntype = \"curve-on-curve\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.9, 0.1, 0.2]]\ncurve = [\"s\", \"0.1*s^2\", 0]\nrange = [-5, 5]\npoints2 = [[2, 0], [0, 2], [-2, 0], [0, -2]]\nclosed2 = true\naxis = [[1, 0, 0], [0, 0, 1]]\nradius2 = 0.2",
        "[force.f]\ntype = \"curve-contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.9, 0.1, 0.2]]\nstiffness = 3\ndamping = 0.05\nfriction = 0.4\nvelocity = 0.5\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\", \"0.4*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"2*cos(s)\", \"0.3*cos(3*s)\", \"2.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true\nradius = 1\nradius2 = 0.8",
        "[force.f]\ntype = \"curve-contact\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [0.9, 0.1, 0.2]]\nrestitution = 0.5\nfriction = 0.4\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\", \"0.4*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\ncurve2 = [\"2*cos(s)\", \"0.3*cos(3*s)\", \"2.4*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true\nradius = 0.1\nradius2 = 0.2",
        "[joint.j]\ntype = \"point-on-curve\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [4, 0.1, 0.2]]\ncurve = [\"5*cos(s)\", \"4*sin(s)\", \"0.3*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true",
        "[joint.j]\ntype = \"cam\"\nbetween = [\"a\", \"b\"]\non = [[0.1, 0.2, 0], [6, 0.1, 0.2]]\ncurve = [\"3*cos(s)\", \"2.5*sin(s)\", 0]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = 1.5",
        "[force.f]\ntype = \"rope\"\nbodies = [\"p\", \"a\", \"ground\", \"b\"]\non = [[0, 0, 0], [3, 0.2, 1], [0.1, 4, -1], [6, 3, 1]]\nstiffness = 30\ndamping = 0.1\nlength = 2\nfriction = 0.3\nvelocity = 0.5",
    ];
    let both = [(PLANE, &plane[..]), (SPACE, &space[..])];
    let mut out: Vec<_> = both
        .iter()
        .flat_map(|(head, list)| list.iter().map(move |e| (format!("{head}\n{e}\n"), e.to_string())))
        .collect();
    // the same elements with flexible bodies in the places of `a` and `b`: stations on the axis and beside it
    for (soft, list) in [(SOFT_PLANE, &plane[..]), (SOFT_SPACE, &space[..])] {
        let on_beams = list.iter().filter(|e| !["[[6, ", "[6, ", "[5, ", "[4, "].iter().any(|far| e.contains(far))); // beyond the end
        out.extend(on_beams.map(|e| (format!("{soft}\n{e}\n"), format!("{e}\n(flexible)"))));
    }
    let teeth = [
        (
            PLANE,
            "[force.f]\ntype = \"gear-mesh\"\njoints = [\"hinge\", \"s\"]\nratio = -0.7\nstiffness = 8\nbacklash = 0.3\ndamping = 0.2\nviscous = 0.4\noffset = 0.1\n[joint.hinge]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1]\n[joint.s]\ntype = \"revolute\"\nbetween = [\"ground\", \"c\"]\nat = [0.1, 0.3]",
        ),
        (
            PLANE,
            "[force.f]\ntype = \"gear-mesh\"\njoints = [\"hinge\", \"s\"]\nratio = 0.4\nstiffness = 8\nviscous = 0.4\n[joint.hinge]\ntype = \"revolute\"\nbetween = [\"ground\", \"r\"]\nat = [0.5, 0.1]\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"a\", \"c\"]\nat = [0.1, 0.3]\naxis = [1, 0.3]",
        ),
        (
            SPACE,
            "[force.f]\ntype = \"gear-mesh\"\njoints = [\"hinge\", \"s\"]\ncoordinates = [\"position\", \"angle2\"]\nratio = -0.7\nstiffness = 8\nbacklash = 0.3\ndamping = 0.2\noffset = 0.3\n[joint.hinge]\ntype = \"cylindrical\"\nbetween = [\"a\", \"b\"]\nat = [0.5, 0.1, 0.2]\naxis = [1, 1, 0.5]\n[joint.s]\ntype = \"universal\"\nbetween = [\"b\", \"c\"]\nat = [0.1, 0.3, 0.2]\naxis = [1, 0, 0.2]\naxis2 = [0, 1, 0]",
        ),
    ];
    out.extend(teeth.map(|(head, e)| (format!("{head}\n{e}\n"), e.to_string())));
    out
}

fn system(text: &str) -> System {
    match read_text("tests/catalog/sample.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

/// How many states a law is tried at: flexible bodies have many coordinates, and fewer states see as many derivatives.
fn states(element: &str, count: usize) -> usize {
    if element.ends_with("(flexible)") { count / 10 } else { count }
}

fn random_point(s: &System, random: &mut Random) -> Point {
    let mut p = Point::at(&s.initial_state(), s.layout());
    for x in [&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot, &mut p.z, &mut p.zdot, &mut p.lambda, &mut p.mu] {
        x.iter_mut().for_each(|x| *x += 0.4 * random.number());
    }
    p.charts.centres.iter_mut().for_each(|c| *c = Quat::exp(random.vec3()));
    p.t = 0.7;
    count_turns(s, &mut p);
    p
}

/// Takes the angles of the joints as they are now for those of the last step.
fn count_turns(s: &System, p: &mut Point) {
    let mut state = State::default();
    p.store(&mut state);
    s.settle(&mut state, &mut s.workspace());
    p.set(&state);
}

/// Moves the point to the centres of its charts, where a retraction follows the motion to second order.
fn centre_charts(s: &System, p: &mut Point) {
    for (body, range) in s.model.bodies.iter().zip(&s.layout().bodies) {
        if matches!(&body.body, Body::Rigid(_) | Body::Flexible(_)) && s.model.space == Space::Space {
            p.q[range.start + 3..range.start + 6].fill(0.0);
        }
    }
    count_turns(s, p);
}

/// Every derivative of every piece at a point against differences.
fn agree_with_differences(s: &dyn Dynamics, p: &Point, element: &str) {
    use Piece::*;
    let pieces =
        [Rate, Speed, GtMu, MinvGtMu, MassAccel, Force, GtLambda, Position, Velocity, Acceleration, ZDot, Flow];
    let slopes = Slopes { q: 1.3, v: 0.7, z: 0.9 };
    for (piece, wrt) in pieces.into_iter().flat_map(|piece| Unknown::ALL.map(|wrt| (piece, wrt))) {
        // the acceleration row leaves ∂((G v)_q v)/∂q out, and takes (G v)_q as symmetric
        if piece == Acceleration && matches!(wrt, Unknown::Q | Unknown::V) {
            continue;
        }
        let exact = derivative(s, piece, wrt, slopes, p);
        let columns = s.layout().columns(wrt).last().map_or(0, |r| r.end);
        for j in 0..columns {
            let differences = |h: f64| -> Vec<f64> {
                let [plus, minus] = [h, -h].map(|h| values(s, piece, &moved(s, p, wrt, j, h, slopes)));
                plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * h)).collect()
            };
            let fine = differences(1e-5);
            for i in 0..exact.len() {
                let off = (exact[i][j] - fine[i]).abs();
                let allowed = 2e-6 * (1.0 + fine[i].abs());
                // the difference over twice the step tells how wrong that over the step may be
                assert!(
                    off < allowed || off < allowed + (fine[i] - differences(2e-5)[i]).abs(),
                    "∂{piece:?}/∂{wrt:?} ({i}, {j}) of\n{element}: {} against {}",
                    exact[i][j],
                    fine[i]
                );
            }
        }
    }
}

#[test]
fn every_derivative_of_every_piece_agrees_with_differences() {
    let mut random = Random::new(3);
    for (text, element) in samples() {
        let s = system(&text);
        for _ in 0..states(&element, 20) {
            let p = random_point(&s, &mut random);
            agree_with_differences(&s, &p, &element);
        }
    }
}

/// The bodies between which an element stands hang on each other by a hinge at stations and places of their own; a joint of the
/// element that the tree could have is cut, and closes a loop.
#[test]
fn every_element_has_its_derivatives_in_relative_coordinates() {
    let mut random = Random::new(41);
    let mut elements = 0;
    for (text, element) in samples() {
        let z = if text.contains("plane = \"xy\"") { "" } else { ", 0.1" };
        let axis = if z.is_empty() { "" } else { ", axis = [0.3, 0.2, 1]" };
        let places = format!("on = [[0.3, 0.05{z}], [0.7, -0.05{z}]]");
        let hinges = format!(
            "[joint.hinge_of_c]\ntype = \"revolute\"\nbetween = [\"c\", \"a\"]\n{}\n{}\n\
             [joint.hinge_of_b]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\n{}\n{}\n",
            places,
            axis.trim_start_matches(", "),
            places,
            axis.trim_start_matches(", ")
        );
        let s = system(&format!("{text}\n{hinges}"));
        let at = Point::at(&s.initial_state(), s.layout());
        let r = s.relative(&at);
        let mut p = Point::at(&r.initial_state(), r.layout());
        for x in [&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot, &mut p.z, &mut p.zdot, &mut p.lambda] {
            x.iter_mut().for_each(|x| *x += 0.4 * random.number());
        }
        p.charts.centres.iter_mut().for_each(|c| *c = Quat::exp(random.vec3()));
        p.t = 0.7;
        let mut state = State::default();
        p.store(&mut state);
        r.settle(&mut state, &mut r.workspace());
        p.set(&state);
        agree_with_differences(&r, &p, &element);
        both_derivatives_of_forces_are_those_of_each(&r, &p, &element);
        elements += 1;
    }
    assert!(elements > 150, "{elements}");
}

/// Derivatives of forces by positions and velocities at once, each in blocks of its own, are what they are one after the other.
fn both_derivatives_of_forces_are_those_of_each(r: &dyn Dynamics, p: &Point, element: &str) {
    let bodies = &r.layout().bodies;
    let patterns = [Unknown::Q, Unknown::V].map(|wrt| r.pattern(Piece::Force, wrt));
    let (mut offsets, mut size) = (Vec::new(), 0);
    for (row, column) in patterns.iter().flatten() {
        offsets.push(size as u32);
        size += bodies[*row as usize].len() * bodies[*column as usize].len();
    }
    let (mut w, slopes) = (r.workspace(), Slopes::default());
    r.realize(p, &mut w);
    let [mut each, mut both] = [vec![0.0; size], vec![0.0; size]];
    let (of_q, of_v) = offsets.split_at(patterns[0].len());
    for (wrt, c, offsets) in [(Unknown::Q, 1.5, of_q), (Unknown::V, -0.7, of_v)] {
        r.add_derivative(c, Piece::Force, wrt, slopes, p, &mut w, &mut Targets::new(&mut each, offsets));
    }
    r.add_both_derivatives([1.5, -0.7], Piece::Force, slopes, p, &mut w, &mut Targets::new(&mut both, &offsets));
    assert_eq!(each, both, "{element}");
}

/// The point moved along the motion by the time h.
fn flow(s: &System, p: &Point, h: f64) -> Point {
    let mut next = p.clone();
    let step: Vec<f64> = p.v.iter().zip(&p.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
    s.retract(1.0, &mut next.q, &step);
    next.v.iter_mut().zip(&p.vdot).for_each(|(v, a)| *v += h * a);
    next.t += h;
    next
}

/// The systems of forces that hold something, with the modes in which they do.
fn held_samples() -> Vec<(std::sync::Arc<dyn Dynamics>, Point, String)> {
    let mut out = Vec::new();
    for (text, element) in samples().into_iter().filter(|(_, e)| e.starts_with("[force")) {
        let s = system(&text);
        for mode in 1..=5 {
            let Some(held) = s.holding(&[mode]) else { continue };
            let mut p = Point::at(&s.initial_state(), held.layout());
            p.charts.modes = vec![mode];
            out.push((held, p, element.clone()));
        }
    }
    out
}

#[test]
fn what_forces_hold_has_its_derivatives_and_rates() {
    let mut random = Random::new(12);
    let samples = held_samples();
    assert!(samples.len() >= 7, "{}", samples.len());
    for (s, start, element) in samples {
        assert!(s.reactive() && s.holding(&start.charts.modes).is_none());
        for _ in 0..20 {
            let mut p = start.clone();
            let vectors = [&mut p.q, &mut p.v, &mut p.vdot, &mut p.lambda];
            vectors.into_iter().for_each(|x| x.iter_mut().for_each(|x| *x += 0.3 * random.number()));
            let along = |p: &Point, h: f64, d: &[f64]| {
                let mut moved = p.clone();
                s.retract(1.0, &mut moved.q, &d.iter().map(|d| h * d).collect::<Vec<_>>());
                moved
            };
            let direction = random.vector(s.layout().n());
            for piece in [Piece::Position, Piece::Velocity, Piece::GtLambda, Piece::Force] {
                let exact = times(&derivative(&*s, piece, Unknown::Q, Slopes::default(), &p), &direction);
                let h = 1e-5;
                let [plus, minus] = [h, -h].map(|h| values(&*s, piece, &along(&p, h, &direction)));
                for i in 0..exact.len() {
                    let difference = (plus[i] - minus[i]) / (2.0 * h);
                    assert!(
                        (exact[i] - difference).abs() < 2e-6 * (1.0 + difference.abs()),
                        "{piece:?} {i} of\n{element}"
                    );
                }
            }
            // friction of what slides follows its λ
            let by_lambda = derivative(&*s, Piece::Force, Unknown::Lambda, Slopes::default(), &p);
            for j in 0..s.layout().m() {
                let [plus, minus] = [1.0, -1.0].map(|h| {
                    let mut moved = p.clone();
                    moved.lambda[j] += h;
                    values(&*s, Piece::Force, &moved)
                });
                for i in 0..plus.len() {
                    let difference = 0.5 * (plus[i] - minus[i]);
                    assert!((by_lambda[i][j] - difference).abs() < 1e-9, "∂Force/∂λ {i} {j} of\n{element}");
                }
            }
            // the last row: its λ pulls along the row, and what it does is told by the force
            let row = s.layout().m() - 1;
            let columns = derivative(&*s, Piece::GtLambda, Unknown::Lambda, Slopes::default(), &p);
            let rate: f64 = columns.iter().zip(&p.v).map(|(c, v)| c[row] * v).sum();
            let h = 1e-5;
            let [plus, minus] = [h, -h].map(|h| values(&*s, Piece::Position, &along(&p, h, &p.v)));
            let nonholonomic = s.layout().rates.last().is_some_and(|r| r.is_empty());
            let found = if nonholonomic { plus[row] } else { (plus[row] - minus[row]) / (2.0 * h) };
            let tolerance = if nonholonomic { 1e-3 } else { 1e-6 };
            assert!((rate - found).abs() < tolerance * (1.0 + rate.abs()), "the rate of\n{element}: {rate} {found}");
        }
    }
}

#[test]
fn constraint_rows_are_the_time_derivatives_of_g() {
    let mut random = Random::new(4);
    for (text, element) in samples() {
        let s = system(&text);
        let count = if element.starts_with("[joint") { 1000 } else { 20 };
        for _ in 0..states(&element, count) {
            let mut p = random_point(&s, &mut random);
            centre_charts(&s, &mut p);
            // the difference over twice the step tells how wrong that over the step may be
            let differences = |piece: Piece| -> Vec<[f64; 2]> {
                let [fine, coarse] = [1e-4, 2e-4].map(|h| {
                    let (plus, minus) = (values(&s, piece, &flow(&s, &p, h)), values(&s, piece, &flow(&s, &p, -h)));
                    plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * h)).collect::<Vec<f64>>()
                });
                fine.into_iter().zip(coarse).map(|(f, c)| [f, c]).collect()
            };
            let (first, second) = (differences(Piece::Position), differences(Piece::Velocity));
            let velocity = values(&s, Piece::Velocity, &p);
            let acceleration = values(&s, Piece::Acceleration, &p);
            let close = |x: f64, [fine, coarse]: [f64; 2], what: &str| {
                let allowed = 2e-6 * (1.0 + fine.abs()) + (fine - coarse).abs();
                assert!((x - fine).abs() < allowed, "{what} of\n{element}: {fine} against {x}");
            };
            for (rows, rates) in s.layout().constraints.iter().zip(&s.layout().rates) {
                for (k, row) in rows.clone().enumerate() {
                    if rates.is_empty() {
                        // the position row of a nonholonomic constraint is its velocity row
                        close(acceleration[row], first[row], "the rate of the velocity row");
                        continue;
                    }
                    let rate = rates.start + k;
                    close(velocity[rate], first[row], "ġ");
                    close(acceleration[row], second[rate], "g̈");
                }
            }
        }
    }
}

#[test]
fn energy_changes_by_the_power_of_every_force() {
    let mut random = Random::new(5);
    for (text, element) in samples().into_iter().filter(|(_, e)| e.starts_with("[force")) {
        let s = system(&text);
        for _ in 0..states(&element, 50) {
            let mut p = random_point(&s, &mut random);
            p.lambda.fill(0.0);
            p.vdot.fill(0.0);
            centre_charts(&s, &mut p);
            let energy = |p: &Point| {
                let mut w = s.workspace();
                s.realize(p, &mut w);
                s.energy(p, &mut w)
            };
            // at constant v: stored energy, and kinetic where M changes, by −(force · v) + power of what is not stored
            let h = 1e-5;
            let (plus, minus) = (energy(&flow(&s, &p, h)), energy(&flow(&s, &p, -h)));
            let stored_rate = (plus.stored + plus.kinetic - minus.stored - minus.kinetic) / (2.0 * h);
            let work: f64 = values(&s, Piece::Force, &p).iter().zip(&p.v).map(|(f, v)| f * v).sum();
            let power = energy(&p).power;
            let scale = 1.0 + work.abs();
            assert!(
                (work + stored_rate - power).abs() < 1e-6 * scale,
                "power of\n{element}: {work} {stored_rate} {power}"
            );
            assert!(power == 0.0 || s.has_power());
        }
    }
}

#[test]
fn the_samples_hold_every_kind_of_the_catalogs() {
    let all: String = samples().into_iter().map(|(_, e)| e).collect();
    let joints = bellcrank_model::joints::CATALOG.iter().map(|k| k.name);
    let forces = bellcrank_model::forces::CATALOG.iter().map(|k| k.name);
    for kind in joints.chain(forces) {
        assert!(all.contains(&format!("type = \"{kind}\"")), "no sample of `{kind}`: add one to `samples`");
    }
}

fn joint_samples() -> impl Iterator<Item = (System, String)> {
    samples().into_iter().filter(|(_, e)| e.starts_with("[joint")).map(|(text, e)| (system(&text), e))
}

/// G, all rows: those of positions and those of velocities.
fn jacobian(s: &System, p: &Point) -> Vec<Vec<f64>> {
    let columns = derivative(s, Piece::GtLambda, Unknown::Lambda, Slopes::default(), p);
    (0..s.layout().m()).map(|i| columns.iter().map(|row| row[i]).collect()).collect()
}

fn times(a: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn joints_keep_their_derivatives_at_a_thousand_states() {
    let pieces = [
        (Piece::Position, Unknown::Q),
        (Piece::Position, Unknown::V),
        (Piece::Velocity, Unknown::Q),
        (Piece::GtLambda, Unknown::Q),
    ];
    let mut random = Random::new(6);
    for (s, element) in joint_samples() {
        for _ in 0..states(&element, 1000) {
            let p = random_point(&s, &mut random);
            let direction = random.vector(s.layout().n());
            for (piece, wrt) in pieces {
                let exact = times(&derivative(&s, piece, wrt, Slopes::default(), &p), &direction);
                // the difference over twice the step tells how wrong that over the step may be
                let difference = |h: f64| -> Vec<f64> {
                    let [plus, minus] = [h, -h].map(|h| {
                        let mut moved = p.clone();
                        let step: Vec<f64> = direction.iter().map(|d| d * h).collect();
                        match wrt {
                            Unknown::Q => s.retract(1.0, &mut moved.q, &step),
                            _ => moved.v.iter_mut().zip(&step).for_each(|(v, d)| *v += d),
                        }
                        values(&s, piece, &moved)
                    });
                    plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * h)).collect()
                };
                let (fine, coarse) = (difference(1e-5), difference(2e-5));
                for i in 0..exact.len() {
                    let allowed = 1e-6 * (1.0 + fine[i].abs()) + (fine[i] - coarse[i]).abs();
                    assert!(
                        (exact[i] - fine[i]).abs() < allowed,
                        "∂{piece:?}/∂{wrt:?}, row {i}, of\n{element}: {} against {}",
                        exact[i],
                        fine[i]
                    );
                }
            }
        }
    }
}

/// A random point on the constraints of positions, and a velocity on those of velocities.
fn consistent_point(s: &System, random: &mut Random, element: &str) -> Point {
    for _ in 0..100 {
        let mut p = Point::at(&s.initial_state(), s.layout());
        p.t = 0.7;
        p.q.iter_mut().for_each(|x| *x += 0.3 * random.number());
        count_turns(s, &mut p);
        if assemble(s, &mut p) > 1e-12 {
            continue; // too far away
        }
        count_turns(s, &mut p);
        p.v = random.vector(s.layout().n());
        for _ in 0..3 {
            let mut off = values(s, Piece::Position, &p);
            let rates = values(s, Piece::Velocity, &p);
            for (rows, range) in s.layout().constraints.iter().zip(&s.layout().rates).filter(|(_, r)| !r.is_empty()) {
                off[rows.clone()].copy_from_slice(&rates[range.clone()]);
            }
            let correction = least_squares(&jacobian(s, &p), &off);
            p.v.iter_mut().zip(correction).for_each(|(v, c)| *v -= c);
            let rest = times(&jacobian(s, &p), &p.v);
            assert!(rest.iter().all(|r| r.is_finite()), "{element}");
        }
        return p;
    }
    panic!("cannot be assembled:\n{element}");
}

#[test]
fn joints_transmit_no_power_but_that_of_their_drives() {
    let mut random = Random::new(7);
    for (s, element) in joint_samples() {
        let mut p = Point::default();
        for k in 0..states(&element, 1000) {
            // a pose is dear: each serves ten times
            if k % 10 == 0 {
                p = consistent_point(&s, &mut random, &element);
            }
            p.lambda = random.vector(s.layout().m());
            let work = -dot(&values(&s, Piece::GtLambda, &p), &p.v);
            let mut w = s.workspace();
            s.realize(&p, &mut w);
            let power = s.energy(&p, &mut w).power;
            assert!((work - power).abs() < 1e-10, "power of\n{element}: {work} against {power}");
            let driven = element.contains("\"drive");
            assert!(driven == (power != 0.0) && driven == s.has_power(), "power of\n{element}: {power}");
        }
    }
}

#[test]
fn reactions_are_what_the_second_body_feels() {
    let mut random = Random::new(8);
    for (s, element) in joint_samples() {
        // a body that is the second one of joints alone
        let joints = &s.model.joints;
        let second =
            |b: usize| joints.iter().all(|j| j.ends.iter().enumerate().all(|(k, e)| k == 1 || e.body != Some(b)));
        for b in (0..s.model.bodies.len()).filter(|&b| second(b)) {
            let mut p = random_point(&s, &mut random);
            // the rod's own length is no reaction
            for (c, rows) in s.constraints().iter().zip(&s.layout().constraints).filter(|(c, _)| c.joint.is_none()) {
                assert!(c.rows == 1);
                p.lambda[rows.clone()].fill(0.0);
            }
            let mut w = s.workspace();
            s.realize(&p, &mut w);
            let range = s.layout().bodies[b].clone();
            let work = -dot(&values(&s, Piece::GtLambda, &p)[range.clone()], &p.v[range]);
            let felt = joints.iter().enumerate().filter(|(_, j)| j.ends[1].body == Some(b));
            let felt: f64 = felt.map(|(k, j)| s.reaction(k, &p, &w).on(&s.look(&j.ends[1], &w, &p.v))).sum();
            assert!((work - felt).abs() < 1e-12 * (1.0 + work.abs()), "{element}: {work} against {felt}");
        }
    }
}

/// The free motions S of a joint, as twists of its second frame seen from the first.
fn free_twists(s: &System, joint: usize, element: &str, p: &Point) -> Vec<(Vec3, Vec3)> {
    let entry = &s.model.joints[joint];
    let mut w = s.workspace();
    s.realize(p, &mut w);
    let [first, second] = [0, 1].map(|k| s.look(&entry.ends[k], &w, &p.v));
    let twist = |m: &Motion| match *m {
        Motion::Rotate(axis) => (Vec3::ZERO, first.axis(axis)),
        Motion::RotateSecond(axis) => (Vec3::ZERO, second.axis(axis)),
        Motion::Translate(axis) => (first.axis(axis), Vec3::ZERO),
    };
    let twists: Vec<_> = entry.joint.motions(s.model.space).iter().map(twist).collect();
    if entry.kind == "screw" {
        assert!(element.contains("pitch = 0.8"));
        let lead = 0.8 / std::f64::consts::TAU;
        return vec![(twists[1].0 * lead, twists[0].1)];
    }
    twists
}

#[test]
fn constraints_do_not_feel_the_free_motions() {
    let mut random = Random::new(9);
    let mut tested = 0;
    for (s, element) in joint_samples().filter(|(s, _)| s.model.joints.len() == 1) {
        let ends = &s.model.joints[0].ends;
        let Some(b) = ends[1].body else { continue };
        for _ in 0..states(&element, 1000) {
            let p = consistent_point(&s, &mut random, &element);
            let g = jacobian(&s, &p);
            for (k, (v, w)) in free_twists(&s, 0, &element, &p).into_iter().enumerate() {
                // the first body moves at random, the second is carried along and moves by S against it
                let mut moving = p.clone();
                moving.v = random.vector(s.layout().n());
                let mut work = s.workspace();
                s.realize(&p, &mut work);
                let frame = |k: usize, v: &[f64]| s.look(&ends[k], &work, v);
                let (first, at) = (frame(0, &moving.v), frame(1, &moving.v).p);
                let target = [first.v + first.w.cross(at - first.p) + v, first.w + w];
                let range = s.layout().bodies[b].clone();
                let column = |j: usize| {
                    let mut unit = vec![0.0; s.layout().n()];
                    unit[j] = 1.0;
                    let f = frame(1, &unit);
                    [f.v.0, f.w.0].concat()
                };
                let columns: Vec<_> = range.clone().map(column).collect();
                let rows: Vec<Vec<f64>> = (0..6).map(|i| columns.iter().map(|c| c[i]).collect()).collect();
                let found = least_squares(&rows, &[target[0].0, target[1].0].concat());
                if times(&rows, &found)
                    .iter()
                    .zip([target[0].0, target[1].0].concat())
                    .any(|(x, y)| (x - y).abs() > 1e-9)
                {
                    continue; // a point, or a rod: it cannot be carried along
                }
                moving.v[range].copy_from_slice(&found);
                for (c, rows) in s.constraints().iter().zip(&s.layout().constraints).filter(|(c, _)| c.joint.is_some())
                {
                    let felt = times(&g[rows.clone()], &moving.v);
                    assert!(felt.iter().all(|f| f.abs() < 1e-9), "motion {k} of\n{element}: {felt:?}");
                    assert!(c.joint == Some(0));
                }
                // the coordinate that belongs to it moves, at rate one, and no other
                for (i, c) in s.coordinates().iter().enumerate().filter(|_| !element.contains("screw")) {
                    let (_, rate) = s.coordinate(c, &moving, &work);
                    let expected = (i == k) as u8 as f64;
                    assert!((rate - expected).abs() < 1e-9, "rate {i} under motion {k} of\n{element}: {rate}");
                }
                tested += 1;
            }
        }
    }
    assert!(tested > 10000, "{tested}");
}
