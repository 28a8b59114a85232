"""Every kind of joint, force and body, and every option of a run.

Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank --test python_catalog`: do not edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._names import Body, Force, Joint, Probe, Symbol

if TYPE_CHECKING:
    from typing_extensions import Never

    from ._results import Results
    from ._simulation import Simulation
    from ._reports import Plan
    from ._types import (
        Course,
        Matrix,
        Names,
        Numbers,
        Pairs,
        Points,
        Progress,
        Scalar,
        Table,
        Text,
        Vector,
        Vectors,
    )


def section(
    *,
    radius: Scalar | None = None,
    inner: Scalar | None = None,
    width: Scalar | None = None,
    height: Scalar | None = None,
) -> Table:
    """The section: a circle, a tube or a rectangle.

    radius: radius of a circle [m]
    inner: inner radius of a tube [m]; default: none
    width: edge of a rectangle along the body's z [m]
    height: edge of a rectangle along the body's y [m]
    """
    values = {
        "radius": radius,
        "inner": inner,
        "width": width,
        "height": height,
    }
    return {key: value for key, value in values.items() if value is not None}


def rod(
    from_: Vector,
    to: Vector,
    *,
    mass: Scalar | None = None,
    radius: Scalar | None = None,
) -> Table:
    """A rod from point to point; the body's x axis runs along it.

    from_: one end at the start, in the world [m]
    to: the other end [m]
    mass: mass [kg]; default: the body's
    radius: radius [m]; default: thin
    """
    values = {
        "from": from_,
        "to": to,
        "mass": mass,
        "radius": radius,
    }
    return {key: value for key, value in values.items() if value is not None}


def box(
    size: Vector,
    *,
    mass: Scalar | None = None,
) -> Table:
    """A box with edges along the body's axes.

    size: lengths of the edges along x, y (and z) [m]
    mass: mass [kg]; default: the body's
    """
    values = {
        "size": size,
        "mass": mass,
    }
    return {key: value for key, value in values.items() if value is not None}


def sphere(
    radius: Scalar,
    *,
    mass: Scalar | None = None,
) -> Table:
    """A solid sphere.

    radius: radius [m]
    mass: mass [kg]; default: the body's
    """
    values = {
        "radius": radius,
        "mass": mass,
    }
    return {key: value for key, value in values.items() if value is not None}


def cylinder(
    radius: Scalar,
    *,
    length: Scalar | None = None,
    mass: Scalar | None = None,
) -> Table:
    """A solid cylinder along the body's z axis.

    radius: radius [m]
    length: length along z [m]; default: the radius
    mass: mass [kg]; default: the body's
    """
    values = {
        "radius": radius,
        "length": length,
        "mass": mass,
    }
    return {key: value for key, value in values.items() if value is not None}


def capsule(
    radius: Scalar,
    length: Scalar,
    *,
    mass: Scalar | None = None,
) -> Table:
    """A solid cylinder along the body's z axis with half spheres beyond its ends (space).

    radius: radius [m]
    length: length along z, without the half spheres [m]
    mass: mass [kg]; default: the body's
    """
    values = {
        "radius": radius,
        "length": length,
        "mass": mass,
    }
    return {key: value for key, value in values.items() if value is not None}


def cone(
    radius: Scalar,
    length: Scalar,
    *,
    mass: Scalar | None = None,
) -> Table:
    """A solid cone along the body's z axis, its tip up; the body's frame is in its centre of mass (space).

    radius: radius of its base [m]
    length: its height along z [m]
    mass: mass [kg]; default: the body's
    """
    values = {
        "radius": radius,
        "length": length,
        "mass": mass,
    }
    return {key: value for key, value in values.items() if value is not None}


def mesh(
    file: Text,
    *,
    scale: Numbers | None = None,
    at: Vector | None = None,
    orientation: Matrix | Table | None = None,
    density: Scalar | None = None,
) -> Table:
    """What the body looks like: an STL, OBJ, COLLADA or glTF file; with a `density` also its mass and inertia;
    `[visual.NAME]` for more.

    file: a file in the model's folder: .stl, .obj, .dae, .gltf or .glb
    scale: length of a unit of the file (0.001 for millimetres), or one for each of its axes; a negative one
        mirrors [m]; default: 1
    at: origin of the file, in the body's frame [m]; default: the centre of mass; with a `density`, so that
        the solid is where its centre of mass is
    orientation: rotation of the file in the body's frame: quaternion [w, x, y, z], { axis, angle }, { order,
        angles } or 3×3 matrix; default: the body's
    density: mass and inertia are those of the closed mesh; without `at` of the body, its centre of mass is
        where the file has it [kg/m³]; default: for looks only
    """
    values = {
        "file": file,
        "scale": scale,
        "at": at,
        "orientation": orientation,
        "density": density,
    }
    return {key: value for key, value in values.items() if value is not None}


def beam(
    from_: Vector,
    to: Vector,
    youngs_modulus: Scalar,
    *,
    up: Vector | None = None,
    mass: Scalar | None = None,
    density: Scalar | None = None,
    shear_modulus: Scalar | None = None,
    section: Table | None = None,
    area: Scalar | None = None,
    second_moment: Numbers | None = None,
    torsion_constant: Scalar | None = None,
    ends: Literal["pinned", "clamped"] | None = None,
    axial: Scalar | None = None,
    bending: Numbers | None = None,
    torsion: Scalar | None = None,
    static_modes: bool | None = None,
    damping: Scalar | None = None,
    rayleigh: Numbers | None = None,
    start: Literal["undeformed", "quasi-static"] | None = None,
    deflection: Numbers | None = None,
    deflection_rate: Numbers | None = None,
) -> Table:
    """A flexible beam from point to point, its frame at the first.

    from_: the end A at the start, in the world: the origin of the body's frame [m]
    to: the end B; the body's x axis runs from A to B [m]
    youngs_modulus: modulus of elasticity E [Pa]
    up: in space: where the body's y axis points, as far as it can; default: any
    mass: mass [kg]; default: from `density`
    density: density, instead of `mass` [kg/m³]; default: from `mass`
    shear_modulus: shear modulus G, for torsion [Pa]; default: E/2.6
    section: the section: a circle, a tube or a rectangle; default: by its moments
    area: area of the section [m²]; default: of the section
    second_moment: second moment of area against bending towards the body's y; in space [towards y, towards z]
        [m⁴]; default: of the section
    torsion_constant: torsion constant J (space) [m⁴]; default: of the section
    ends: what the modes keep fixed: `pinned` both ends on the x axis, `clamped` the end A with its direction;
        default: pinned
    axial: number of modes that stretch it; default: 1
    bending: number of modes that bend it; in space [towards y, towards z]; default: 2
    torsion: number of modes that twist it (space); default: 1
    static_modes: adds the deflections under forces and moments at the ends to the modes of each kind;
        default: false
    damping: damping ratio of every mode with the frame held; default: 0
    rayleigh: instead of `damping`: α and β of the damping matrix α M + β K [1/s, s]; default: none
    start: `quasi-static`: starts bent by the loads of the motion, so that nothing rings; default: undeformed
    deflection: modal coordinates at the start, in the order of the modes [m, rad]; default: none
    deflection_rate: their rates at the start [m/s, rad/s]; default: none
    """
    values = {
        "from": from_,
        "to": to,
        "up": up,
        "mass": mass,
        "density": density,
        "youngs_modulus": youngs_modulus,
        "shear_modulus": shear_modulus,
        "section": section,
        "area": area,
        "second_moment": second_moment,
        "torsion_constant": torsion_constant,
        "ends": ends,
        "axial": axial,
        "bending": bending,
        "torsion": torsion,
        "static_modes": static_modes,
        "damping": damping,
        "rayleigh": rayleigh,
        "start": start,
        "deflection": deflection,
        "deflection_rate": deflection_rate,
    }
    return {key: value for key, value in values.items() if value is not None}


def modal(
    file: Text,
    *,
    damping: Scalar | None = None,
    rayleigh: Numbers | None = None,
    start: Literal["undeformed", "quasi-static"] | None = None,
    deflection: Numbers | None = None,
    deflection_rate: Numbers | None = None,
) -> Table:
    """A flexible body from the modes in a file.

    file: a modal file in the model's folder: nodes, modes, stiffness
    damping: damping ratio of every mode with the frame held; default: 0
    rayleigh: instead of `damping`: α and β of the damping matrix α M + β K [1/s, s]; default: none
    start: `quasi-static`: starts bent by the loads of the motion, so that nothing rings; default: undeformed
    deflection: modal coordinates at the start, in the order of the modes [m, rad]; default: none
    deflection_rate: their rates at the start [m/s, rad/s]; default: none
    """
    values = {
        "file": file,
        "damping": damping,
        "rayleigh": rayleigh,
        "start": start,
        "deflection": deflection,
        "deflection_rate": deflection_rate,
    }
    return {key: value for key, value in values.items() if value is not None}


def table(
    table: Text,
    *,
    time: Text | None = None,
    scale: Scalar | None = None,
    interpolation: Literal["spline", "monotone"] | None = None,
    column: Text | None = None,
) -> Table:
    """A function of time from a file.

    table: a CSV file in the model's folder
    time: name of the column of times [s]; default: the first
    scale: factor on the values; default: 1
    interpolation: twice differentiable, or without overshoot but only once differentiable; default: spline
    column: name of the column of values; default: the second of two
    """
    values = {
        "table": table,
        "time": time,
        "scale": scale,
        "interpolation": interpolation,
        "column": column,
    }
    return {key: value for key, value in values.items() if value is not None}


class Elements:
    """What a model is made of."""

    def _element(self, section: str, name: str, kind: str | None, values: dict[str, Any]) -> str:
        raise NotImplementedError

    def body(
        self,
        name: str,
        *,
        mass: Scalar | None = None,
        inertia: Matrix | None = None,
        at: Vector | None = None,
        angle: Scalar | None = None,
        orientation: Matrix | Table | None = None,
        velocity: Vector | None = None,
        angular_velocity: Scalar | Vector | None = None,
        fixed: bool | None = None,
        coordinates: Literal["natural"] | None = None,
        rod: Table | None = None,
        box: Table | None = None,
        sphere: Table | None = None,
        cylinder: Table | None = None,
        capsule: Table | None = None,
        cone: Table | None = None,
        mesh: Table | None = None,
        beam: Table | None = None,
        modal: Table | None = None,
        colour: Text | None = None,
        opacity: Scalar | None = None,
        hidden: bool | None = None,
    ) -> Body:
        """A body; without a shape and an inertia it is a point mass. `ground` is the fixed world.

        mass: mass; zero where joints hold the body [kg]; default: from the shape
        inertia: moments of inertia about the centre of mass, in the body's frame [kg m²]; default: from the
            shape; without a shape the body is a point mass
        at: centre of mass (of a flexible body: origin of its frame) at the start, in the world [m]; default:
            from the shape, else the origin
        angle: angle at the start (plane) [rad]; default: 0
        orientation: rotation at the start (space): quaternion [w, x, y, z], { axis, angle }, { order, angles
            } or 3×3 matrix, body to world; default: along the world's axes
        velocity: velocity of the same point at the start [m/s]; default: at rest
        angular_velocity: angular velocity at the start, in the world [rad/s]; default: at rest
        fixed: keep this body's start when the model is assembled; default: false
        coordinates: `natural` for thin rods; default: rigid; of a thin rod in space natural
        rod: a rod from point to point; the body's x axis runs along it
        box: a box with edges along the body's axes
        sphere: a solid sphere
        cylinder: a solid cylinder along the body's z axis
        capsule: a solid cylinder along the body's z axis with half spheres beyond its ends (space)
        cone: a solid cone along the body's z axis, its tip up; the body's frame is in its centre of mass
            (space)
        mesh: what the body looks like: an STL, OBJ, COLLADA or glTF file; with a `density` also its mass and
            inertia; `[visual.NAME]` for more
        beam: a flexible beam from point to point, its frame at the first
        modal: a flexible body from the modes in a file
        colour: colour to draw it with: `"#e8863a"`, or a name such as `"red"`, `"steel"`, `"orange"`;
            default: chosen by the program, for a visual the body's
        opacity: how much of it is seen, from 0 (nothing) to 1 (opaque); default: opaque, for a visual the
            body's
        hidden: not drawn; default: false
        """
        given = {
            "mass": mass,
            "inertia": inertia,
            "at": at,
            "angle": angle,
            "orientation": orientation,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "fixed": fixed,
            "coordinates": coordinates,
            "rod": rod,
            "box": box,
            "sphere": sphere,
            "cylinder": cylinder,
            "capsule": capsule,
            "cone": cone,
            "mesh": mesh,
            "beam": beam,
            "modal": modal,
            "colour": colour,
            "opacity": opacity,
            "hidden": hidden,
        }
        return Body(self._element("body", name, None, given))

    def probe(
        self,
        name: str,
        *,
        body: str,
        at: Vector | None = None,
        on: Vector | None = None,
        relative_to: Text | None = None,
        angle: Scalar | None = None,
        orientation: Matrix | Table | None = None,
    ) -> Probe:
        """A point whose motion is recorded.

        body: the body it sits on
        at: the point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: the point in the body's frame [m]
        relative_to: the body that its motion is seen from, in that body's axes; default: the world
        angle: angle of its own axes against the body's (plane) [rad]; default: 0
        orientation: rotation of its own axes against the body's (space): quaternion [w, x, y, z], { axis,
            angle }, { order, angles } or 3×3 matrix; default: along the body's axes
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "relative_to": relative_to,
            "angle": angle,
            "orientation": orientation,
        }
        return Probe(self._element("probe", name, None, given))

    def marker(
        self,
        name: str,
        *,
        body: str,
        at: Vector | None = None,
        on: Vector | None = None,
        angle: Scalar | None = None,
        orientation: Matrix | Table | None = None,
    ) -> Body:
        """A named frame on a body; joints, forces and probes stand on it as on a body.

        body: the body it is on
        at: its point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: its point in the body's frame [m]
        angle: angle of its x axis (plane), in the world at the start; with `on`, against the body's [rad];
            default: 0
        orientation: rotation of its axes (space), in the world at the start; with `on`, against the body's:
            as that of a body; default: along the world's axes; with `on`, along the body's
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "angle": angle,
            "orientation": orientation,
        }
        return Body(self._element("marker", name, None, given))

    def visual(
        self,
        name: str,
        *,
        body: str,
        at: Vector | None = None,
        orientation: Matrix | Table | None = None,
        mesh: Table | None = None,
        box: Table | None = None,
        sphere: Table | None = None,
        ellipsoid: Table | None = None,
        cylinder: Table | None = None,
        capsule: Table | None = None,
        cone: Table | None = None,
        colour: Text | None = None,
        opacity: Scalar | None = None,
        hidden: bool | None = None,
    ) -> str:
        """A solid or a mesh on a body or on the ground, for looks; the visuals of a body are drawn in place of its
        shape.

        body: the body it belongs to, or `ground`
        at: where its origin is, in the body's frame [m]; default: the centre of mass
        orientation: its rotation in the body's frame: quaternion [w, x, y, z], { axis, angle }, { order,
            angles } or 3×3 matrix; default: the body's
        mesh: triangles from a file
        box: a box about its middle
        sphere: a sphere about its middle
        ellipsoid: an ellipsoid about its middle
        cylinder: a cylinder along z about its middle
        capsule: a cylinder along z about its middle, with half spheres beyond its ends
        cone: a cone along z about its centre of mass, its tip up
        colour: colour to draw it with: `"#e8863a"`, or a name such as `"red"`, `"steel"`, `"orange"`;
            default: chosen by the program, for a visual the body's
        opacity: how much of it is seen, from 0 (nothing) to 1 (opaque); default: opaque, for a visual the
            body's
        hidden: not drawn; default: false
        """
        given = {
            "body": body,
            "at": at,
            "orientation": orientation,
            "mesh": mesh,
            "box": box,
            "sphere": sphere,
            "ellipsoid": ellipsoid,
            "cylinder": cylinder,
            "capsule": capsule,
            "cone": cone,
            "colour": colour,
            "opacity": opacity,
            "hidden": hidden,
        }
        return str(self._element("visual", name, None, given))

    def include(
        self,
        name: str,
        *,
        file: Text,
        at: Vector | None = None,
        angle: Scalar | None = None,
        orientation: Matrix | Table | None = None,
        mirror: Literal["xy", "xz", "yz", "x", "y"] | None = None,
        set: Matrix | Table | None = None,
        ports: Matrix | Table | None = None,
    ) -> str:
        """Another model file as a part, whose names get this one in front: its body `hub` is `NAME.hub`.

        file: a model file in the model's folder, from the folder of this file
        at: where the origin of the part is [m]; default: the origin
        angle: angle of the part's x axis (plane) [rad]; default: 0
        orientation: rotation of the part (space): quaternion [w, x, y, z], { axis, angle }, { order, angles }
            or 3×3 matrix; default: along the axes of this file
        mirror: a plane of the part's own coordinates (in the plane an axis) that it is mirrored at, before it
            is placed; default: none
        set: values of the part's parameters, `{ k = 2e4 }`; of others by their path, `{ "body.hub.mass" = 12
            }`; default: none
        ports: bodies of the part that are bodies of this file, `{ ground = "chassis" }`: the part's own are
            left out; default: none
        """
        given = {
            "file": file,
            "at": at,
            "angle": angle,
            "orientation": orientation,
            "mirror": mirror,
            "set": set,
            "ports": ports,
        }
        return str(self._element("include", name, None, given))

    def input(
        self,
        name: str,
        *,
        start: Scalar | None = None,
        unit: Text | None = None,
        doc: Text | None = None,
    ) -> Symbol:
        """A number that can be set while a run goes on; expressions use it by its name.

        start: its value until it is set [any]; default: 0
        unit: its unit, in the results; default: none
        doc: what it means; default: none
        """
        given = {
            "start": start,
            "unit": unit,
            "doc": doc,
        }
        return Symbol(self._element("input", name, None, given))

    def state(
        self,
        name: str,
        *,
        rate: Course | Callable[[float], float] | None = None,
        input: Scalar | None = None,
        numerator: Numbers | None = None,
        denominator: Numbers | None = None,
        start: Scalar | None = None,
        unit: Text | None = None,
        doc: Text | None = None,
    ) -> Symbol:
        """A first-order state with the expression of its rate; expressions of the state use it by its name.

        rate: its rate: an expression of `t`, inputs, states, unfiltered outputs, and positions and velocities
            of joints, bodies and probes [any]; default: a transfer function
        input: of a transfer function: what goes into it, an expression like a rate; default: a `rate`
        numerator: coefficients of a transfer function, the highest power of s first [any]; default: 1
        denominator: of a higher degree than the numerator; at the start all is zero [any]; default: a `rate`
        start: with `rate`: its value at the start [any]; default: 0
        unit: its unit, in the results; default: none
        doc: what it means; default: none
        """
        given = {
            "rate": rate,
            "input": input,
            "numerator": numerator,
            "denominator": denominator,
            "start": start,
            "unit": unit,
            "doc": doc,
        }
        return Symbol(self._element("state", name, None, given))

    def fmu(
        self,
        name: str,
        *,
        file: Text,
        coupling: Literal["equations", "exchange"] | None = None,
        step: Scalar | None = None,
        inputs: Matrix | Table | None = None,
        outputs: Names | None = None,
        set: Matrix | Table | None = None,
        patience: Scalar | None = None,
        memory: Scalar | None = None,
    ) -> str:
        """An FMU of another tool, which runs beside the model; expressions use its outputs by name:
        `motor.torque`.

        file: an FMU in the model's folder: FMI 2.0 or 3.0, for co-simulation or model exchange
        coupling: whether its states are integrated with the model, or values are exchanged at equal distances
            in time; default: "equations" for model exchange without `step`, else "exchange"
        step: how often values are exchanged [s]; default: that of its file
        inputs: what it is given: for each of its inputs an expression of channels, parameters, inputs and
            `t`; default: at their start values
        outputs: which of its outputs are used and recorded, with `*` for any letters; default: all
        set: values of its parameters, and other start values; default: as in its file
        patience: how long an answer may take until it is stopped [s]; default: 30
        memory: how much memory it may take, in GiB; default: 2
        """
        given = {
            "file": file,
            "coupling": coupling,
            "step": step,
            "inputs": inputs,
            "outputs": outputs,
            "set": set,
            "patience": patience,
            "memory": memory,
        }
        return str(self._element("fmu", name, None, given))

    def table(
        self,
        name: str,
        *,
        x: Numbers,
        values: Numbers | Matrix,
        y: Numbers | None = None,
    ) -> str:
        """A function of one or two variables by a grid of values; expressions call it by its name.

        x: values of the first argument, increasing [any]
        values: for each `x` a number; with `y` a row of them for each `y` [any]
        y: values of the second argument, increasing [any]; default: one argument
        """
        given = {
            "x": x,
            "y": y,
            "values": values,
        }
        return str(self._element("table", name, None, given))

    def start(
        self,
        name: str,
        *,
        angle: Scalar | None = None,
        position: Scalar | None = None,
        rate: Scalar | None = None,
        speed: Scalar | None = None,
        angle2: Scalar | None = None,
        position2: Scalar | None = None,
        rate2: Scalar | None = None,
        speed2: Scalar | None = None,
    ) -> Joint:
        """Coordinates and rates of a joint at the start; the rest is assembled.

        angle: angle of a joint that turns [rad]; default: as drawn
        position: position of a joint that slides [m]; default: as drawn
        rate: rate of the angle, or of the position of a slide [rad/s, m/s]; default: 0
        speed: rate of the position of a joint that also turns [m/s]; default: 0
        angle2: second angle of a joint that has two [rad]; default: as drawn
        position2: second position of a joint that has two [m]; default: as drawn
        rate2: rate of the second angle or position [rad/s, m/s]; default: 0
        speed2: rate of the second position of a joint that also turns [m/s]; default: 0
        """
        given = {
            "angle": angle,
            "position": position,
            "rate": rate,
            "speed": speed,
            "angle2": angle2,
            "position2": position2,
            "rate2": rate2,
            "speed2": speed2,
        }
        return Joint(self._element("start", name, None, given))


class Joints:
    """Every kind of joint."""

    def __init__(self, model: Elements) -> None:
        self._model = model

    def fixed(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """Holds two bodies together; no motion stays free.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "fixed", given))

    def revolute(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A hinge: one rotation about `axis`.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "revolute", given))

    def prismatic(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A slide: one translation along `axis`, no rotation.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "prismatic", given))

    def cylindrical(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A shaft in a sleeve: one rotation about `axis` and one translation along it. Only in space; in the plane
        use a revolute joint for a shaft seen end on, a prismatic one for a shaft in the plane.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "cylindrical", given))

    def spherical(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A ball joint: the points stay together, all rotations are free (in the plane the same as a revolute).

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "spherical", given))

    def universal(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A Hooke's joint: a cross that turns in the first body about `axis` and in the second about `axis2`,
        which is perpendicular to `axis`. Only in space; in the plane use a revolute joint.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "universal", given))

    def constant_velocity(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A homokinetic joint: the shafts `axis` of the first body and `axis2` of the second may incline at the
        point where they meet, and turn by equal angles at any inclination. Only in space; in the plane use a
        revolute joint.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "constant-velocity", given))

    def planar(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A flat face on another: two translations in the plane normal to `axis` (the first along `axis2`), one
        rotation about it. Only in space; in the plane use no joint: bodies of a planar model move so by
        themselves.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "planar", given))

    def point_on_line(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A pin in a slot, a bead on a wire: a point of the second body slides along `axis` of the first, all
        rotations are free.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "point-on-line", given))

    def point_on_plane(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A point of the second body stays in the plane of the first that is normal to `axis`, all rotations are
        free. Only in space; in the plane use a point-on-line joint.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "point-on-plane", given))

    def point_on_curve(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
        curve: Vector | None = None,
        range: Numbers | None = None,
        points: Pairs | None = None,
        closed: bool | None = None,
    ) -> Joint:
        """A bead on a wire, a pin in a curved slot, a barrel cam: a point of the second body stays on a curve of
        the first, all rotations are free. The first point is the origin of the curve's frame, the second one
        follows. That frame has the axes of the world at the start (with `on` those of the first body), in space
        with z along `axis` and x along `axis2`. In space the curve must not cross itself as seen along z.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        curve: the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points`
        range: with `curve`: the first and the last `s` [any]
        points: points [x, y] of the curve, through which a cubic spline runs [m]; default: by a `curve`
        closed: the curve ends where it begins; of points the first follows the last; default: false
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "curve": curve,
            "range": range,
            "points": points,
            "closed": closed,
        }
        return Joint(self._model._element("joint", name, "point-on-curve", given))

    def cam(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
        curve: Vector | None = None,
        range: Numbers | None = None,
        points: Pairs | None = None,
        closed: bool | None = None,
        radius: Scalar | None = None,
        face: Vector | None = None,
    ) -> Joint:
        """A cam on the first body with a follower on the second that never leaves it: a roller of a `radius` about
        the second point, or a flat face through it (`face` is its normal, away from the cam). The cam is a
        curve in a frame at the first point, with the axes of the world at the start (with `on` those of the
        first body); in space it is a cylinder along z of that frame (`axis`). The roller stays on the side of
        the curve that it starts on. For a follower that may lift off use the force `contact` with a `curve`.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        curve: the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points`
        range: with `curve`: the first and the last `s` [any]
        points: points [x, y] of the curve, through which a cubic spline runs [m]; default: by a `curve`
        closed: the curve ends where it begins; of points the first follows the last; default: false
        radius: radius of the roller [m]; default: a `face`
        face: normal of a flat face, away from the cam (plane): in the world at the start, with `on` in the
            body's frame; default: a roller
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "curve": curve,
            "range": range,
            "points": points,
            "closed": closed,
            "radius": radius,
            "face": face,
        }
        return Joint(self._model._element("joint", name, "cam", given))

    def curve_on_curve(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
        curve: Vector | None = None,
        range: Numbers | None = None,
        points: Pairs | None = None,
        closed: bool | None = None,
        curve2: Vector | None = None,
        range2: Numbers | None = None,
        points2: Pairs | None = None,
        closed2: bool | None = None,
        inside: bool | None = None,
        radius: Scalar | None = None,
        radius2: Scalar | None = None,
    ) -> Joint:
        """Two curves, one on each body, that stay in touch and slide on each other: cams with curved shoes, wheels
        that are not round, rings and hooks. Each curve is in a frame at its point, with the axes of the world
        at the start (with `on` those of the body). In the plane the free side of a closed curve is its outside,
        of an open one its left; with `inside` the second body is within the first curve; the second body is
        convex, and more curved than any hollow of the first. In space the frames have z along `axis` and x
        along `axis2`, and the curves are the middle lines of round wires (`radius`, `radius2`), or cross as
        lines without thickness. They touch at one place, the nearest. For bodies that may lift off use the
        force `curve-contact`.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        curve: the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points`
        range: with `curve`: the first and the last `s` [any]
        points: points [x, y] of the curve, through which a cubic spline runs [m]; default: by a `curve`
        closed: the curve ends where it begins; of points the first follows the last; default: false
        curve2: the curve in the second frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points2`
        range2: with `curve2`: the first and the last `s` [any]
        points2: points [x, y] of the second curve, through which a cubic spline runs [m]; default: by a
            `curve2`
        closed2: the second curve ends where it begins; of points the first follows the last; default: false
        inside: in the plane: the second body is inside of the first curve, which is closed; default: false
        radius: in space: the curve is the middle line of a round wire of this radius [m]; default: 0
        radius2: in space: the same of the second curve [m]; default: 0
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "curve": curve,
            "range": range,
            "points": points,
            "closed": closed,
            "curve2": curve2,
            "range2": range2,
            "points2": points2,
            "closed2": closed2,
            "inside": inside,
            "radius": radius,
            "radius2": radius2,
        }
        return Joint(self._model._element("joint", name, "curve-on-curve", given))

    def distance(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
        length: Scalar | None = None,
    ) -> Joint:
        """A massless bar between two points, one on each body.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        length: the distance [m]; default: that at the start
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "length": length,
        }
        return Joint(self._model._element("joint", name, "distance", given))

    def screw(
        self,
        name: str,
        *,
        between: Names,
        pitch: Scalar,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A screw in its nut: a rotation about `axis` is also a translation along it. Only in space; in the plane
        use a rack joint between a revolute and a prismatic one.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        pitch: translation of the second body along `axis` per turn; negative for a left-handed thread [m]
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "pitch": pitch,
        }
        return Joint(self._model._element("joint", name, "screw", given))

    def gear(
        self,
        name: str,
        *,
        joints: Names,
        ratio: Scalar,
    ) -> Joint:
        """Two wheels in mesh: the angle of the second of two turning `joints` is `ratio` times that of the first,
        counted from the start, over any number of turns.

        joints: the two joints whose motions it couples
        ratio: turns of the second joint per turn of the first; negative for external gears
        """
        given = {
            "joints": joints,
            "ratio": ratio,
        }
        return Joint(self._model._element("joint", name, "gear", given))

    def belt(
        self,
        name: str,
        *,
        joints: Names,
        radii: Numbers,
        crossed: bool | None = None,
    ) -> Joint:
        """A belt or chain that does not slip, over pulleys on two turning `joints`: the rims of both have the same
        speed.

        joints: the two joints whose motions it couples
        radii: radii of the pulleys [m]
        crossed: the pulleys turn opposite ways; default: false
        """
        given = {
            "joints": joints,
            "radii": radii,
            "crossed": crossed,
        }
        return Joint(self._model._element("joint", name, "belt", given))

    def rack(
        self,
        name: str,
        *,
        joints: Names,
        radius: Scalar,
    ) -> Joint:
        """A pinion and its rack: the first of two `joints` turns, and the second slides by `radius` times the
        angle.

        joints: the two joints whose motions it couples
        radius: pitch radius of the pinion; negative if the rack moves backwards when the pinion turns
            forwards [m]
        """
        given = {
            "joints": joints,
            "radius": radius,
        }
        return Joint(self._model._element("joint", name, "rack", given))

    def tie(
        self,
        name: str,
        *,
        joints: Names,
        ratio: Scalar | None = None,
        offset: Scalar | None = None,
        coordinates: Names | None = None,
    ) -> Joint:
        """Couples two joint coordinates: x₂ = offset + ratio · x₁ for one coordinate of each of two `joints`,
        turns or slides, over any number of turns.

        joints: the two joints whose motions it couples
        ratio: motion of the second joint per motion of the first [rad/rad, m/m, m/rad, rad/m]; default: 1
        offset: the second coordinate where the first is zero [rad, m]; default: as drawn
        coordinates: which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …;
            default: their only ones
        """
        given = {
            "joints": joints,
            "ratio": ratio,
            "offset": offset,
            "coordinates": coordinates,
        }
        return Joint(self._model._element("joint", name, "tie", given))

    def armature(
        self,
        name: str,
        *,
        joint: str,
        inertia: Scalar,
        coordinate: Text | None = None,
    ) -> Joint:
        """Reflected inertia of a motor: `inertia` along one coordinate x of a joint, with the kinetic energy ½ ·
        inertia · (dx/dt)². It has no weight and no gyroscopic effect; a rotor of inertia J behind a gear of
        ratio n counts as n² · J.

        joint: the joint it acts on
        inertia: inertia along the coordinate, as the joint feels it [kg m², kg]
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "inertia": inertia,
        }
        return Joint(self._model._element("joint", name, "armature", given))

    def drive(
        self,
        name: str,
        *,
        joint: str,
        angle: Course | Callable[[float], float] | None = None,
        position: Course | Callable[[float], float] | None = None,
        rate: Course | Callable[[float], float] | None = None,
        speed: Course | Callable[[float], float] | None = None,
        angle2: Course | Callable[[float], float] | None = None,
        position2: Course | Callable[[float], float] | None = None,
        rate2: Course | Callable[[float], float] | None = None,
        speed2: Course | Callable[[float], float] | None = None,
    ) -> Joint:
        """A motor that makes one coordinate of another joint (or its rate) follow a function of time; give one of
        the keys by which the joint's results are named.

        joint: the joint it acts on
        angle: the angle, up to full turns [rad]; default: free
        position: the position [m]; default: free
        rate: the rate, from wherever the start is [rad/s, m/s]; default: free
        speed: the rate of the slide of a joint that also turns [m/s]; default: free
        angle2: the second angle [rad]; default: free
        position2: the second position [m]; default: free
        rate2: the rate of the second motion [rad/s, m/s]; default: free
        speed2: the rate of the second slide [m/s]; default: free
        """
        given = {
            "joint": joint,
            "angle": angle,
            "position": position,
            "rate": rate,
            "speed": speed,
            "angle2": angle2,
            "position2": position2,
            "rate2": rate2,
            "speed2": speed2,
        }
        return Joint(self._model._element("joint", name, "drive", given))

    def drive_point(
        self,
        name: str,
        *,
        body: str,
        position: Vectors,
        at: Vector | None = None,
        on: Vector | None = None,
    ) -> Joint:
        """Moves a point of a body along a path in the world.

        body: the body whose point it holds
        position: where the point is, in the world [m]
        at: the point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: the point in the body's frame [m]
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "position": position,
        }
        return Joint(self._model._element("joint", name, "drive-point", given))

    def knife_edge(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
    ) -> Joint:
        """A skate or blade on the second body: its point has no velocity across the edge `axis`; in space `axis2`
        is the direction across. A nonholonomic joint.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
        }
        return Joint(self._model._element("joint", name, "knife-edge", given))

    def rolling_disk(
        self,
        name: str,
        *,
        between: Names,
        radius: Scalar,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        tree: bool | None = None,
        normal: Vector | None = None,
    ) -> Joint:
        """A thin disk on the second body that rolls on a plane of the first without slip (in the plane: a wheel on
        a line). The first point lies in that plane, the second is the centre of the disk, and `axis` is its
        axle.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        radius: radius of the disk [m]
        at: the joint's point in the world at the start (two for a distance or a rolling disk) [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z, in the plane x
        axis2: second axis, where a joint has two; else where its angle is zero; default: any
        tree: relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut;
            default: chosen
        normal: normal of the plane it rolls on; default: z, in the plane y
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "tree": tree,
            "radius": radius,
            "normal": normal,
        }
        return Joint(self._model._element("joint", name, "rolling-disk", given))


class Forces:
    """Every kind of force."""

    def __init__(self, model: Elements) -> None:
        self._model = model

    def spring_damper(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        stiffness: Scalar | None = None,
        curve: Pairs | None = None,
        damping: Scalar | None = None,
        length: Scalar | None = None,
        tension_only: bool | None = None,
        compression_only: bool | None = None,
        engagement: Scalar | None = None,
    ) -> Force:
        """A spring and damper along the line between two points: tension F(l − length) + damping · dl/dt with F(s)
        = stiffness · s, or F the curve through given points (monotone where they are, beyond them straight). A
        one-sided one acts in tension (a cable) or in compression (a stop) alone.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z
        axis2: second axis; default: any
        stiffness: stiffness [N/m]; default: a `curve`
        curve: pairs [elongation, tension] instead of `stiffness` [m, N]
        damping: viscous damping [N s/m]; default: 0
        length: unstretched length [m]; default: that at the start
        tension_only: acts only when longer than `length`; default: false
        compression_only: acts only when shorter than `length`; default: false
        engagement: elongation over which the damping of a one-sided spring sets in [m]; default: 1 % of
            `length`
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "stiffness": stiffness,
            "curve": curve,
            "damping": damping,
            "length": length,
            "tension_only": tension_only,
            "compression_only": compression_only,
            "engagement": engagement,
        }
        return Force(self._model._element("force", name, "spring-damper", given))

    def torsional_spring_damper(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        stiffness: Scalar | None = None,
        curve: Pairs | None = None,
        damping: Scalar | None = None,
        angle: Scalar | None = None,
    ) -> Force:
        """A spring and damper about an axis: torque −F(θ − angle) − damping · dθ/dt on the second body with F(s) =
        stiffness · s, or F the curve through given points. In the plane θ is the second body's angle less the
        first's; in space it is counted from the start.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z
        axis2: second axis; default: any
        stiffness: stiffness [N m/rad]; default: a `curve`
        curve: pairs [angle, torque] instead of `stiffness` [rad, N m]
        damping: viscous damping [N m s/rad]; default: 0
        angle: angle at which the spring is at rest [rad]; default: 0
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "stiffness": stiffness,
            "curve": curve,
            "damping": damping,
            "angle": angle,
        }
        return Force(self._model._element("force", name, "torsional-spring-damper", given))

    def joint_spring(
        self,
        name: str,
        *,
        joint: str,
        coordinate: Text | None = None,
        stiffness: Scalar | None = None,
        curve: Pairs | None = None,
        damping: Scalar | None = None,
        rest: Scalar | None = None,
    ) -> Force:
        """A spring and damper along a joint coordinate x: −F(x − rest) − damping · dx/dt with F(s) = stiffness ·
        s, or F the curve through given points. x is the recorded coordinate, over any number of turns.

        joint: the joint it acts on
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        stiffness: stiffness [N/m, N m/rad]; default: a `curve`
        curve: pairs [displacement, force] instead of `stiffness` [m, N; rad, N m]
        damping: viscous damping [N s/m, N m s/rad]; default: 0
        rest: coordinate at which the spring is at rest [m, rad]; default: 0
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "stiffness": stiffness,
            "curve": curve,
            "damping": damping,
            "rest": rest,
        }
        return Force(self._model._element("force", name, "joint-spring", given))

    def bushing(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        stiffness: Matrix | None = None,
        damping: Matrix | None = None,
        curve: Table | None = None,
        offset: Numbers | None = None,
        preload: Numbers | None = None,
    ) -> Force:
        """Springs and dampers in all directions between two frames, by the displacement (x, y, z) of the second
        frame seen from the first and the rotation vector (rx, ry, rz) between them; in the plane (x, y, angle).
        The load on the second body is −stiffness · s − curve(s) + preload − damping · ds/dt with s the
        displacement less `offset`. In the plane turns are counted from the start; in space rotations must stay
        below half a turn, and a run that goes further reports it.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z
        axis2: second axis; default: any
        stiffness: diagonal or full symmetric matrix [N/m, N m/rad]; default: none
        damping: diagonal or full symmetric matrix [N s/m, N m s/rad]; default: none
        curve: nonlinear springs by direction, in addition to `stiffness`; default: none
        offset: displacement and rotation vector at which the springs are at rest [m, rad]; default: none
        preload: constant force and torque on the second body, in the directions of the first frame [N, N m];
            default: none
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "stiffness": stiffness,
            "damping": damping,
            "curve": curve,
            "offset": offset,
            "preload": preload,
        }
        return Force(self._model._element("force", name, "bushing", given))

    def force(
        self,
        name: str,
        *,
        body: str,
        force: Vectors,
        at: Vector | None = None,
        on: Vector | None = None,
        frame: Literal["world", "body"] | None = None,
    ) -> Force:
        """A force at a point of a body as a function of time and of the state, in the world's directions or in
        those of the body.

        body: the body it acts on
        force: the force, each component a function of t and the state [N]
        at: the point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: the point in the body's frame [m]
        frame: the axes of its components; with `body` it turns with the body (a follower load); default:
            world
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "force": force,
            "frame": frame,
        }
        return Force(self._model._element("force", name, "force", given))

    def torque(
        self,
        name: str,
        *,
        body: str,
        torque: Course | Vectors,
        at: Vector | None = None,
        on: Vector | None = None,
        frame: Literal["world", "body"] | None = None,
    ) -> Force:
        """A torque on a body as a function of time and of the state: a number in the plane, three in space, in the
        world's directions or in those of the body.

        body: the body it acts on
        torque: the torque, a function of t and the state [N m]
        at: the point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: the point in the body's frame [m]
        frame: the axes of its components; with `body` it turns with the body (a follower load); default:
            world
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "torque": torque,
            "frame": frame,
        }
        return Force(self._model._element("force", name, "torque", given))

    def drag(
        self,
        name: str,
        *,
        body: str,
        at: Vector | None = None,
        on: Vector | None = None,
        cd: Scalar | None = None,
        area: Scalar | None = None,
        density: Scalar | None = None,
        coefficient: Scalar | None = None,
        linear: Scalar | None = None,
        wind: Vectors | None = None,
    ) -> Force:
        """Drag at a point of a body: −c |u| u − linear · u with the velocity u of the point relative to the wind
        and c = ½ · density · cd · area, the same from every side.

        body: the body it acts on
        at: the point in the world at the start [m]; default: the centre of mass
        on: instead of `at`: the point in the body's frame [m]
        cd: drag coefficient
        area: area it refers to [m²]
        density: density of the medium (air at sea level) [kg/m³]; default: 1.225
        coefficient: instead of `cd`, `area` and `density`: c [kg/m]
        linear: drag in proportion to the speed: 6π · viscosity · radius of a slow sphere (Stokes) [N s/m];
            default: 0
        wind: velocity of the medium, a function of t [m/s]; default: none
        """
        given = {
            "body": body,
            "at": at,
            "on": on,
            "cd": cd,
            "area": area,
            "density": density,
            "coefficient": coefficient,
            "linear": linear,
            "wind": wind,
        }
        return Force(self._model._element("force", name, "drag", given))

    def attraction(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        masses: Numbers | None = None,
        constant: Scalar | None = None,
    ) -> Force:
        """Gravity between two points, as a rule the centres of mass: constant · m₁ m₂/r² along the line between
        them. (The gravity of the earth's surface is `gravity` under [model].).

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z
        axis2: second axis; default: any
        masses: the two masses [kg]; default: those of the bodies
        constant: constant of gravitation [CODATA 2018] [m³/(kg s²)]; default: 6.6743e-11
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "masses": masses,
            "constant": constant,
        }
        return Force(self._model._element("force", name, "attraction", given))

    def joint_friction(
        self,
        name: str,
        *,
        joint: str,
        coordinate: Text | None = None,
        viscous: Scalar | None = None,
        coulomb: Scalar | None = None,
        coefficient: Scalar | None = None,
        preload: Scalar | None = None,
        radius: Scalar | None = None,
        length: Scalar | None = None,
        velocity: Scalar | None = None,
        static: Scalar | None = None,
        static_coefficient: Scalar | None = None,
    ) -> Force:
        """Friction along a joint coordinate x: −viscous · dx/dt − coulomb · tanh((dx/dt)/velocity). The level
        `coulomb` is given, or follows the reaction R of the joint: coefficient · (preload + R), of a turn times
        `radius`. R is the force across the axis, of a turn also the thrust along it; with `length`, moments
        across the axis press two bearings (or the ends of a guide) at that distance, and on a slide with
        `radius`, moments about the axis press too. Below `velocity` the joint creeps instead of sticking. With
        `static` or `static_coefficient` it sticks: dry friction is then exactly that of sliding, and x is held
        while that takes no more; sticking and slipping are events. Impacts do not rub.

        joint: the joint it acts on
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        viscous: viscous friction [N s/m, N m s/rad]; default: 0
        coulomb: dry friction: the force or torque when sliding [N, N m]; default: 0
        coefficient: dry friction that follows the reaction of the joint: the coefficient when sliding;
            default: `coulomb`
        preload: with `coefficient`: a force that presses the surfaces together whatever the reaction [N];
            default: 0
        radius: with `coefficient`: the radius at which a turn rubs, or that of a guide which keeps a slide
            from turning [m]; default: moments about a slide do not press
        length: with `coefficient`: the distance of two bearings, or the length of the guide, about the place
            on the second body [m]; default: moments across the axis do not press
        velocity: rate at which dry friction reaches 76 % of its level [m/s, rad/s]; default: 0.01
        static: the force or torque up to which it sticks, at least `coulomb` [N, N m]; default: creeps
        static_coefficient: the coefficient up to which it sticks, at least `coefficient`; default: creeps
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "viscous": viscous,
            "coulomb": coulomb,
            "coefficient": coefficient,
            "preload": preload,
            "radius": radius,
            "length": length,
            "velocity": velocity,
            "static": static,
            "static_coefficient": static_coefficient,
        }
        return Force(self._model._element("force", name, "joint-friction", given))

    def stop(
        self,
        name: str,
        *,
        joint: str,
        coordinate: Text | None = None,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        stiffness: Scalar | None = None,
        damping: Scalar | None = None,
        restitution: Scalar | None = None,
        rest_speed: Scalar | None = None,
        push_out: bool | None = None,
    ) -> Force:
        """Stops at the limits of a joint coordinate x: at the depth d beyond `lower` or `upper` they push back by
        stiffness · d · (1 + damping · dd/dt), and never pull. With `restitution` they are hard: x bounces off,
        and rests where less than `rest_speed` would be left. Touching, leaving and bouncing are events.

        joint: the joint it acts on
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        lower: lower limit of the coordinate [m, rad]; default: no limit
        upper: upper limit of the coordinate [m, rad]; default: no limit
        stiffness: stiffness of the stops [N/m, N m/rad]; default: `restitution`
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        restitution: instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1); default:
            a soft one
        rest_speed: with `restitution`: an impact that would leave less than this ends at rest [m/s, rad/s];
            default: 0.001
        push_out: with `restitution`: bodies that start too deep are moved out until they touch; without it,
            such a start is an error; default: false
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "lower": lower,
            "upper": upper,
            "stiffness": stiffness,
            "damping": damping,
            "restitution": restitution,
            "rest_speed": rest_speed,
            "push_out": push_out,
        }
        return Force(self._model._element("force", name, "stop", given))

    def gear_mesh(
        self,
        name: str,
        *,
        joints: Names,
        ratio: Scalar,
        stiffness: Scalar,
        backlash: Scalar | None = None,
        damping: Scalar | None = None,
        viscous: Scalar | None = None,
        offset: Scalar | None = None,
        coordinates: Names | None = None,
    ) -> Force:
        """Teeth that give and have play, between one coordinate of each of two `joints`, turns or slides: the
        second is ahead of its place by d = x₂ − ratio · x₁, counted from the start, over any number of turns.
        Up to half the `backlash` on either side nothing touches; beyond that by s, a flank pushes back with
        stiffness · s · (1 + damping · ds/dt), and never pulls. Flanks that touch and leave are events.
        `viscous` acts everywhere. Without `backlash` it is a spring, stiffness · d, with `viscous` as its
        damper. The load on the first joint is −ratio times that on the second.

        joints: the two joints it acts between
        ratio: motion of the second joint per motion of the first; negative for external gears [rad/rad, m/m,
            m/rad, rad/m]
        stiffness: stiffness of the teeth, seen at the second joint [N/m, N m/rad]
        backlash: the whole play, seen at the second joint [m, rad]; default: 0
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        viscous: damping that acts also within the play [N s/m, N m s/rad]; default: 0
        offset: how far the second is ahead of the middle of the play at the start [m, rad]; default: 0
        coordinates: which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …;
            default: their only ones
        """
        given = {
            "joints": joints,
            "ratio": ratio,
            "stiffness": stiffness,
            "backlash": backlash,
            "damping": damping,
            "viscous": viscous,
            "offset": offset,
            "coordinates": coordinates,
        }
        return Force(self._model._element("force", name, "gear-mesh", given))

    def contact(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        normal: Vector | None = None,
        radius: Scalar | None = None,
        radii: Numbers | None = None,
        curve: Vector | None = None,
        range: Numbers | None = None,
        points: Pairs | None = None,
        closed: bool | None = None,
        stiffness: Scalar | None = None,
        exponent: Scalar | None = None,
        damping: Scalar | None = None,
        friction: Scalar | None = None,
        velocity: Scalar | None = None,
        restitution: Scalar | None = None,
        rest_speed: Scalar | None = None,
        push_out: bool | None = None,
    ) -> Force:
        """Contact of a sphere about a point of the second body with a plane through a point of the first
        (`normal`, which points at the sphere), or with a sphere about that point (`radii`); in the plane of a
        disk with a line, a disk or a `curve`, a cam: the first point is the origin of its frame, which has the
        axes of the world at the start (with `on` those of the first body), and the disk touches from the side
        that it starts on. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never
        pull, with friction across. With `restitution` they are hard: they bounce, and rest where less than
        `rest_speed` would be left; with `friction` the impact also has Coulomb's friction, and a resting body
        slides, rolls or sticks. Touching, leaving, bouncing, sliding and sticking are events.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]; default: the centres of mass
        on: instead of `at`: the point on each body, in its own frame [m]
        normal: normal of the plane of the first body; default: two spheres
        radius: radius of the sphere [m]; default: that of the second body
        radii: radii of two spheres [m]; default: those of the bodies
        curve: the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points`
        range: with `curve`: the first and the last `s` [any]
        points: points [x, y] of the curve, through which a cubic spline runs [m]; default: by a `curve`
        closed: the curve ends where it begins; of points the first follows the last; default: false
        stiffness: stiffness [N/m^exponent]; default: `restitution`
        exponent: exponent of the depth: 3/2 after Hertz, 1 for a spring; default: 1.5
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        friction: coefficient of friction; default: 0
        velocity: speed of sliding at which friction reaches 71 % of its level [m/s]; default: 0.01
        restitution: instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1); default:
            a soft one
        rest_speed: with `restitution`: an impact that would leave less than this ends at rest [m/s, rad/s];
            default: 0.001
        push_out: with `restitution`: bodies that start too deep are moved out until they touch; without it,
            such a start is an error; default: false
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "normal": normal,
            "radius": radius,
            "radii": radii,
            "curve": curve,
            "range": range,
            "points": points,
            "closed": closed,
            "stiffness": stiffness,
            "exponent": exponent,
            "damping": damping,
            "friction": friction,
            "velocity": velocity,
            "restitution": restitution,
            "rest_speed": rest_speed,
            "push_out": push_out,
        }
        return Force(self._model._element("force", name, "contact", given))

    def curve_contact(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        axis: Points | None = None,
        axis2: Points | None = None,
        curve: Vector | None = None,
        range: Numbers | None = None,
        points: Pairs | None = None,
        closed: bool | None = None,
        curve2: Vector | None = None,
        range2: Numbers | None = None,
        points2: Pairs | None = None,
        closed2: bool | None = None,
        inside: bool | None = None,
        radius: Scalar | None = None,
        radius2: Scalar | None = None,
        stiffness: Scalar | None = None,
        exponent: Scalar | None = None,
        damping: Scalar | None = None,
        friction: Scalar | None = None,
        velocity: Scalar | None = None,
        restitution: Scalar | None = None,
        rest_speed: Scalar | None = None,
        push_out: bool | None = None,
    ) -> Force:
        """Contact between two curves, one on each body, as of the joint `curve-on-curve`: they push each other
        apart and may lift off. In space one of the wires at least needs a radius. At the depth d they push by
        stiffness · d^exponent · (1 + damping · dd/dt), and never pull, with friction across; with `restitution`
        they are hard: they bounce, and rest where less than `rest_speed` would be left. Touching, leaving and
        bouncing are events.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]
        on: instead of `at`: the point on each body, in its own frame [m]
        axis: axis in the world at the start; with `on`, on each body; default: z
        axis2: second axis; default: any
        curve: the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points`
        range: with `curve`: the first and the last `s` [any]
        points: points [x, y] of the curve, through which a cubic spline runs [m]; default: by a `curve`
        closed: the curve ends where it begins; of points the first follows the last; default: false
        curve2: the curve in the second frame: x, y (and z) as expressions of a parameter `s`, parameters and
            tables [m]; default: through `points2`
        range2: with `curve2`: the first and the last `s` [any]
        points2: points [x, y] of the second curve, through which a cubic spline runs [m]; default: by a
            `curve2`
        closed2: the second curve ends where it begins; of points the first follows the last; default: false
        inside: in the plane: the second body is inside of the first curve, which is closed; default: false
        radius: in space: the curve is the middle line of a round wire of this radius [m]; default: 0
        radius2: in space: the same of the second curve [m]; default: 0
        stiffness: stiffness [N/m^exponent]; default: `restitution`
        exponent: exponent of the depth: 3/2 after Hertz, 1 for a spring; default: 1.5
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        friction: coefficient of friction; default: 0
        velocity: speed of sliding at which friction reaches 71 % of its level [m/s]; default: 0.01
        restitution: instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1); default:
            a soft one
        rest_speed: with `restitution`: an impact that would leave less than this ends at rest [m/s, rad/s];
            default: 0.001
        push_out: with `restitution`: bodies that start too deep are moved out until they touch; without it,
            such a start is an error; default: false
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "axis": axis,
            "axis2": axis2,
            "curve": curve,
            "range": range,
            "points": points,
            "closed": closed,
            "curve2": curve2,
            "range2": range2,
            "points2": points2,
            "closed2": closed2,
            "inside": inside,
            "radius": radius,
            "radius2": radius2,
            "stiffness": stiffness,
            "exponent": exponent,
            "damping": damping,
            "friction": friction,
            "velocity": velocity,
            "restitution": restitution,
            "rest_speed": rest_speed,
            "push_out": push_out,
        }
        return Force(self._model._element("force", name, "curve-contact", given))

    def tyre(
        self,
        name: str,
        *,
        between: Names,
        at: Points | None = None,
        on: Points | None = None,
        normal: Vector | None = None,
        axis: Points | None = None,
        road: Scalar | None = None,
        radius: Scalar | None = None,
        stiffness: Scalar | None = None,
        damping: Scalar | None = None,
        friction: Scalar | None = None,
        slip_stiffness: Numbers | None = None,
        camber_stiffness: Scalar | None = None,
        trail: Scalar | None = None,
        file: Text | None = None,
        mirrored: bool | None = None,
        relaxation: Numbers | None = None,
        rolling_radius: Scalar | None = None,
        rolling_resistance: Scalar | None = None,
        velocity: Scalar | None = None,
    ) -> Force:
        """A tyre on the second body that rolls and slips on a road of the first: vertical spring and damper, which
        never pull, forces along and across from slip, slip angle and camber, with relaxation lengths. The law
        is a brush model (`friction`, `slip_stiffness`), or the magic formula with coefficients from a `file`.
        The road is flat, or has the height `road` over x and y of its own frame. `axis` is the axle and points
        to the left of the wheel, which rolls towards axis × normal (in the plane along the normal turned
        clockwise). Touching and leaving are events.

        between: two bodies, or `ground` and a body; a marker stands for its body with its point and axes
        at: points in the world at the start [m]; default: the centres of mass
        on: instead of `at`: the point on each body, in its own frame [m]
        normal: upward normal of the road's frame; default: z, in the plane y
        axis: the axle, to the left (space); default: y
        road: height of the road above its frame, an expression of `x`, `y`, parameters and tables [m];
            default: 0
        radius: unloaded radius [m]; default: that of the wheel
        stiffness: vertical stiffness [N/m]; default: from the `file`
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        friction: brush model: coefficient of friction; default: from the `file`
        slip_stiffness: brush model: force per slip and per tangent of the slip angle at small slip; one
            number for both [N]; default: from the `file`
        camber_stiffness: brush model: force per sine of the camber [N]; default: 0
        trail: brush model: pneumatic trail at small slip [m]; default: 0
        file: coefficients of the magic formula: a .tir file in the model's folder; default: the brush model
        mirrored: the tyre and its `road` in a mirror, left for right: files are of tyres on one side, and
            `road` gets −y for y; default: false
        relaxation: relaxation lengths along and across; one number for both [m]; default: none, or from the
            `file`
        rolling_radius: effective rolling radius: speed over spin when rolling freely [m]; default: the loaded
            radius
        rolling_resistance: coefficient of rolling resistance: moment over load and radius; default: 0
        velocity: below about this speed slip is measured against it: a standing tyre creeps [m/s]; default:
            0.1
        """
        given = {
            "between": between,
            "at": at,
            "on": on,
            "normal": normal,
            "axis": axis,
            "road": road,
            "radius": radius,
            "stiffness": stiffness,
            "damping": damping,
            "friction": friction,
            "slip_stiffness": slip_stiffness,
            "camber_stiffness": camber_stiffness,
            "trail": trail,
            "file": file,
            "mirrored": mirrored,
            "relaxation": relaxation,
            "rolling_radius": rolling_radius,
            "rolling_resistance": rolling_resistance,
            "velocity": velocity,
        }
        return Force(self._model._element("force", name, "tyre", given))

    def rope(
        self,
        name: str,
        *,
        bodies: Names,
        stiffness: Scalar,
        at: Points | None = None,
        on: Points | None = None,
        damping: Scalar | None = None,
        length: Scalar | None = None,
        radii: Numbers | None = None,
        friction: Scalar | None = None,
        velocity: Scalar | None = None,
    ) -> Force:
        """A massless elastic rope from a point of the first of `bodies` over points of the next ones to the last,
        two to four in all: it pulls by stiffness · e · (1 + damping · de/dt) at the elongation e and never
        pushes. In the plane the points between the ends may be the centres of pulleys (`radii`), which the rope
        passes on the outer side of the bend that the drawing shows. With `friction` the rope slides over its
        pulleys with Euler's and Eytelwein's ratio of tensions. Becoming slack or taut is an event.

        bodies: the bodies in order; `ground` may be among them
        stiffness: force per elongation of the whole rope [N/m]
        at: a point for each body, in the world at the start [m]
        on: instead of `at`: the points in the bodies' own frames [m]
        damping: damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed [s/m,
            s/rad]; default: 0
        length: unstretched length, with the arcs [m]; default: that at the start
        radii: radii of the pulleys between the ends (plane) [m]; default: points
        friction: coefficient of friction on the pulleys; default: 0
        velocity: speed of sliding at which the exponent of friction reaches 76 % of its level [m/s]; default:
            0.01
        """
        given = {
            "bodies": bodies,
            "at": at,
            "on": on,
            "stiffness": stiffness,
            "damping": damping,
            "length": length,
            "radii": radii,
            "friction": friction,
            "velocity": velocity,
        }
        return Force(self._model._element("force", name, "rope", given))

    def joint_actuator(
        self,
        name: str,
        *,
        joint: str,
        effort: Course | Callable[[float], float],
        coordinate: Text | None = None,
        limits: Numbers | None = None,
        lag: Scalar | None = None,
        start: Scalar | None = None,
    ) -> Force:
        """A force (or torque) along a joint coordinate as a function of time and of the state, kept within
        `limits` and following with a first-order `lag`. It acts on the second body of the joint and against the
        first.

        joint: the joint it acts on
        effort: the force or torque, a function of t and the state [N, N m]
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        limits: least and greatest effort; reaching and leaving them are events [N; N m]; default: none
        lag: time constant with which the effort follows its command [s]; default: 0
        start: effort at the start, with `lag` [N, N m]; default: 0
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "effort": effort,
            "limits": limits,
            "lag": lag,
            "start": start,
        }
        return Force(self._model._element("force", name, "joint-actuator", given))

    def pid(
        self,
        name: str,
        *,
        joint: str,
        reference: Course | Callable[[float], float],
        coordinate: Text | None = None,
        measure: Text | None = None,
        kp: Scalar | None = None,
        ki: Scalar | None = None,
        kd: Scalar | None = None,
        limits: Numbers | None = None,
        windup: Scalar | None = None,
        lag: Scalar | None = None,
        start: Scalar | None = None,
    ) -> Force:
        """A controller: the effort kp·e + ∫ki·e dt + kd·de/dt along a joint coordinate, with the error e of what
        it measures (a joint coordinate, a coordinate of a probe or of a body, or a rate of these) against a
        `reference`. `limits` bound the effort and keep the integral from winding up; `lag` delays it.

        joint: the joint it acts on
        reference: the desired value of the measured quantity, a function of t and the state [m, rad, m/s,
            rad/s]
        coordinate: which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …;
            default: its only one
        measure: what is controlled, by its name in the results: `pin.angle`, `slide.rate`, `tip.x` of a
            probe, `cart.vx` of a body; default: the coordinate it acts on
        kp: effort per error [SI units]; default: 0
        ki: effort per integral of the error [SI units]; default: 0
        kd: effort per rate of the error [SI units]; default: 0
        limits: least and greatest effort; reaching and leaving them are events [N; N m]; default: none
        windup: time in which the integral follows the effort while the limits hold it [s]; default: kp/ki
        lag: time constant with which the effort follows its command [s]; default: 0
        start: effort at the start, with `lag` [N, N m]; default: 0
        """
        given = {
            "joint": joint,
            "coordinate": coordinate,
            "measure": measure,
            "reference": reference,
            "kp": kp,
            "ki": ki,
            "kd": kd,
            "limits": limits,
            "windup": windup,
            "lag": lag,
            "start": start,
        }
        return Force(self._model._element("force", name, "pid", given))


class Runs:
    """What can be run: every option is a keyword."""

    def _run(self, solve: Mapping[str, object], progress: Progress) -> Results:
        raise NotImplementedError

    def _simulate(self, solve: Mapping[str, object]) -> Simulation:
        raise NotImplementedError

    def _plan(self, solve: Mapping[str, object]) -> Plan:
        raise NotImplementedError

    def run(
        self,
        *,
        until: float | None = None,
        preset: Literal["nstiff", "newmark", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        method: Literal["auto", "bdf", "gen-alpha", "hht", "newmark", "euler", "rk2", "rk4", "dopri5", "dop853", "nstiff", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        formulation: Literal["index3", "ggl", "si2", "index1", "add", "baumgarte", "augmented", "park", "maggi-lu", "maggi-qr", "maggi-svd"] | None = None,
        iteration: Literal["auto", "full", "simplified", "modified", "cs", "cm"] | None = None,
        test: Literal["q", "q+v", "all"] | None = None,
        on: Literal["all", "independent"] | None = None,
        errors: Literal["auto", "step", "told", "run"] | None = None,
        control: Literal["own", "dassl"] | None = None,
        coordinates: Literal["cartesian", "relative"] | None = None,
        solver: Literal["auto", "direct", "dense", "recursion", "loop-cg", "srm", "srm-all"] | None = None,
        iterates: int | None = None,
        epsilon: float | None = None,
        srm_tree: Literal["projected", "baumgarte", "drifting"] | None = None,
        srm_start: Literal["zero", "exact"] | None = None,
        baumgarte_alpha: float | None = None,
        baumgarte_beta: float | None = None,
        penalty: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        sample: float | None = None,
        record: str | Sequence[str] | None = None,
        from_: str | None = None,
        max_order: int | None = None,
        max_iterations: int | None = None,
        rho: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        b: float | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        threads: int | None = None,
        progress: Progress = None,
        **unknown: Never,
    ) -> Results:
        """Runs to the end, without the interpreter's lock. Ctrl-C ends the run and raises `KeyboardInterrupt`,
        whose `result` has what was computed.

        until: end of the run [s]; default: 1
        preset: settings of a published method, by its name; other options override them; default: none
        method: integration method, or a preset; default: auto
        formulation: form of the equations; default: by the method
        iteration: Newton's iteration; default: by the method
        test: which unknowns the error and convergence tests use; default: by the formulation
        on: which coordinates the error test uses; default: all
        errors: what the tolerance limits: the error of every step (`told`: and the error at the end is
            estimated; `step`: it is not), or that of the whole run; default: told
        control: control of order, steps and matrices of bdf; default: own
        coordinates: coordinates of every body, or of the joints of a tree; default: cartesian
        solver: solver for accelerations and reactions; default: auto
        iterates: iterates of sequential regularization, and of `augmented`, 1 to 8; default: 2
        epsilon: ε of sequential regularization; of `park`, whose joints are springs with a period of 2π ε
            [s]; default: twice the limit of stability; 1e-3 for `park`
        srm_tree: what keeps the tree of sequential regularization on its constraints; default: projected
        srm_start: multipliers that the iterates of sequential regularization begin with; default: zero
        baumgarte_alpha: α of `baumgarte`, `augmented` and `srm_tree`: constraints obey g̈ + 2α ġ + β² g = 0
            [1/s]; default: 10
        baumgarte_beta: β of `baumgarte`, `augmented` and `srm_tree` [1/s]; default: baumgarte_alpha
        penalty: penalty of `augmented`, as a multiple of the inertia that each constraint moves; default: 1e6
        step: fixed step size [s]; default: error control
        max_step: longest step of methods with error control; keeps short pulses from being missed [s];
            default: none
        rtol: relative tolerance of methods with error control; default: 1e-6
        atol: absolute tolerance, added to `rtol` times the size of the machine [SI]; default: none
        sample: equal intervals between recorded rows [s]; default: every step of the run, thinned to about
            2000 rows
        record: channels to record, as patterns of names such as `pin.*`; `default` stands for the default
            channels; default: what docs/channels.md marks
        from_: where the run begins: at rest (`equilibrium`), or at the end of another run (its result
            folder); default: as drawn
        max_order: highest order of bdf, 1 to 5; default: 5
        max_iterations: maximum number of Newton iterations per step; default: by the method
        rho: spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped; default: 0.8
        alpha: α of hht: −1/3 damps most, 0 not at all; default: -0.3
        beta: β of newmark; default: (γ + 1/2)²/4
        gamma: γ of newmark: 1/2 is undamped and of order 2; default: 0.6
        b: weight of the new reactions in the positions of hht-add; 1/2 is not allowed; default: 0
        max_steps: number of steps after which the run ends; the results so far are kept; default: no limit
        max_seconds: wall-clock time after which the run ends; the results so far are kept [s]; default: no
            limit
        threads: number of threads; results do not depend on it; default: chosen by model size
        progress: a function of the time, called twenty times a second; True for a bar, False for none;
            default: a bar in terminals and notebooks, where tqdm is installed
        """
        solve = {
            "until": until,
            "preset": preset,
            "method": method,
            "formulation": formulation,
            "iteration": iteration,
            "test": test,
            "on": on,
            "errors": errors,
            "control": control,
            "coordinates": coordinates,
            "solver": solver,
            "iterates": iterates,
            "epsilon": epsilon,
            "srm_tree": srm_tree,
            "srm_start": srm_start,
            "baumgarte_alpha": baumgarte_alpha,
            "baumgarte_beta": baumgarte_beta,
            "penalty": penalty,
            "step": step,
            "max_step": max_step,
            "rtol": rtol,
            "atol": atol,
            "sample": sample,
            "record": record,
            "from": from_,
            "max_order": max_order,
            "max_iterations": max_iterations,
            "rho": rho,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "b": b,
            "max_steps": max_steps,
            "max_seconds": max_seconds,
            "threads": threads,
            **unknown,
        }
        return self._run(solve, progress)

    def simulate(
        self,
        *,
        until: float | None = None,
        preset: Literal["nstiff", "newmark", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        method: Literal["auto", "bdf", "gen-alpha", "hht", "newmark", "euler", "rk2", "rk4", "dopri5", "dop853", "nstiff", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        formulation: Literal["index3", "ggl", "si2", "index1", "add", "baumgarte", "augmented", "park", "maggi-lu", "maggi-qr", "maggi-svd"] | None = None,
        iteration: Literal["auto", "full", "simplified", "modified", "cs", "cm"] | None = None,
        test: Literal["q", "q+v", "all"] | None = None,
        on: Literal["all", "independent"] | None = None,
        errors: Literal["auto", "step", "told", "run"] | None = None,
        control: Literal["own", "dassl"] | None = None,
        coordinates: Literal["cartesian", "relative"] | None = None,
        solver: Literal["auto", "direct", "dense", "recursion", "loop-cg", "srm", "srm-all"] | None = None,
        iterates: int | None = None,
        epsilon: float | None = None,
        srm_tree: Literal["projected", "baumgarte", "drifting"] | None = None,
        srm_start: Literal["zero", "exact"] | None = None,
        baumgarte_alpha: float | None = None,
        baumgarte_beta: float | None = None,
        penalty: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        sample: float | None = None,
        record: str | Sequence[str] | None = None,
        from_: str | None = None,
        max_order: int | None = None,
        max_iterations: int | None = None,
        rho: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        b: float | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        threads: int | None = None,
        **unknown: Never,
    ) -> Simulation:
        """A simulation at its start, to be stepped: see `Simulation`.

        until: end of the run [s]; default: 1
        preset: settings of a published method, by its name; other options override them; default: none
        method: integration method, or a preset; default: auto
        formulation: form of the equations; default: by the method
        iteration: Newton's iteration; default: by the method
        test: which unknowns the error and convergence tests use; default: by the formulation
        on: which coordinates the error test uses; default: all
        errors: what the tolerance limits: the error of every step (`told`: and the error at the end is
            estimated; `step`: it is not), or that of the whole run; default: told
        control: control of order, steps and matrices of bdf; default: own
        coordinates: coordinates of every body, or of the joints of a tree; default: cartesian
        solver: solver for accelerations and reactions; default: auto
        iterates: iterates of sequential regularization, and of `augmented`, 1 to 8; default: 2
        epsilon: ε of sequential regularization; of `park`, whose joints are springs with a period of 2π ε
            [s]; default: twice the limit of stability; 1e-3 for `park`
        srm_tree: what keeps the tree of sequential regularization on its constraints; default: projected
        srm_start: multipliers that the iterates of sequential regularization begin with; default: zero
        baumgarte_alpha: α of `baumgarte`, `augmented` and `srm_tree`: constraints obey g̈ + 2α ġ + β² g = 0
            [1/s]; default: 10
        baumgarte_beta: β of `baumgarte`, `augmented` and `srm_tree` [1/s]; default: baumgarte_alpha
        penalty: penalty of `augmented`, as a multiple of the inertia that each constraint moves; default: 1e6
        step: fixed step size [s]; default: error control
        max_step: longest step of methods with error control; keeps short pulses from being missed [s];
            default: none
        rtol: relative tolerance of methods with error control; default: 1e-6
        atol: absolute tolerance, added to `rtol` times the size of the machine [SI]; default: none
        sample: equal intervals between recorded rows [s]; default: every step of the run, thinned to about
            2000 rows
        record: channels to record, as patterns of names such as `pin.*`; `default` stands for the default
            channels; default: what docs/channels.md marks
        from_: where the run begins: at rest (`equilibrium`), or at the end of another run (its result
            folder); default: as drawn
        max_order: highest order of bdf, 1 to 5; default: 5
        max_iterations: maximum number of Newton iterations per step; default: by the method
        rho: spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped; default: 0.8
        alpha: α of hht: −1/3 damps most, 0 not at all; default: -0.3
        beta: β of newmark; default: (γ + 1/2)²/4
        gamma: γ of newmark: 1/2 is undamped and of order 2; default: 0.6
        b: weight of the new reactions in the positions of hht-add; 1/2 is not allowed; default: 0
        max_steps: number of steps after which the run ends; the results so far are kept; default: no limit
        max_seconds: wall-clock time after which the run ends; the results so far are kept [s]; default: no
            limit
        threads: number of threads; results do not depend on it; default: chosen by model size
        """
        solve = {
            "until": until,
            "preset": preset,
            "method": method,
            "formulation": formulation,
            "iteration": iteration,
            "test": test,
            "on": on,
            "errors": errors,
            "control": control,
            "coordinates": coordinates,
            "solver": solver,
            "iterates": iterates,
            "epsilon": epsilon,
            "srm_tree": srm_tree,
            "srm_start": srm_start,
            "baumgarte_alpha": baumgarte_alpha,
            "baumgarte_beta": baumgarte_beta,
            "penalty": penalty,
            "step": step,
            "max_step": max_step,
            "rtol": rtol,
            "atol": atol,
            "sample": sample,
            "record": record,
            "from": from_,
            "max_order": max_order,
            "max_iterations": max_iterations,
            "rho": rho,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "b": b,
            "max_steps": max_steps,
            "max_seconds": max_seconds,
            "threads": threads,
            **unknown,
        }
        return self._simulate(solve)

    def plan(
        self,
        *,
        until: float | None = None,
        preset: Literal["nstiff", "newmark", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        method: Literal["auto", "bdf", "gen-alpha", "hht", "newmark", "euler", "rk2", "rk4", "dopri5", "dop853", "nstiff", "hht-i3", "nstiff-si2", "hht-add", "hht-si2", "cs", "cm", "ggl", "ggl-star", "dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] | None = None,
        formulation: Literal["index3", "ggl", "si2", "index1", "add", "baumgarte", "augmented", "park", "maggi-lu", "maggi-qr", "maggi-svd"] | None = None,
        iteration: Literal["auto", "full", "simplified", "modified", "cs", "cm"] | None = None,
        test: Literal["q", "q+v", "all"] | None = None,
        on: Literal["all", "independent"] | None = None,
        errors: Literal["auto", "step", "told", "run"] | None = None,
        control: Literal["own", "dassl"] | None = None,
        coordinates: Literal["cartesian", "relative"] | None = None,
        solver: Literal["auto", "direct", "dense", "recursion", "loop-cg", "srm", "srm-all"] | None = None,
        iterates: int | None = None,
        epsilon: float | None = None,
        srm_tree: Literal["projected", "baumgarte", "drifting"] | None = None,
        srm_start: Literal["zero", "exact"] | None = None,
        baumgarte_alpha: float | None = None,
        baumgarte_beta: float | None = None,
        penalty: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        sample: float | None = None,
        record: str | Sequence[str] | None = None,
        from_: str | None = None,
        max_order: int | None = None,
        max_iterations: int | None = None,
        rho: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        b: float | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        threads: int | None = None,
        **unknown: Never,
    ) -> Plan:
        """What a run would do, decision by decision, without running it.

        until: end of the run [s]; default: 1
        preset: settings of a published method, by its name; other options override them; default: none
        method: integration method, or a preset; default: auto
        formulation: form of the equations; default: by the method
        iteration: Newton's iteration; default: by the method
        test: which unknowns the error and convergence tests use; default: by the formulation
        on: which coordinates the error test uses; default: all
        errors: what the tolerance limits: the error of every step (`told`: and the error at the end is
            estimated; `step`: it is not), or that of the whole run; default: told
        control: control of order, steps and matrices of bdf; default: own
        coordinates: coordinates of every body, or of the joints of a tree; default: cartesian
        solver: solver for accelerations and reactions; default: auto
        iterates: iterates of sequential regularization, and of `augmented`, 1 to 8; default: 2
        epsilon: ε of sequential regularization; of `park`, whose joints are springs with a period of 2π ε
            [s]; default: twice the limit of stability; 1e-3 for `park`
        srm_tree: what keeps the tree of sequential regularization on its constraints; default: projected
        srm_start: multipliers that the iterates of sequential regularization begin with; default: zero
        baumgarte_alpha: α of `baumgarte`, `augmented` and `srm_tree`: constraints obey g̈ + 2α ġ + β² g = 0
            [1/s]; default: 10
        baumgarte_beta: β of `baumgarte`, `augmented` and `srm_tree` [1/s]; default: baumgarte_alpha
        penalty: penalty of `augmented`, as a multiple of the inertia that each constraint moves; default: 1e6
        step: fixed step size [s]; default: error control
        max_step: longest step of methods with error control; keeps short pulses from being missed [s];
            default: none
        rtol: relative tolerance of methods with error control; default: 1e-6
        atol: absolute tolerance, added to `rtol` times the size of the machine [SI]; default: none
        sample: equal intervals between recorded rows [s]; default: every step of the run, thinned to about
            2000 rows
        record: channels to record, as patterns of names such as `pin.*`; `default` stands for the default
            channels; default: what docs/channels.md marks
        from_: where the run begins: at rest (`equilibrium`), or at the end of another run (its result
            folder); default: as drawn
        max_order: highest order of bdf, 1 to 5; default: 5
        max_iterations: maximum number of Newton iterations per step; default: by the method
        rho: spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped; default: 0.8
        alpha: α of hht: −1/3 damps most, 0 not at all; default: -0.3
        beta: β of newmark; default: (γ + 1/2)²/4
        gamma: γ of newmark: 1/2 is undamped and of order 2; default: 0.6
        b: weight of the new reactions in the positions of hht-add; 1/2 is not allowed; default: 0
        max_steps: number of steps after which the run ends; the results so far are kept; default: no limit
        max_seconds: wall-clock time after which the run ends; the results so far are kept [s]; default: no
            limit
        threads: number of threads; results do not depend on it; default: chosen by model size
        """
        solve = {
            "until": until,
            "preset": preset,
            "method": method,
            "formulation": formulation,
            "iteration": iteration,
            "test": test,
            "on": on,
            "errors": errors,
            "control": control,
            "coordinates": coordinates,
            "solver": solver,
            "iterates": iterates,
            "epsilon": epsilon,
            "srm_tree": srm_tree,
            "srm_start": srm_start,
            "baumgarte_alpha": baumgarte_alpha,
            "baumgarte_beta": baumgarte_beta,
            "penalty": penalty,
            "step": step,
            "max_step": max_step,
            "rtol": rtol,
            "atol": atol,
            "sample": sample,
            "record": record,
            "from": from_,
            "max_order": max_order,
            "max_iterations": max_iterations,
            "rho": rho,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "b": b,
            "max_steps": max_steps,
            "max_seconds": max_seconds,
            "threads": threads,
            **unknown,
        }
        return self._plan(solve)
