//! Units behind numbers: `"30 deg"`, `"5 kN/m"`, `"1.2 kg m²"`.
//!
//! ```text
//! quantity = ["-" | "+"] number unit
//! unit     = product {"/" (atom | "(" product ")")}      no space before or after "/"
//! product  = atom {("·" | " ") atom}
//! atom     = [prefix] name ["²" | "³" | "⁴" | "^" digit]
//! ```
//!
//! A unit is a size in SI units and powers of the base units. The radian counts as one of them, so that hertz are not taken
//! for rad/s, nor newton metres for N m/rad. Atoms do not follow each other behind a `/`: J/kg K would be read in two ways.

use super::diagnostic::Diagnostic;
use super::suggest::{nearest, quoted};
use super::tree::Node;

/// Base units: metre, kilogram, second, radian, ampere, kelvin.
const BASE: [&str; 6] = ["m", "kg", "s", "rad", "A", "K"];

/// A unit, such as kN/m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its size in SI units is `factor` · 10^`tens`.
    factor: f64,
    tens: i32,
    powers: [i32; 6],
}

/// A name, its size as a factor and a power of ten, and powers of m, kg, s, rad, A, K; whether prefixes go before it.
type UnitRow = (&'static str, f64, i32, [i32; 6], bool);

use std::f64::consts::PI;
const ATOMS: &[UnitRow] = &[
    ("m", 1.0, 0, [1, 0, 0, 0, 0, 0], true),
    ("g", 1.0, -3, [0, 1, 0, 0, 0, 0], true),
    ("s", 1.0, 0, [0, 0, 1, 0, 0, 0], true),
    ("rad", 1.0, 0, [0, 0, 0, 1, 0, 0], true),
    ("A", 1.0, 0, [0, 0, 0, 0, 1, 0], true),
    ("K", 1.0, 0, [0, 0, 0, 0, 0, 1], true),
    ("N", 1.0, 0, [1, 1, -2, 0, 0, 0], true),
    ("Nm", 1.0, 0, [2, 1, -2, 0, 0, 0], true),
    ("Nmm", 1.0, -3, [2, 1, -2, 0, 0, 0], false),
    ("J", 1.0, 0, [2, 1, -2, 0, 0, 0], true),
    ("W", 1.0, 0, [2, 1, -3, 0, 0, 0], true),
    ("Pa", 1.0, 0, [-1, 1, -2, 0, 0, 0], true),
    ("bar", 1.0, 5, [-1, 1, -2, 0, 0, 0], true),
    ("Hz", 1.0, 0, [0, 0, -1, 0, 0, 0], true),
    ("V", 1.0, 0, [2, 1, -3, 0, -1, 0], true),
    ("Ω", 1.0, 0, [2, 1, -3, 0, -2, 0], true),
    ("ohm", 1.0, 0, [2, 1, -3, 0, -2, 0], true),
    ("H", 1.0, 0, [2, 1, -2, 0, -2, 0], true),
    ("F", 1.0, 0, [-2, -1, 4, 0, 2, 0], true),
    ("deg", PI / 180.0, 0, [0, 0, 0, 1, 0, 0], false),
    ("°", PI / 180.0, 0, [0, 0, 0, 1, 0, 0], false),
    ("rev", 2.0 * PI, 0, [0, 0, 0, 1, 0, 0], false),
    ("rpm", 2.0 * PI / 60.0, 0, [0, 0, -1, 1, 0, 0], false),
    ("min", 60.0, 0, [0, 0, 1, 0, 0, 0], false),
    ("h", 3600.0, 0, [0, 0, 1, 0, 0, 0], false),
    ("in", 0.0254, 0, [1, 0, 0, 0, 0, 0], false),
    ("ft", 0.3048, 0, [1, 0, 0, 0, 0, 0], false),
    ("lb", 0.453_592_37, 0, [0, 1, 0, 0, 0, 0], false),
    ("lbf", 4.448_221_615_260_5, 0, [1, 1, -2, 0, 0, 0], false),
];

const PREFIXES: &[(&str, i32)] =
    &[("G", 9), ("M", 6), ("k", 3), ("d", -1), ("c", -2), ("m", -3), ("µ", -6), ("μ", -6), ("u", -6), ("n", -9)];

impl Unit {
    const ONE: Unit = Unit { factor: 1.0, tens: 0, powers: [0; 6] };

    /// The unit that a text is, all of it.
    pub fn parse(text: &str) -> Option<Unit> {
        let text = text.strip_prefix("1/").map_or(text.to_string(), |rest| format!("rad/rad/{rest}"));
        scan(&text).filter(|(length, _)| *length == text.len()).map(|(_, unit)| unit)
    }

    /// A number of this unit in SI units: digits are shifted, so that "12 mm" is 0.012 to the last bit.
    pub fn in_si(&self, x: f64) -> f64 {
        let shifted =
            if self.tens == 0 { x } else { format!("{x:e}").split_once('e').map_or(f64::NAN, |p| self.shift(p)) };
        if self.factor == 1.0 { shifted } else { shifted * self.factor }
    }

    fn shift(&self, (digits, exponent): (&str, &str)) -> f64 {
        let exponent: i32 = exponent.parse().unwrap_or(0);
        format!("{digits}e{}", exponent + self.tens).parse().unwrap_or(f64::NAN)
    }

    /// Whether both measure the same kind of thing.
    pub fn is_like(&self, other: &Unit) -> bool {
        self.powers == other.powers
    }

    /// Whether it is a unit of SI without a factor.
    pub fn is_coherent(&self) -> bool {
        self.factor == 1.0 && self.tens == 0
    }

    /// Whether it belongs to a turn rather than to a shift: it has angles in it, or is that of a torque or a moment of inertia.
    pub fn turns(&self) -> bool {
        self.powers[3] != 0 || self.powers == [2, 1, -2, 0, 0, 0] || self.powers == [2, 1, 0, 0, 0, 0]
    }

    /// The SI unit of this kind, as it is written.
    pub fn si(&self) -> String {
        const USUAL: [&str; 17] = [
            "N",
            "N m",
            "N/m",
            "N m/rad",
            "N s/m",
            "N m s/rad",
            "Pa",
            "W",
            "Hz",
            "V",
            "ohm",
            "kg m²",
            "m/s",
            "m/s²",
            "rad/s",
            "rad/s²",
            "kg/m³",
        ];
        if let Some(usual) = USUAL.iter().find(|u| Unit::parse(u).is_some_and(|u| u.is_like(self))) {
            return usual.to_string();
        }
        let part = |sign: i32| {
            let powers = self.powers.iter().zip(BASE).filter(|(p, _)| **p * sign > 0);
            let atom = |(p, name): (&i32, &str)| match p.abs() {
                1 => name.to_string(),
                n => format!("{name}^{n}"),
            };
            powers.map(atom).collect::<Vec<_>>()
        };
        let (above, below) = (part(1), part(-1));
        let above = if above.is_empty() { "1".to_string() } else { above.join(" ") };
        match below.len() {
            0 => above,
            1 => format!("{above}/{}", below[0]),
            _ => format!("{above}/({})", below.join(" ")),
        }
    }

    fn times(self, other: Unit, power: i32) -> Unit {
        let mut powers = self.powers;
        powers.iter_mut().zip(other.powers).for_each(|(p, q)| *p += power * q);
        Unit { factor: self.factor * other.factor.powi(power), tens: self.tens + power * other.tens, powers }
    }
}

/// The longest unit that a text begins with, and its bytes.
pub(super) fn scan(text: &str) -> Option<(usize, Unit)> {
    let (mut at, mut unit) = product(text)?;
    while let Some(rest) = text[at..].strip_prefix('/') {
        if let Some((length, divisor)) = atom(rest) {
            (at, unit) = (at + 1 + length, unit.times(divisor, -1));
        } else if let Some((length, divisor)) = rest.strip_prefix('(').and_then(product)
            && rest[1 + length..].starts_with(')')
        {
            (at, unit) = (at + length + 3, unit.times(divisor, -1));
        } else {
            break;
        }
    }
    Some((at, unit))
}

fn product(text: &str) -> Option<(usize, Unit)> {
    let (mut at, first) = atom(text)?;
    let mut unit = Unit::ONE.times(first, 1);
    loop {
        let rest = &text[at..];
        let next = rest.trim_start_matches([' ', '·', '⋅']);
        let gap = rest.len() - next.len();
        match atom(next).filter(|_| gap > 0) {
            Some((length, factor)) => (at, unit) = (at + gap + length, unit.times(factor, 1)),
            None => return Some((at, unit)),
        }
    }
}

/// A name with its prefix and power.
fn atom(text: &str) -> Option<(usize, Unit)> {
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let length = match text.starts_with('°') {
        true => '°'.len_utf8(),
        // a superscript is a digit of a kind, too
        false => text.find(|c: char| !of_name(c) || "²³⁴".contains(c)).unwrap_or(text.len()),
    };
    let mut unit = named(&text[..length])?;
    let rest = &text[length..];
    // a name goes on with a dot: `s.x` is a channel
    if rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let powers = [("²", 2), ("³", 3), ("⁴", 4), ("^2", 2), ("^3", 3), ("^4", 4)];
    let Some((sign, power)) = powers.into_iter().find(|(sign, _)| rest.starts_with(sign)) else {
        return Some((length, unit));
    };
    unit = Unit::ONE.times(unit, power);
    Some((length + sign.len(), unit))
}

fn named(name: &str) -> Option<Unit> {
    let unit = |&(_, factor, tens, powers, _): &UnitRow| Unit { factor, tens, powers };
    if let Some(row) = ATOMS.iter().find(|row| row.0 == name) {
        return Some(unit(row));
    }
    PREFIXES.iter().find_map(|(prefix, tens)| {
        let rest = name.strip_prefix(prefix)?;
        let row = ATOMS.iter().find(|row| row.0 == rest && row.4)?;
        let of_length = matches!(*prefix, "c" | "d") && rest != "m";
        (!of_length).then(|| Unit { tens: row.2 + tens, ..unit(row) })
    })
}

/// A unit that may have been meant by a name that is none.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    const COMMON: [&str; 18] = [
        "mm", "cm", "km", "kg", "ms", "kN", "MN", "Nm", "kNm", "deg", "rad", "rpm", "Pa", "kPa", "MPa", "GPa", "Hz",
        "bar",
    ];
    let plain = COMMON.iter().chain(ATOMS.iter().map(|row| &row.0)).copied();
    plain
        .clone()
        .find(|u| u.eq_ignore_ascii_case(name))
        .or_else(|| {
            const ALIASES: [(&str, &str); 9] = [
                ("degree", "deg"),
                ("degrees", "deg"),
                ("sec", "s"),
                ("meter", "m"),
                ("inch", "in"),
                ("Newton", "N"),
                ("l", "dm³"),
                ("litre", "dm³"),
                ("liter", "dm³"),
            ];
            ALIASES.into_iter().find(|(alias, _)| *alias == name).map(|(_, unit)| unit)
        })
        .or_else(|| nearest(name, plain).filter(|_| name.len() > 2))
}

/// What is wrong with a unit in the place of a name.
pub(super) fn misused(name: &str) -> Option<&'static str> {
    named(name)
        .filter(|_| name.len() > 1)
        .map(|_| "a unit stands behind a number; between units leave a space, as in 2 kg m²")
}

/// The names behind the `/` of a unit: what a number could also be divided by, if something in the model has such a name.
pub(super) fn divisors(unit: &str) -> impl Iterator<Item = &str> {
    let below = unit.split_once('/').map_or("", |(_, below)| below);
    below.split(|c: char| !(c.is_alphanumeric() || c == '_') || "²³⁴".contains(c)).filter(|n| !n.is_empty())
}

/// A number with its unit, if the text is nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberWithUnit<'t> {
    /// The number in SI units.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
    /// The unit as it was written, and where it begins.
    pub text: &'t str,
    /// The byte at which the unit begins.
    pub at: usize,
}

impl NumberWithUnit<'_> {
    /// The message about a number whose unit is not that of its place.
    pub(super) fn misplaced(&self, node: &Node, message: String) -> Diagnostic {
        Diagnostic::error(message)
            .at(node.part(self.at..self.at + self.text.len()))
            .label("a unit of another kind")
            .help("units are checked and converted: 12 mm is 0.012 m; a number alone is in the unit of its key")
    }

    /// Reads a text that is a number and its unit.
    pub fn parse(text: &str) -> Option<NumberWithUnit<'_>> {
        let start = text.trim_start();
        let digits = start.trim_start_matches(['-', '+', ' ']);
        let signs = start.len() - digits.len();
        let length = super::expression::number_length(digits);
        let x: f64 = digits[..length].parse().ok().filter(|x: &f64| x.is_finite())?;
        let rest = digits[length..].trim_start();
        let unit = rest.trim_end();
        let (_, found) = scan(unit).filter(|(bytes, _)| *bytes == unit.len())?;
        let negative = start[..signs].matches('-').count() % 2 == 1;
        let value = found.in_si(if negative { -x } else { x });
        value.is_finite().then_some(NumberWithUnit { value, unit: found, text: unit, at: text.len() - rest.len() })
    }
}

/// The units among which a field's may be chosen: those between commas; `None` if one of them is not known.
pub fn choices(unit: &str) -> Option<Vec<Unit>> {
    unit.split([',', ';']).map(|u| Unit::parse(u.trim())).collect()
}

/// What is wrong with a quantity in the place of a number in this unit; units after commas will do as well.
pub fn refuse(quantity: &NumberWithUnit, wanted: &str) -> Option<String> {
    // a parameter that was given a unit goes by its name
    let found = match Unit::parse(quantity.text) {
        Some(_) => format!("a number in {}", quantity.text),
        None => format!("{}, which is in {}", quoted(quantity.text), quantity.unit.si()),
    };
    match choices(wanted) {
        _ if wanted == ANY => None,
        _ if wanted.is_empty() => Some(format!("is a plain number, found {found}")),
        Some(units) if units.iter().any(|u| u.is_like(&quantity.unit)) => None,
        Some(_) => Some(format!("is in {}, found {found}", wanted.replace("; ", ", ").replace(", ", " or "))),
        None => Some(format!("is in {wanted} and takes no unit, found {found}")),
    }
}

/// Stands for the unit of a field that may have any.
pub const ANY: &str = "any";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_sizes_and_kinds() {
        let pi = PI;
        for (text, value, like) in [
            ("12 mm", 0.012, "m"),
            ("5.1mm", 5.1e-3, "m"),
            ("-3 µm", -3e-6, "m"),
            ("30 deg", pi / 6.0, "rad"),
            ("90°", pi / 2.0, "rad"),
            ("180 deg", pi, "rad"),
            ("5 kN", 5000.0, "N"),
            ("5 kN/m", 5000.0, "N/m"),
            ("7 N/mm", 7000.0, "N/m"),
            ("210 GPa", 210e9, "Pa"),
            ("7850 kg/m³", 7850.0, "kg/m³"),
            ("7.85 g/cm^3", 7850.0, "kg/m³"),
            ("2 N m s/rad", 2.0, "N m s/rad"),
            ("3 N·m/deg", 3.0 * 180.0 / pi, "N m/rad"),
            ("3 Nm", 3.0, "N m"),
            ("60 rpm", 2.0 * pi, "rad/s"),
            ("36 km/h", 10.0, "m/s"),
            ("6.6743e-11 m³/(kg s²)", 6.6743e-11, "m³/(kg s²)"),
            ("1 lbf/in", 4.4482216152605 / 0.0254, "N/m"),
            ("250 g", 0.25, "kg"),
            ("+1.5e-3 m", 1.5e-3, "m"),
            ("4 1/s", 4.0, ""),
        ] {
            let Some(q) = NumberWithUnit::parse(text) else {
                assert_eq!(like, "", "{text}");
                continue;
            };
            assert!((q.value - value).abs() <= 4e-16 * value.abs(), "{text}: {} {value}", q.value);
            assert!(q.unit.is_like(&Unit::parse(like).unwrap()), "{text}");
        }
        // digits are shifted, not multiplied
        for (text, value) in [("12 mm", 0.012), ("5.1 mm", 0.0051), ("0.3 µm", 3e-7), ("4.35 MPa", 4.35e6)] {
            assert_eq!(NumberWithUnit::parse(text).unwrap().value, value, "{text}");
        }
    }

    #[test]
    fn what_is_not_one_number_and_one_unit_is_an_expression() {
        for text in
            ["5", "5 k", "5 m + 1", "m", "5 m/", "5 J/kg K", "2*3 m", "5 s.x", "5 m x", "1e400 m", "", "5 fs", "3 cs"]
        {
            assert_eq!(NumberWithUnit::parse(text), None, "{text}");
        }
        assert_eq!(Unit::parse("1/s"), Unit::parse("Hz"));
        assert_eq!(Unit::parse("N/m^exponent"), None);
        assert_eq!(Unit::parse("N m").unwrap().si(), "N m");
        assert_eq!(Unit::parse("bar").unwrap().si(), "Pa");
        assert_eq!(Unit::parse("km/h").unwrap().si(), "m/s");
        assert_eq!(Unit::parse("A/V").unwrap().si(), "s^3 A^2/(m^2 kg)");
        assert_eq!(Unit::parse("m³/(kg s²)").unwrap().si(), "m^3/(kg s^2)");
    }

    #[test]
    fn hertz_are_not_radians_per_second_and_torques_no_stiffness() {
        let like = |a: &str, b: &str| Unit::parse(a).unwrap().is_like(&Unit::parse(b).unwrap());
        assert!(!like("Hz", "rad/s") && !like("N m", "N m/rad") && like("J", "N m") && !like("m", "rad"));
        let q = NumberWithUnit::parse("5 kN").unwrap();
        assert_eq!(refuse(&q, "kg").unwrap(), "is in kg, found a number in kN");
        assert_eq!(refuse(&q, "N m, m").unwrap(), "is in N m or m, found a number in kN");
        assert_eq!((refuse(&q, "N, N m"), refuse(&q, ANY)), (None, None));
        assert!(refuse(&q, "").unwrap().contains("plain number") && refuse(&q, "N/m^exponent").is_some());
    }
}
