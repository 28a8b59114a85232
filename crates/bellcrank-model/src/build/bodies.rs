//! Bodies and their shapes, probes, inputs, starts and tables.

// Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank-model --test build`: do not edit.

use super::element;
use super::value::{BodyRef, Matrix, Numbers, Orientation, Scalar, Text, Value, Vector};

element! {
    /// A rod from point to point; the body's x axis runs along it.
    table Rod none
    required {
        /// One end at the start, in the world, in m.
        from: Vector = "from",
        /// The other end, in m.
        to: Vector = "to",
    }
    optional {
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
        /// Radius, in m. Default: thin.
        radius: Scalar = "radius",
    }
}

element! {
    /// A box with edges along the body's axes.
    table Cuboid none
    required {
        /// Lengths of the edges along x, y (and z), in m.
        size: Vector = "size",
    }
    optional {
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
    }
}

element! {
    /// A solid sphere.
    table Sphere none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
    }
    optional {
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
    }
}

element! {
    /// A solid cylinder along the body's z axis.
    table Cylinder none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
    }
    optional {
        /// Length along z, in m. Default: the radius.
        length: Scalar = "length",
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
    }
}

element! {
    /// A solid cylinder along the body's z axis with half spheres beyond its ends (space).
    table Capsule none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
        /// Length along z, without the half spheres, in m.
        length: Scalar = "length",
    }
    optional {
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
    }
}

element! {
    /// A solid cone along the body's z axis, its tip up; the body's frame is in its centre of mass (space).
    table Cone none
    required {
        /// Radius of its base, in m.
        radius: Scalar = "radius",
        /// Its height along z, in m.
        length: Scalar = "length",
    }
    optional {
        /// Mass, in kg. Default: the body's.
        mass: Scalar = "mass",
    }
}

element! {
    /// What the body looks like: an STL, OBJ, COLLADA or glTF file; with a `density` also its mass and inertia; `\\[visual.NAME\\]` for more.
    table Mesh none
    required {
        /// A file in the model's folder: .stl, .obj, .dae, .gltf or .glb.
        file: Text = "file",
    }
    optional {
        /// Length of a unit of the file (0.001 for millimetres), or one for each of its axes; a negative one mirrors, in m. Default: 1.
        scale: Numbers = "scale",
        /// Origin of the file, in the body's frame, in m. Default: the centre of mass; with a `density`, so that the solid is where its centre of mass is.
        at: Vector = "at",
        /// Rotation of the file in the body's frame: quaternion \[w, x, y, z\], { axis, angle }, { order, angles } or 3×3 matrix. Default: the body's.
        orientation: Orientation = "orientation",
        /// Mass and inertia are those of the closed mesh; without `at` of the body, its centre of mass is where the file has it, in kg/m³. Default: for looks only.
        density: Scalar = "density",
    }
}

element! {
    /// The section: a circle, a tube or a rectangle.
    table Section none
    required {
    }
    optional {
        /// Radius of a circle, in m.
        radius: Scalar = "radius",
        /// Inner radius of a tube, in m. Default: none.
        inner: Scalar = "inner",
        /// Edge of a rectangle along the body's z, in m.
        width: Scalar = "width",
        /// Edge of a rectangle along the body's y, in m.
        height: Scalar = "height",
    }
}

element! {
    /// A flexible beam from point to point, its frame at the first.
    table Beam none
    required {
        /// The end A at the start, in the world: the origin of the body's frame, in m.
        from: Vector = "from",
        /// The end B; the body's x axis runs from A to B, in m.
        to: Vector = "to",
        /// Modulus of elasticity E, in Pa.
        youngs_modulus: Scalar = "youngs_modulus",
    }
    optional {
        /// In space: where the body's y axis points, as far as it can. Default: any.
        up: Vector = "up",
        /// Mass, in kg. Default: from `density`.
        mass: Scalar = "mass",
        /// Density, instead of `mass`, in kg/m³. Default: from `mass`.
        density: Scalar = "density",
        /// Shear modulus G, for torsion, in Pa. Default: E/2.6.
        shear_modulus: Scalar = "shear_modulus",
        /// The section: a circle, a tube or a rectangle. Default: by its moments.
        section: Section = "section",
        /// Area of the section, in m². Default: of the section.
        area: Scalar = "area",
        /// Second moment of area against bending towards the body's y; in space \[towards y, towards z\], in m⁴. Default: of the section.
        second_moment: Numbers = "second_moment",
        /// Torsion constant J (space), in m⁴. Default: of the section.
        torsion_constant: Scalar = "torsion_constant",
        /// What the modes keep fixed: `pinned` both ends on the x axis, `clamped` the end A with its direction. Default: pinned.
        ends: Text = "ends",
        /// Number of modes that stretch it. Default: 1.
        axial: Scalar = "axial",
        /// Number of modes that bend it; in space \[towards y, towards z\]. Default: 2.
        bending: Numbers = "bending",
        /// Number of modes that twist it (space). Default: 1.
        torsion: Scalar = "torsion",
        /// Adds the deflections under forces and moments at the ends to the modes of each kind. Default: false.
        static_modes: bool = "static_modes",
        /// Damping ratio of every mode with the frame held. Default: 0.
        damping: Scalar = "damping",
        /// Instead of `damping`: α and β of the damping matrix α M + β K, in 1/s, s. Default: none.
        rayleigh: Numbers = "rayleigh",
        /// `quasi-static`: starts bent by the loads of the motion, so that nothing rings. Default: undeformed.
        start: Text = "start",
        /// Modal coordinates at the start, in the order of the modes, in m, rad. Default: none.
        deflection: Numbers = "deflection",
        /// Their rates at the start, in m/s, rad/s. Default: none.
        deflection_rate: Numbers = "deflection_rate",
    }
}

element! {
    /// A flexible body from the modes in a file.
    table Modal none
    required {
        /// A modal file in the model's folder: nodes, modes, stiffness.
        file: Text = "file",
    }
    optional {
        /// Damping ratio of every mode with the frame held. Default: 0.
        damping: Scalar = "damping",
        /// Instead of `damping`: α and β of the damping matrix α M + β K, in 1/s, s. Default: none.
        rayleigh: Numbers = "rayleigh",
        /// `quasi-static`: starts bent by the loads of the motion, so that nothing rings. Default: undeformed.
        start: Text = "start",
        /// Modal coordinates at the start, in the order of the modes, in m, rad. Default: none.
        deflection: Numbers = "deflection",
        /// Their rates at the start, in m/s, rad/s. Default: none.
        deflection_rate: Numbers = "deflection_rate",
    }
}

element! {
    /// A body; without a shape and an inertia it is a point mass. `ground` is the fixed world.
    section Body none
    required {
    }
    optional {
        /// Mass; zero where joints hold the body, in kg. Default: from the shape.
        mass: Scalar = "mass",
        /// Moments of inertia about the centre of mass, in the body's frame, in kg m². Default: from the shape; without a shape the body is a point mass.
        inertia: Matrix = "inertia",
        /// Centre of mass (of a flexible body: origin of its frame) at the start, in the world, in m. Default: from the shape, else the origin.
        at: Vector = "at",
        /// Angle at the start (plane), in rad. Default: 0.
        angle: Scalar = "angle",
        /// Rotation at the start (space): quaternion \[w, x, y, z\], { axis, angle }, { order, angles } or 3×3 matrix, body to world. Default: along the world's axes.
        orientation: Orientation = "orientation",
        /// Velocity of the same point at the start, in m/s. Default: at rest.
        velocity: Vector = "velocity",
        /// Angular velocity at the start, in the world, in rad/s. Default: at rest.
        angular_velocity: Vector = "angular_velocity",
        /// Keep this body's start when the model is assembled. Default: false.
        fixed: bool = "fixed",
        /// `natural` for thin rods. Default: rigid; of a thin rod in space natural.
        coordinates: Text = "coordinates",
        /// A rod from point to point; the body's x axis runs along it.
        rod: Rod = "rod",
        /// A box with edges along the body's axes.
        box_: Cuboid = "box",
        /// A solid sphere.
        sphere: Sphere = "sphere",
        /// A solid cylinder along the body's z axis.
        cylinder: Cylinder = "cylinder",
        /// A solid cylinder along the body's z axis with half spheres beyond its ends (space).
        capsule: Capsule = "capsule",
        /// A solid cone along the body's z axis, its tip up; the body's frame is in its centre of mass (space).
        cone: Cone = "cone",
        /// What the body looks like: an STL, OBJ, COLLADA or glTF file; with a `density` also its mass and inertia; `\[visual.NAME\]` for more.
        mesh: Mesh = "mesh",
        /// A flexible beam from point to point, its frame at the first.
        beam: Beam = "beam",
        /// A flexible body from the modes in a file.
        modal: Modal = "modal",
        /// Colour to draw it with: `"#e8863a"`, or a name such as `"red"`, `"steel"`, `"orange"`. Default: chosen by the program, for a visual the body's.
        colour: Text = "colour",
        /// How much of it is seen, from 0 (nothing) to 1 (opaque). Default: opaque, for a visual the body's.
        opacity: Scalar = "opacity",
        /// Not drawn. Default: false.
        hidden: bool = "hidden",
    }
}

element! {
    /// A point whose motion is recorded.
    section Probe none
    required {
        /// The body it sits on.
        body: BodyRef = "body",
    }
    optional {
        /// The point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: the point in the body's frame, in m.
        on: Vector = "on",
        /// The body that its motion is seen from, in that body's axes. Default: the world.
        relative_to: Text = "relative_to",
        /// Angle of its own axes against the body's (plane), in rad. Default: 0.
        angle: Scalar = "angle",
        /// Rotation of its own axes against the body's (space): quaternion \[w, x, y, z\], { axis, angle }, { order, angles } or 3×3 matrix. Default: along the body's axes.
        orientation: Orientation = "orientation",
    }
}

element! {
    /// A named frame on a body.
    section Marker none
    required {
        /// The body it is on.
        body: BodyRef = "body",
    }
    optional {
        /// Its point in the world at the start, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Instead of `at`: its point in the body's frame, in m.
        on: Vector = "on",
        /// Angle of its x axis (plane), in the world at the start; with `on`, against the body's, in rad. Default: 0.
        angle: Scalar = "angle",
        /// Rotation of its axes (space), in the world at the start; with `on`, against the body's: as that of a body. Default: along the world's axes; with `on`, along the body's.
        orientation: Orientation = "orientation",
    }
}

element! {
    /// Triangles from a file.
    table VisualMesh none
    required {
        /// A file in the model's folder: .stl, .obj, .dae, .gltf or .glb.
        file: Text = "file",
    }
    optional {
        /// Length of a unit of the file (0.001 for millimetres), or one for each of its axes; a negative one mirrors, in m. Default: 1.
        scale: Numbers = "scale",
    }
}

element! {
    /// A box about its middle.
    table VisualCuboid none
    required {
        /// Lengths of the edges along x, y, z, in m.
        size: Vector = "size",
    }
    optional {
    }
}

element! {
    /// A sphere about its middle.
    table VisualSphere none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
    }
    optional {
    }
}

element! {
    /// An ellipsoid about its middle.
    table VisualEllipsoid none
    required {
        /// Half of its lengths along x, y, z, in m.
        radii: Vector = "radii",
    }
    optional {
    }
}

element! {
    /// A cylinder along z about its middle.
    table VisualCylinder none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
        /// Length, without the ends of a capsule, in m.
        length: Scalar = "length",
    }
    optional {
    }
}

element! {
    /// A cylinder along z about its middle, with half spheres beyond its ends.
    table VisualCapsule none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
        /// Length, without the ends of a capsule, in m.
        length: Scalar = "length",
    }
    optional {
    }
}

element! {
    /// A cone along z about its centre of mass, its tip up.
    table VisualCone none
    required {
        /// Radius, in m.
        radius: Scalar = "radius",
        /// Length, without the ends of a capsule, in m.
        length: Scalar = "length",
    }
    optional {
    }
}

element! {
    /// A solid or a mesh on a body or the ground, for looks.
    section Visual none
    required {
        /// The body it belongs to, or `ground`.
        body: BodyRef = "body",
    }
    optional {
        /// Where its origin is, in the body's frame, in m. Default: the centre of mass.
        at: Vector = "at",
        /// Its rotation in the body's frame: quaternion \[w, x, y, z\], { axis, angle }, { order, angles } or 3×3 matrix. Default: the body's.
        orientation: Orientation = "orientation",
        /// Triangles from a file.
        mesh: VisualMesh = "mesh",
        /// A box about its middle.
        box_: VisualCuboid = "box",
        /// A sphere about its middle.
        sphere: VisualSphere = "sphere",
        /// An ellipsoid about its middle.
        ellipsoid: VisualEllipsoid = "ellipsoid",
        /// A cylinder along z about its middle.
        cylinder: VisualCylinder = "cylinder",
        /// A cylinder along z about its middle, with half spheres beyond its ends.
        capsule: VisualCapsule = "capsule",
        /// A cone along z about its centre of mass, its tip up.
        cone: VisualCone = "cone",
        /// Colour to draw it with: `"#e8863a"`, or a name such as `"red"`, `"steel"`, `"orange"`. Default: chosen by the program, for a visual the body's.
        colour: Text = "colour",
        /// How much of it is seen, from 0 (nothing) to 1 (opaque). Default: opaque, for a visual the body's.
        opacity: Scalar = "opacity",
        /// Not drawn. Default: false.
        hidden: bool = "hidden",
    }
}

element! {
    /// Another model file as a part.
    section Include none
    required {
        /// A model file in the model's folder, from the folder of this file.
        file: Text = "file",
    }
    optional {
        /// Where the origin of the part is, in m. Default: the origin.
        at: Vector = "at",
        /// Angle of the part's x axis (plane), in rad. Default: 0.
        angle: Scalar = "angle",
        /// Rotation of the part (space): quaternion \[w, x, y, z\], { axis, angle }, { order, angles } or 3×3 matrix. Default: along the axes of this file.
        orientation: Orientation = "orientation",
        /// A plane of the part's own coordinates (in the plane an axis) that it is mirrored at, before it is placed. Default: none.
        mirror: Text = "mirror",
        /// Values of the part's parameters, `{ k = 2e4 }`; of others by their path, `{ "body.hub.mass" = 12 }`. Default: none.
        set: Value = "set",
        /// Bodies of the part that are bodies of this file, `{ ground = "chassis" }`: the part's own are left out. Default: none.
        ports: Value = "ports",
    }
}

element! {
    /// Coordinates and rates of a joint at the start.
    section Start none
    required {
    }
    optional {
        /// Angle of a joint that turns, in rad. Default: as drawn.
        angle: Scalar = "angle",
        /// Position of a joint that slides, in m. Default: as drawn.
        position: Scalar = "position",
        /// Rate of the angle, or of the position of a slide, in rad/s, m/s. Default: 0.
        rate: Scalar = "rate",
        /// Rate of the position of a joint that also turns, in m/s. Default: 0.
        speed: Scalar = "speed",
        /// Second angle of a joint that has two, in rad. Default: as drawn.
        angle2: Scalar = "angle2",
        /// Second position of a joint that has two, in m. Default: as drawn.
        position2: Scalar = "position2",
        /// Rate of the second angle or position, in rad/s, m/s. Default: 0.
        rate2: Scalar = "rate2",
        /// Rate of the second position of a joint that also turns, in m/s. Default: 0.
        speed2: Scalar = "speed2",
    }
}

element! {
    /// A number that can be set while a run goes on.
    section Input none
    required {
    }
    optional {
        /// Its value until it is set, in any. Default: 0.
        start: Scalar = "start",
        /// Its unit, in the results. Default: none.
        unit: Text = "unit",
        /// What it means. Default: none.
        doc: Text = "doc",
    }
}

element! {
    /// A first-order state with its rate.
    section State none
    required {
    }
    optional {
        /// Its rate: an expression of `t`, inputs, states, unfiltered outputs, and positions and velocities of joints, bodies and probes, in any. Default: a transfer function.
        rate: Scalar = "rate",
        /// Of a transfer function: what goes into it, an expression like a rate. Default: a `rate`.
        input: Scalar = "input",
        /// Coefficients of a transfer function, the highest power of s first, in any. Default: 1.
        numerator: Numbers = "numerator",
        /// Of a higher degree than the numerator; at the start all is zero, in any. Default: a `rate`.
        denominator: Numbers = "denominator",
        /// With `rate`: its value at the start, in any. Default: 0.
        start: Scalar = "start",
        /// Its unit, in the results. Default: none.
        unit: Text = "unit",
        /// What it means. Default: none.
        doc: Text = "doc",
    }
}

element! {
    /// A function of time from a file.
    table Table none
    required {
        /// A CSV file in the model's folder.
        table: Text = "table",
    }
    optional {
        /// Name of the column of times \[s\]. Default: the first.
        time: Text = "time",
        /// Factor on the values. Default: 1.
        scale: Scalar = "scale",
        /// Twice differentiable, or without overshoot but only once differentiable. Default: spline.
        interpolation: Text = "interpolation",
        /// Name of the column of values. Default: the second of two.
        column: Text = "column",
    }
}

element! {
    /// A vector of functions of time from a file.
    table TableVector none
    required {
        /// A CSV file in the model's folder.
        table: Text = "table",
        /// Names of the columns of its components.
        columns: Text = "columns",
    }
    optional {
        /// Name of the column of times \[s\]. Default: the first.
        time: Text = "time",
        /// Factor on the values. Default: 1.
        scale: Scalar = "scale",
        /// Twice differentiable, or without overshoot but only once differentiable. Default: spline.
        interpolation: Text = "interpolation",
    }
}

element! {
    /// Pairs of numbers from a file.
    table TablePairs none
    required {
        /// A CSV file in the model's folder.
        table: Text = "table",
    }
    optional {
        /// Names of the two columns. Default: the only two.
        columns: Text = "columns",
        /// Factor on the values. Default: 1.
        scale: Scalar = "scale",
    }
}
