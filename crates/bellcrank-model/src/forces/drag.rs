//! Drag of air or water.

use super::{Ends, Force, Kind, Made, Placement, Seen};
use crate::channel::Quantity;
use crate::file::{Expression, Field, FieldKind, Values};
use crate::frames::{Covector, LIN, Stiffness};
use bellcrank_math::{Mat3, Vec3};

/// −(b + c |u|) u at a point, u = v − wind, c = ½ ρ c_d A.
struct Drag {
    coefficient: f64,
    linear: f64,
    wind: [Expression; 3],
    /// The axes of the wind.
    axes: Mat3,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "drag",
    doc: "Drag at a point of a body: −c |u| u − linear · u with the velocity u of the point relative to the wind and \
          c = ½ · density · cd · area, the same from every side.",
    fields: &[
        Field::optional("cd", FieldKind::NonNegative, "", "", "drag coefficient"),
        Field::optional("area", FieldKind::NonNegative, "m²", "", "area it refers to"),
        Field::optional(
            "density",
            FieldKind::NonNegative,
            "kg/m³",
            "1.225",
            "density of the medium (air at sea level)",
        ),
        Field::optional("coefficient", FieldKind::NonNegative, "kg/m", "", "instead of `cd`, `area` and `density`: c"),
        Field::optional(
            "linear",
            FieldKind::NonNegative,
            "N s/m",
            "0",
            "drag in proportion to the speed: 6π · viscosity · radius of a slow sphere (Stokes)",
        ),
        Field::optional("wind", FieldKind::VectorFunction, "m/s", "none", "velocity of the medium, a function of t"),
    ],
    ends: Ends::One,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("speed", "m/s", "speed of the point against the wind"),
    Quantity::new("force", "N", "size of the drag, which acts against that motion"),
];

fn make(values: &Values, place: &Placement) -> Made {
    for key in ["cd", "area", "density"] {
        values.at_most_one(&["coefficient", key])?;
    }
    let coefficient = match (values.optional_number("coefficient"), values.optional_number("cd")) {
        (Some(c), _) => c,
        (None, Some(cd)) if values.has("area") => {
            0.5 * values.number("density") * cd * values.optional_number("area").unwrap_or(0.0)
        }
        (None, None) if values.has("linear") && !values.has("area") => 0.0,
        _ => {
            let message = format!("{} needs `cd` and `area`, or `coefficient`, or `linear`", values.what());
            return Err(values.error(message).help("coefficient = ½ · density · cd · area [kg/m]").into());
        }
    };
    let wind = match values.optional_functions("wind") {
        Some(f) => std::array::from_fn(|i| f[i].clone()),
        None => [0.0; 3].map(Expression::constant),
    };
    Ok(Box::new(Drag { coefficient, linear: values.number("linear"), wind, axes: place.axes }))
}

impl Drag {
    fn relative(&self, at: &Seen) -> Vec3 {
        at.ends[0].v - self.axes * Vec3(std::array::from_fn(|i| self.wind[i].value_with(at.t, at.inputs)))
    }
    fn force(&self, at: &Seen) -> Vec3 {
        let u = self.relative(at);
        u * -(self.linear + self.coefficient * u.norm())
    }
}

impl Force for Drag {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&[self.relative(at).norm(), self.force(at).norm()]);
    }
    fn courses(&self) -> Vec<&Expression> {
        self.wind.iter().collect()
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        out[0].lin += self.force(at);
    }
    fn stiffness(&self, at: &Seen, _k: &mut Stiffness, d: &mut Stiffness) {
        let u = self.relative(at);
        let along = u.normalized().unwrap_or(Vec3::ZERO);
        let quadratic = (Mat3::IDENTITY + along.outer(along)) * (self.coefficient * u.norm());
        d.add(0, LIN, 0, LIN, (quadratic + Mat3::IDENTITY * self.linear) * -1.0);
    }
    fn power(&self, at: &Seen) -> f64 {
        self.force(at).dot(at.ends[0].v)
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
}
