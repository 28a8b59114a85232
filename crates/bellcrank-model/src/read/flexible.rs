//! Flexible bodies in a model file: `beam` and `modal`.

use super::Reader;
use crate::bodies::{Beam, Body, Flexible, MAX_MODES, ModeField as Modes, Structure, parse_modal};
use crate::file::csv::open_text;
use crate::file::*;
use crate::frames::Attachment;
use crate::model::{BodyEntry, End};
use bellcrank_math::{Mat3, Quat, Vec3};
use std::f64::consts::PI;
use std::path::Path;

const DAMPING: Field =
    Field::optional("damping", FieldKind::NonNegative, "", "0", "damping ratio of every mode with the frame held");
const RAYLEIGH: Field = Field::optional(
    "rayleigh",
    FieldKind::Numbers(2, 2),
    "1/s, s",
    "none",
    "instead of `damping`: α and β of the damping matrix α M + β K",
);
const START: Field = Field::optional(
    "start",
    FieldKind::Word(&["undeformed", "quasi-static"]),
    "",
    "undeformed",
    "`quasi-static`: starts bent by the loads of the motion, so that nothing rings",
);
const DEFLECTION: Field = Field::optional(
    "deflection",
    FieldKind::Numbers(1, MAX_MODES),
    "m, rad",
    "none",
    "modal coordinates at the start, in the order of the modes",
);
const DEFLECTION_RATE: Field = Field::optional(
    "deflection_rate",
    FieldKind::Numbers(1, MAX_MODES),
    "m/s, rad/s",
    "none",
    "their rates at the start",
);

/// Keys of `beam`.
pub const BEAM: &[Field] = &[
    Field::required(
        "from",
        FieldKind::Point,
        "m",
        "the end A at the start, in the world: the origin of the body's frame",
    ),
    Field::required("to", FieldKind::Point, "m", "the end B; the body's x axis runs from A to B"),
    Field::optional(
        "up",
        FieldKind::Direction,
        "",
        "any",
        "in space: where the body's y axis points, as far as it can",
    ),
    Field::optional("mass", FieldKind::Positive, "kg", "from `density`", "mass"),
    Field::optional("density", FieldKind::Positive, "kg/m³", "from `mass`", "density, instead of `mass`"),
    Field::required("youngs_modulus", FieldKind::Positive, "Pa", "modulus of elasticity E"),
    Field::optional("shear_modulus", FieldKind::Positive, "Pa", "E/2.6", "shear modulus G, for torsion"),
    Field::optional(
        "section",
        FieldKind::Table(SECTION),
        "",
        "by its moments",
        "the section: a circle, a tube or a rectangle",
    ),
    Field::optional("area", FieldKind::Positive, "m²", "of the section", "area of the section"),
    Field::optional(
        "second_moment",
        FieldKind::Numbers(1, 2),
        "m⁴",
        "of the section",
        "second moment of area against bending towards the body's y; in space [towards y, towards z]",
    ),
    Field::optional("torsion_constant", FieldKind::Positive, "m⁴", "of the section", "torsion constant J (space)"),
    Field::optional(
        "ends",
        FieldKind::Word(&["pinned", "clamped"]),
        "",
        "pinned",
        "what the modes keep fixed: `pinned` both ends on the x axis, `clamped` the end A with its direction",
    ),
    Field::optional("axial", FieldKind::Integer, "", "1", "number of modes that stretch it"),
    Field::optional(
        "bending",
        FieldKind::Numbers(1, 2),
        "",
        "2",
        "number of modes that bend it; in space [towards y, towards z]",
    ),
    Field::optional("torsion", FieldKind::Integer, "", "1", "number of modes that twist it (space)"),
    Field::optional(
        "static_modes",
        FieldKind::Flag,
        "",
        "false",
        "adds the deflections under forces and moments at the ends to the modes of each kind",
    ),
    DAMPING,
    RAYLEIGH,
    START,
    DEFLECTION,
    DEFLECTION_RATE,
];

const SECTION: &[Field] = &[
    Field::optional("radius", FieldKind::Positive, "m", "", "radius of a circle"),
    Field::optional("inner", FieldKind::Positive, "m", "none", "inner radius of a tube"),
    Field::optional("width", FieldKind::Positive, "m", "", "edge of a rectangle along the body's z"),
    Field::optional("height", FieldKind::Positive, "m", "", "edge of a rectangle along the body's y"),
];

/// Keys of `modal`.
pub const MODAL: &[Field] = &[
    Field::required("file", FieldKind::Text, "", "a modal file in the model's folder: nodes, modes, stiffness"),
    DAMPING,
    RAYLEIGH,
    START,
    DEFLECTION,
    DEFLECTION_RATE,
];

/// Area, second moments against bending towards y and z, torsion constant.
struct CrossSection {
    area: f64,
    bending: [f64; 2],
    torsion: Option<f64>,
}

impl<'a> Reader<'a> {
    /// The flexible body of an entry, where it is one; the entry is placed.
    pub(super) fn flexible(&self, v: &Values<'a>, entry: &mut BodyEntry) -> Result<Option<Body>, Diagnostics> {
        let what = v.what();
        let (beam, modal) = (v.optional_table("beam"), v.optional_table("modal"));
        let Some(kind) = beam.map(|_| "beam").or(modal.map(|_| "modal")) else { return Ok(None) };
        for key in ["inertia", "coordinates"]
            .into_iter()
            .chain(if beam.is_some() { &["at", "angle", "orientation"][..] } else { &["mass"] }.iter().copied())
        {
            if v.has(key) {
                let help = match key {
                    "inertia" | "mass" => "its mass is distributed over the body: leave it out",
                    "coordinates" => "its coordinates are those of a floating frame and its modes: leave it out",
                    _ => "`from` and `to` tell where it is",
                };
                return Err(v.error_at(key, format!("{what} has both `{kind}` and `{key}`")).help(help).into());
            }
        }
        let (table, mut of) = match (beam, modal) {
            (Some(t), _) => (t, self.beam(v, t, entry)?),
            (None, Some(t)) => {
                let place = v.optional_vector("at").unwrap_or_default();
                entry.at = place;
                self.place_body(v, what, &Default::default(), entry)?;
                (t, self.modal(t)?)
            }
            (None, None) => return Ok(None),
        };
        self.damp(table, &mut of)?;
        self.bend(table, &mut of)?;
        match Flexible::new(of) {
            Some(body) => Ok(Some(Body::Flexible(body))),
            None if beam.is_some() => {
                let message = format!("{what}: its modes depend on each other");
                Err(table.error(message).help("ask for fewer modes, or leave `static_modes` out").into())
            }
            None => {
                let message = format!("{what}: its mass matrix is not positive definite");
                let help = "nodes on one line need moments of inertia about it: `name x y z mass jx jy jz`; \
                            a given modal `mass` must agree with the masses of the nodes";
                Err(table.error_at("file", message).help(help).into())
            }
        }
    }

    fn beam(&self, v: &Values<'a>, t: &Values<'a>, entry: &mut BodyEntry) -> Result<Structure, Diagnostics> {
        let what = v.what();
        let length = self.place_beam(v, t, entry)?;
        let section = self.section(t)?;
        let mass = mass_of_beam(v, t, section.area, length)?;
        let e = t.number("youngs_modulus");
        let count = |key: &str, n: f64| -> Result<usize, Diagnostics> {
            if n < 0.0 || n.fract() != 0.0 || n > MAX_MODES as f64 {
                let message = format!("`{key}` of {what} must be a whole number from 0 to {MAX_MODES}, found {n}");
                return Err(t.error_at(key, message).into());
            }
            Ok(n as usize)
        };
        let bending = t.optional_numbers("bending").unwrap_or(&[2.0]);
        let (first, last) = (bending[0], bending[bending.len() - 1]);
        let polar = section.bending[0] + section.bending[1];
        let torsion = if self.plane { 0 } else { count("torsion", t.integer("torsion") as f64)? };
        if torsion > 0 && section.torsion.is_none() {
            let message = format!("{what} has modes of torsion but no `torsion_constant`");
            return Err(t.error(message).help("add it, or a `section`, or `torsion = 0`").into());
        }
        let shear = t.optional_number("shear_modulus").unwrap_or(e / 2.6);
        let beam = Beam {
            dimension: self.model.space.dimension(),
            length,
            mass,
            axial_stiffness: e * section.area,
            bending_stiffness: section.bending.map(|i| e * i),
            torsional_stiffness: shear * section.torsion.unwrap_or(0.0),
            rotary: mass * polar / section.area,
            clamped: t.word("ends") == "clamped",
            axial: count("axial", t.integer("axial") as f64)?,
            bending: [count("bending", first)?, if self.plane { 0 } else { count("bending", last)? }],
            torsion,
            statics: t.flag("static_modes"),
        };
        if !(1..=MAX_MODES).contains(&beam.count()) {
            let message = format!("{what} has {} modes; a flexible body has 1 to {MAX_MODES}", beam.count());
            return Err(t
                .error(message)
                .help("change `axial`, `bending` or `torsion`; without modes it is a `rod`")
                .into());
        }
        let mut structure = beam.structure();
        structure.thickness = (section.area / PI).sqrt();
        Ok(structure)
    }

    /// Puts the frame of a beam at its first end, x along it; gives its length.
    fn place_beam(&self, v: &Values<'a>, t: &Values<'a>, entry: &mut BodyEntry) -> Result<f64, Diagnostics> {
        let what = v.what();
        let (from, to) = (t.vector("from"), t.vector("to"));
        let Some(along) = (to - from).normalized() else {
            let message = format!("the beam of {what} has no length: `from` and `to` are the same point");
            return Err(t.error(message).help("give two different points").into());
        };
        entry.at = from;
        if self.plane {
            for key in ["up", "shear_modulus", "torsion_constant", "torsion"] {
                if t.has(key) {
                    let message = format!("{what} is in the plane, and `{key}` is for beams in space");
                    return Err(t.error_at(key, message).help("leave it out").into());
                }
            }
            entry.angle = along[1].atan2(along[0]);
            entry.rotation = Quat::exp(Vec3::Z * entry.angle);
        } else {
            let y = match t.optional_vector("up") {
                None => along.any_perpendicular(),
                Some(up) => (up - along * up.dot(along)).normalized().ok_or_else(|| {
                    t.error_at("up", format!("`up` of {what} runs along the beam")).help("it must point another way")
                })?,
            };
            entry.rotation = Quat::from_matrix(&Mat3::from_columns(along, y, along.cross(y)));
        }
        Ok((to - from).norm())
    }

    fn section(&self, t: &Values<'a>) -> Result<CrossSection, Diagnostics> {
        let what = t.what();
        let named = ["area", "second_moment"];
        let Some(s) = t.optional_table("section") else {
            let (Some(area), Some(i)) = (t.optional_number("area"), t.optional_numbers("second_moment")) else {
                let missing = named.into_iter().find(|k| !t.has(k)).unwrap_or("area");
                let help =
                    "give `area` and `second_moment`, or a `section` with `radius`, or with `width` and `height`";
                return Err(t.error(format!("{what} needs `{missing}` or a `section`")).help(help).into());
            };
            if let Some(wrong) = i.iter().find(|i| **i <= 0.0) {
                let message = format!("`second_moment` of {what} must be positive, found {wrong}");
                return Err(t.error_at("second_moment", message).help("without it the beam has no stiffness").into());
            }
            return Ok(CrossSection {
                area,
                bending: [i[0], i[i.len() - 1]],
                torsion: t.optional_number("torsion_constant"),
            });
        };
        if let Some(key) = named.into_iter().chain(["torsion_constant"]).find(|k| t.has(k)) {
            let message = format!("{what} has both `section` and `{key}`");
            return Err(t.error_at(key, message).help("give the section or its moments").into());
        }
        let sizes = ["radius", "inner", "width", "height"].map(|k| s.optional_number(k));
        match sizes {
            [Some(r), inner, None, None] => {
                let i = inner.unwrap_or(0.0);
                if i >= r {
                    let message = format!("the inner radius {i} of {what} is not below the radius {r}");
                    return Err(s.error_at("inner", message).into());
                }
                let moment = PI / 4.0 * (r.powi(4) - i.powi(4));
                Ok(CrossSection { area: PI * (r * r - i * i), bending: [moment; 2], torsion: Some(2.0 * moment) })
            }
            [None, None, Some(w), Some(h)] => {
                let (long, short) = (w.max(h), w.min(h));
                let k = short / long;
                // to half a percent [Young & Budynas 2002, table 10.1]
                let torsion = long * short.powi(3) * (1.0 / 3.0 - 0.21 * k * (1.0 - k.powi(4) / 12.0));
                Ok(CrossSection {
                    area: w * h,
                    bending: [w * h.powi(3) / 12.0, h * w.powi(3) / 12.0],
                    torsion: Some(torsion),
                })
            }
            _ => {
                let help = "a circle has `radius`, a tube also `inner`, a rectangle `width` and `height`";
                Err(s.error(format!("`section` of {what} is neither a circle nor a rectangle")).help(help).into())
            }
        }
    }

    fn modal(&self, t: &Values<'a>) -> Result<Structure, Diagnostics> {
        let file = t.name("file").name;
        let Some(folder) = self.folder else {
            let message = format!("{} is in a file, but the model is not", t.what());
            return Err(t
                .error_at("file", message)
                .help("save the model as a file: modal files lie in its folder")
                .into());
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let read =
            open_text(folder, file, "modal").and_then(|text| parse_modal(file, &text, self.model.space.dimension()));
        read.map_err(|(message, help)| t.error_at("file", format!("{message}, in {}", t.what())).help(help).into())
    }

    fn damp(&self, t: &Values<'a>, of: &mut Structure) -> Result<(), Diagnostics> {
        let ratio = t.number("damping");
        let Some(rayleigh) = t.optional_numbers("rayleigh") else {
            of.set_damping_ratio(ratio);
            return Ok(());
        };
        if t.has("damping") {
            let message = format!("{} has both `damping` and `rayleigh`", t.what());
            return Err(t.error_at("rayleigh", message).help("give one of them").into());
        }
        if rayleigh.iter().any(|x| *x < 0.0) {
            let message = format!("`rayleigh` of {} must not be negative", t.what());
            return Err(t.error_at("rayleigh", message).help("α in 1/s and β in s").into());
        }
        of.set_rayleigh(rayleigh[0], rayleigh[1]);
        Ok(())
    }

    fn bend(&self, t: &Values<'a>, of: &mut Structure) -> Result<(), Diagnostics> {
        of.quasi_static = t.word("start") == "quasi-static";
        let n = of.count();
        for key in ["deflection", "deflection_rate"] {
            let Some(given) = t.optional_numbers(key) else { continue };
            if of.quasi_static {
                let message = format!("{} has both `{key}` and a quasi-static start", t.what());
                return Err(t.error_at(key, message).help("leave one of them out").into());
            }
            if given.len() != n {
                let message = format!("`{key}` of {} has {} numbers, but there are {n} modes", t.what(), given.len());
                return Err(t.error_at(key, message).help("give one for each mode").into());
            }
            let target = if key == "deflection" { &mut of.start } else { &mut of.start_rates };
            target.copy_from_slice(given);
        }
        Ok(())
    }

    /// Where an element stands on a body that does not tell: the middle of a flexible one, else the centre of mass.
    pub(super) fn middle(&self, body: Option<usize>) -> Attachment {
        match body.map(|b| &self.model.bodies[b].body) {
            Some(Body::Flexible(f)) => {
                let of = f.structure();
                Attachment::new(of.first * (1.0 / of.mass), Mat3::IDENTITY)
            }
            _ => Attachment::CENTRE,
        }
    }

    /// Refuses places that a flexible body does not have.
    pub(super) fn check_station(
        &self,
        v: &Values,
        end: &End,
        body: &Flexible,
        name: &str,
        rotational: bool,
    ) -> Result<(), Diagnostics> {
        let what = v.what();
        let key = ["on", "at", "body", "between"].into_iter().find(|k| v.has(k)).unwrap_or("type");
        let point = end.on.point;
        let coordinates = |p: Vec3| {
            let shown: Vec<String> = p.0[..self.model.space.dimension()].iter().map(|x| format!("{x:.6}")).collect();
            format!("[{}]", shown.join(", "))
        };
        match &body.structure().field {
            Modes::Beam { length, .. } => {
                if (-1e-9 * length..=length * (1.0 + 1e-9)).contains(&point[0]) {
                    return Ok(());
                }
                let message = format!("{what} is beyond the ends of the beam `{name}`, at x = {:.6} m of it", point[0]);
                Err(v.error_at(key, message).help(format!("along the beam x runs from 0 to {length}")).into())
            }
            Modes::Nodes(nodes) => {
                let far = |p: Vec3| (p - point).norm();
                let Some(nearest) = nodes.iter().min_by(|a, b| far(a.place).total_cmp(&far(b.place))) else {
                    return Ok(());
                };
                let size = nodes.iter().map(|n| n.place.norm()).fold(0.0, f64::max);
                if far(nearest.place) > 1e-6 * size {
                    let message = format!("{what} is at {} of `{name}`, where no node is", coordinates(point));
                    let help = format!(
                        "the nearest of its {} nodes is `{}` at {}",
                        nodes.len(),
                        nearest.name,
                        coordinates(nearest.place)
                    );
                    return Err(v.error_at(key, message).help(help).into());
                }
                if rotational && !nearest.turns {
                    let message = format!(
                        "{what} needs the rotation of node `{}` of `{name}`, which its modal file does not give",
                        nearest.name
                    );
                    let help = "give the modes with rotations, `ux uy uz rx ry rz`, or use a spherical joint";
                    return Err(v.error_at("type", message).help(help).into());
                }
                Ok(())
            }
        }
    }
}

/// The mass of a beam: its own, that of its body, or from its density.
fn mass_of_beam(v: &Values, t: &Values, area: f64, length: f64) -> Result<f64, Diagnostics> {
    let what = v.what();
    let masses =
        [t.optional_number("mass"), v.optional_number("mass"), t.optional_number("density").map(|d| d * area * length)];
    let given: Vec<f64> = masses.into_iter().flatten().collect();
    let [mass] = given[..] else {
        let (message, help) = match given.len() {
            0 => (format!("{what} needs `mass`"), "add `mass = …` [kg] or `density = …` [kg/m³] to the beam"),
            _ => (format!("{what} has its mass twice"), "give one of `mass` and `density`"),
        };
        return Err(t.error(message).help(help).into());
    };
    if mass <= 0.0 {
        return Err(v.error_at("mass", format!("{what}: the mass of a beam must be positive")).into());
    }
    Ok(mass)
}
