//! How bodies are drawn: colours, opacity, and whether they are drawn at all.

use crate::file::suggest;
use crate::mesh::Mesh;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Red, green and blue; in files `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub [u8; 3]);

/// Colours that have a name: those of CSS, most with the same values.
const NAMED: &[(&str, u32)] = &[
    ("black", 0x000000),
    ("white", 0xffffff),
    ("silver", 0xc0c0c0),
    ("grey", 0x808080),
    ("gray", 0x808080),
    ("steel", 0x7c8591),
    ("red", 0xd62728),
    ("maroon", 0x800000),
    ("orange", 0xff7f0e),
    ("gold", 0xd9a400),
    ("yellow", 0xf2d024),
    ("olive", 0x808000),
    ("green", 0x2ca02c),
    ("lime", 0x7ed321),
    ("teal", 0x008080),
    ("cyan", 0x17becf),
    ("blue", 0x1f77b4),
    ("navy", 0x001f5b),
    ("purple", 0x8e44ad),
    ("magenta", 0xd81b9a),
    ("pink", 0xf4a6c0),
    ("brown", 0x8c564b),
    ("copper", 0xb87333),
    ("brass", 0xb5a642),
];

impl Rgb {
    /// From numbers of 0 to 1.
    pub fn of(parts: [f64; 3]) -> Rgb {
        Rgb(parts.map(|x| (255.0 * x.clamp(0.0, 1.0)).round() as u8))
    }

    /// `#rrggbb`, `#rgb` or a name. What is wrong, and what to write, else.
    pub fn parse(text: &str) -> Result<Rgb, (String, String)> {
        let wrong = |why: &str| {
            let near = suggest::nearest(text, NAMED.iter().map(|(name, _)| *name));
            let near = near.map_or(String::new(), |n| format!("did you mean {}? ", suggest::quoted(n)));
            let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
            let help = format!("{near}Colours are written like `\"#e8863a\"`, or are one of {}", names.join(", "));
            (format!("{} {why}", suggest::quoted(text)), help)
        };
        if let Some((_, value)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(Rgb([(value >> 16) as u8, (value >> 8) as u8, *value as u8]));
        }
        let Some(digits) = text.strip_prefix('#') else { return Err(wrong("is no colour")) };
        let digits: Option<Vec<u8>> = digits.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
        match digits.as_deref() {
            Some([r, g, b]) => Ok(Rgb([17 * r, 17 * g, 17 * b])),
            Some([a, b, c, d, e, f]) => Ok(Rgb([16 * a + b, 16 * c + d, 16 * e + f])),
            _ => Err(wrong("is no colour: after `#` stand three or six digits of 0 to f")),
        }
    }
}

impl std::fmt::Display for Rgb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

impl Serialize for Rgb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rgb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rgb, D::Error> {
        let text = String::deserialize(deserializer)?;
        Rgb::parse(&text).map_err(|(message, _)| serde::de::Error::custom(message))
    }
}

/// Colour and opacity; what is not given is that of the body, or chosen for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Appearance {
    /// The colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<Rgb>,
    /// From 0, which cannot be seen, to 1, which nothing is seen through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opacity: Option<f64>,
}

/// Triangles that are drawn in the place of a body's shape, in its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct VisualSolid {
    /// The triangles.
    pub mesh: Arc<Mesh>,
    /// How they look, where they do not look like the body.
    pub appearance: Appearance,
}

/// Adds triangles to those that look alike.
pub fn add_solid(solids: &mut Vec<VisualSolid>, mesh: Mesh, appearance: Appearance) {
    match solids.iter_mut().find(|s| s.appearance == appearance) {
        Some(alike) => Arc::make_mut(&mut alike.mesh).corners.extend(mesh.corners),
        None => solids.push(VisualSolid { mesh: Arc::new(mesh), appearance }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_written_as_digits_or_names() {
        assert_eq!(Rgb::parse("#e8863a"), Ok(Rgb([0xe8, 0x86, 0x3a])));
        assert_eq!(Rgb::parse("#F0a"), Ok(Rgb([255, 0, 170])));
        assert_eq!(Rgb::parse("red").map(|c| c.to_string()), Ok("#d62728".into()));
        for (name, _) in NAMED {
            let colour = Rgb::parse(name).unwrap();
            assert_eq!(Rgb::parse(&colour.to_string()), Ok(colour), "{name}");
        }
        assert_eq!(Rgb::of([0.0, 0.5, 2.0]), Rgb([0, 128, 255]));
        for wrong in ["", "#", "#12", "#12345g", "#1234567", "rde", "Red ", "#é1234"] {
            let (message, help) = Rgb::parse(wrong).unwrap_err();
            assert!(message.contains("is no colour") && help.contains("#e8863a"), "{wrong}: {message}; {help}");
        }
        assert!(Rgb::parse("gren").unwrap_err().1.contains("did you mean `green`"));
    }

    #[test]
    fn triangles_that_look_alike_are_one_solid() {
        let mut solids = Vec::new();
        let red = Appearance { colour: Some(Rgb([255, 0, 0])), opacity: None };
        let cube = || Mesh::cuboid(bellcrank_math::Vec3::new(1.0, 1.0, 1.0));
        for look in [Appearance::default(), red, Appearance::default(), red] {
            add_solid(&mut solids, cube(), look);
        }
        let sizes: Vec<usize> = solids.iter().map(|s| s.mesh.corners.len()).collect();
        assert_eq!(sizes, [2 * cube().corners.len(); 2]);
    }
}
