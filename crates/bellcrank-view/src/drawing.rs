//! Drawings: a list of paths, circles and texts that becomes SVG or PNG.
//!
//! SVG keeps texts as texts, so that a paper can set them in its own type. PNG draws them with the outlines of
//! `glyphs.txt`: no font need be installed, and the same drawing gives the same picture everywhere.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// A colour with its opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour(pub u8, pub u8, pub u8, pub f64);

impl Colour {
    /// An opaque colour, written as in `0x1f6fb4`.
    pub const fn hex(rgb: u32) -> Colour {
        Colour((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8, 1.0)
    }

    /// The same colour with another opacity.
    pub fn with_opacity(self, opacity: f64) -> Colour {
        Colour(self.0, self.1, self.2, opacity)
    }

    /// The colour at a fraction of the way to another one.
    pub fn towards(self, other: Colour, part: f64) -> Colour {
        let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round().clamp(0.0, 255.0) as u8;
        Colour(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2), self.3)
    }

    fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// How a path or circle is painted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The inside.
    pub fill: Option<Colour>,
    /// The line.
    pub stroke: Option<Colour>,
    /// Its width.
    pub width: f64,
    /// Lengths of dashes and gaps; zero for a solid line.
    pub dash: (f64, f64),
}

impl Style {
    /// An area without an outline.
    pub fn fill(colour: Colour) -> Style {
        Style { fill: Some(colour), ..Style::default() }
    }

    /// A line.
    pub fn line(colour: Colour, width: f64) -> Style {
        Style { stroke: Some(colour), width, ..Style::default() }
    }

    /// An area with an outline.
    pub fn outlined(fill: Colour, stroke: Colour, width: f64) -> Style {
        Style { fill: Some(fill), stroke: Some(stroke), width, dash: (0.0, 0.0) }
    }
}

/// The point of a text that its position refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

enum DrawItem {
    Path { points: Vec<[f64; 2]>, closed: bool, style: Style },
    Circle { centre: [f64; 2], radius: f64, style: Style },
    Text { at: [f64; 2], text: String, size: f64, anchor: Anchor, colour: Colour, upright: bool },
}

/// A drawing on a white ground, x to the right and y down, in pixels.
pub struct Drawing {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    items: Vec<DrawItem>,
}

impl Drawing {
    /// An empty drawing.
    pub fn new(width: f64, height: f64) -> Drawing {
        Drawing { width, height, items: Vec::new() }
    }

    /// Adds a path; one with a point that is not a number is left out.
    pub fn path(&mut self, points: Vec<[f64; 2]>, closed: bool, style: Style) {
        if points.len() > 1 && points.iter().flatten().all(|x| x.is_finite()) {
            self.items.push(DrawItem::Path { points, closed, style });
        }
    }

    /// Adds a line from point to point.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], colour: Colour, width: f64) {
        self.path(vec![from, to], false, Style::line(colour, width));
    }

    /// Adds a circle.
    pub fn circle(&mut self, centre: [f64; 2], radius: f64, style: Style) {
        if centre.iter().chain([&radius]).all(|x| x.is_finite()) && radius > 0.0 {
            self.items.push(DrawItem::Circle { centre, radius, style });
        }
    }

    /// Adds a text with its baseline at `at`.
    pub fn text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor, colour: Colour) {
        self.items.push(DrawItem::Text { at, text: plain(text), size, anchor, colour, upright: false });
    }

    /// Adds a text that runs upwards.
    pub fn upright_text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor, colour: Colour) {
        self.items.push(DrawItem::Text { at, text: plain(text), size, anchor, colour, upright: true });
    }

    /// The drawing as SVG.
    pub fn to_svg(&self) -> String {
        let (w, h) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             font-family=\"DejaVu Sans, Verdana, sans-serif\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n"
        );
        for item in &self.items {
            let _ = match item {
                DrawItem::Path { points, closed, style } => {
                    let list: Vec<String> =
                        points.iter().map(|[x, y]| format!("{},{}", short(*x), short(*y))).collect();
                    let tag = if *closed { "polygon" } else { "polyline" };
                    writeln!(out, "<{tag} points=\"{}\"{}/>", list.join(" "), attributes(style))
                }
                DrawItem::Circle { centre: [x, y], radius, style } => writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>",
                    short(*x),
                    short(*y),
                    short(*radius),
                    attributes(style)
                ),
                DrawItem::Text { at: [x, y], text, size, anchor, colour, upright } => {
                    let anchor = match anchor {
                        Anchor::Start => "",
                        Anchor::Middle => " text-anchor=\"middle\"",
                        Anchor::End => " text-anchor=\"end\"",
                    };
                    let place = match upright {
                        false => format!("x=\"{}\" y=\"{}\"", short(*x), short(*y)),
                        true => format!("transform=\"translate({} {}) rotate(-90)\"", short(*x), short(*y)),
                    };
                    let (colour, text) = (colour.css(), escape(text));
                    writeln!(out, "<text {place} font-size=\"{size}\" fill=\"{colour}\"{anchor}>{text}</text>")
                }
            };
        }
        out + "</svg>\n"
    }

    /// The drawing as PNG, magnified by a factor; nothing if it would be larger than 100 megapixels.
    pub fn to_png(&self, scale: f64) -> Option<Vec<u8>> {
        let (w, h) = ((self.width * scale).ceil(), (self.height * scale).ceil());
        if !(w >= 1.0 && h >= 1.0 && w * h <= 1e8) {
            return None;
        }
        let mut map = Pixmap::new(w as u32, h as u32)?;
        map.fill(Color::WHITE);
        let to = Transform::from_scale(scale as f32, scale as f32);
        for item in &self.items {
            match item {
                DrawItem::Path { points, closed, style } => {
                    let mut path = PathBuilder::new();
                    points.iter().enumerate().for_each(|(k, [x, y])| match k {
                        0 => path.move_to(*x as f32, *y as f32),
                        _ => path.line_to(*x as f32, *y as f32),
                    });
                    if *closed {
                        path.close();
                    }
                    paint(&mut map, path.finish(), style, to);
                }
                DrawItem::Circle { centre: [x, y], radius, style } => {
                    let path = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                    paint(&mut map, path, style, to);
                }
                DrawItem::Text { at: [x, y], text, size, anchor, colour, upright } => {
                    let back = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => 0.5,
                        Anchor::End => 1.0,
                    } * text_width(text, *size);
                    let (place, turn) = (to.pre_translate(*x as f32, *y as f32), if *upright { -90.0 } else { 0.0 });
                    let place = place.pre_concat(Transform::from_rotate(turn)).pre_translate(-back as f32, 0.0);
                    let unit = (size / EM) as f32;
                    paint(&mut map, outline(text), &Style::fill(*colour), place.pre_scale(unit, -unit));
                }
            }
        }
        map.encode_png().ok()
    }
}

/// Text without what could fool a reader: control characters and marks of direction are replaced by a sign.
fn plain(text: &str) -> String {
    let odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if odd(c) { '\u{fffd}' } else { c }).collect()
}

/// A number with at most two decimals.
fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn attributes(style: &Style) -> String {
    let mut out = match style.fill {
        Some(c) if c.3 < 1.0 => format!(" fill=\"{}\" fill-opacity=\"{}\"", c.css(), short(c.3)),
        Some(c) => format!(" fill=\"{}\"", c.css()),
        None => " fill=\"none\"".into(),
    };
    if let Some(c) = style.stroke {
        let _ = write!(out, " stroke=\"{}\" stroke-width=\"{}\"", c.css(), short(style.width));
        if c.3 < 1.0 {
            let _ = write!(out, " stroke-opacity=\"{}\"", short(c.3));
        }
        if style.dash.0 > 0.0 {
            let _ = write!(out, " stroke-dasharray=\"{} {}\"", short(style.dash.0), short(style.dash.1));
        }
    }
    out
}

/// Text for HTML and SVG.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn paint(map: &mut Pixmap, path: Option<Path>, style: &Style, to: Transform) {
    let Some(path) = path else { return };
    let of = |c: Colour| {
        let mut paint = Paint { anti_alias: true, ..Paint::default() };
        paint.set_color_rgba8(c.0, c.1, c.2, (255.0 * c.3).round() as u8);
        paint
    };
    if let Some(c) = style.fill {
        map.fill_path(&path, &of(c), FillRule::Winding, to, None);
    }
    if let Some(c) = style.stroke {
        let dash = if style.dash.0 > 0.0 {
            StrokeDash::new(vec![style.dash.0 as f32, style.dash.1 as f32], 0.0)
        } else {
            None
        };
        let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
        let stroke = Stroke { width: style.width as f32, line_cap, line_join, dash, ..Stroke::default() };
        map.stroke_path(&path, &of(c), &stroke, to, None);
    }
}

/// Units of the outlines in an em.
const EM: f64 = 2048.0;

/// Advance width and path of every glyph.
fn glyphs() -> &'static HashMap<char, (f64, &'static str)> {
    static GLYPHS: OnceLock<HashMap<char, (f64, &str)>> = OnceLock::new();
    GLYPHS.get_or_init(|| {
        let table = include_str!("glyphs.txt").split_once("\n\n").map_or("", |(_, table)| table);
        let glyph = |line: &'static str| {
            let mut letters = line.chars();
            let letter = letters.next()?;
            let (advance, path) = letters.as_str().split_once(' ').unwrap_or((letters.as_str(), ""));
            Some((letter, (advance.parse().ok()?, path)))
        };
        table.lines().filter_map(glyph).collect()
    })
}

fn advance(letter: char) -> f64 {
    glyphs().get(&letter).map_or(0.6 * EM, |(advance, _)| *advance)
}

/// How wide a text is.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size / EM
}

/// A text cut to a width, with `…` where something is missing.
pub fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_string();
    }
    let room = width * EM / size - advance('…');
    let mut used = 0.0;
    let kept = text.chars().take_while(|c| {
        used += advance(*c);
        used <= room
    });
    kept.chain(['…']).collect()
}

/// The outline of a text in glyph units, y up; a letter without an outline is a box.
fn outline(text: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut x = 0.0;
    for letter in text.chars() {
        match glyphs().get(&letter) {
            Some((_, commands)) => trace(commands, x, &mut path),
            None => {
                for inset in [0.0, 120.0] {
                    let (l, r) = (x + 0.08 * EM + inset, x + 0.52 * EM - inset);
                    // the inner box runs the other way round, and so is a hole
                    let (a, b) = if inset == 0.0 { (l, r) } else { (r, l) };
                    let (low, high) = (inset as f32, (0.72 * EM - inset) as f32);
                    path.move_to(a as f32, low);
                    path.line_to(b as f32, low);
                    path.line_to(b as f32, high);
                    path.line_to(a as f32, high);
                    path.close();
                }
            }
        }
        x += advance(letter);
    }
    path.finish()
}

/// Draws the commands M, L, H, V, Q and Z of an SVG path, absolute, shifted by `dx`.
fn trace(commands: &str, dx: f64, path: &mut PathBuilder) {
    let dx = dx as f32;
    let (mut x, mut y) = (0.0f32, 0.0f32);
    let ends = commands.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()).map(|(k, _)| k);
    let starts: Vec<usize> = ends.chain([commands.len()]).collect();
    for pair in starts.windows(2) {
        let (command, numbers) = commands[pair[0]..pair[1]].split_at(1);
        let numbers: Vec<f32> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        match command {
            "H" => numbers.iter().for_each(|n| {
                x = *n;
                path.line_to(x + dx, y);
            }),
            "V" => numbers.iter().for_each(|n| {
                y = *n;
                path.line_to(x + dx, y);
            }),
            "Q" => numbers.chunks_exact(4).for_each(|n| {
                (x, y) = (n[2], n[3]);
                path.quad_to(n[0] + dx, n[1], x + dx, y);
            }),
            "Z" => path.close(),
            _ => numbers.chunks_exact(2).enumerate().for_each(|(k, n)| {
                (x, y) = (n[0], n[1]);
                if command == "M" && k == 0 { path.move_to(x + dx, y) } else { path.line_to(x + dx, y) }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pixels of a PNG that are not white, within a box.
    fn ink(png: &[u8], x: std::ops::Range<u32>, y: std::ops::Range<u32>) -> usize {
        let map = Pixmap::decode_png(png).unwrap();
        let dark = |x, y| map.pixel(x, y).is_some_and(|p| p.green() < 200);
        y.flat_map(|y| x.clone().map(move |x| (x, y))).filter(|(x, y)| dark(*x, *y)).count()
    }

    #[test]
    fn pictures_have_ink_where_it_was_put() {
        let mut d = Drawing::new(100.0, 60.0);
        let black = Colour::hex(0);
        d.path(vec![[10.0, 10.0], [20.0, 10.0], [20.0, 20.0], [10.0, 20.0]], true, Style::fill(black));
        d.circle([80.0, 15.0], 5.0, Style::fill(black));
        d.text([50.0, 50.0], "Hq8", 16.0, Anchor::End, black);
        let png = d.to_png(2.0).unwrap();
        assert_eq!(
            ink(&png, 0..200, 0..120),
            ink(&png, 20..40, 20..40) + ink(&png, 150..170, 20..40) + ink(&png, 0..100, 60..120)
        );
        assert_eq!(ink(&png, 20..40, 20..40), 400);
        assert!((ink(&png, 150..170, 20..40) as f64 - 100.0 * std::f64::consts::PI).abs() < 12.0);
        let text = ink(&png, 100 - (2.0 * text_width("Hq8", 16.0)).ceil() as u32..100, 70..110);
        assert!(text > 150 && text == ink(&png, 0..100, 60..120), "{text}");
    }

    #[test]
    fn every_outline_can_be_drawn_and_keeps_to_its_place() {
        assert!(glyphs().len() > 250);
        for c in glyphs().keys().filter(|c| !c.is_whitespace()) {
            let bounds = outline(&c.to_string()).unwrap_or_else(|| panic!("{c}")).bounds();
            assert!(bounds.width() > 50.0 && bounds.top() > -700.0 && bounds.bottom() < 2500.0, "{c}: {bounds:?}");
        }
        assert!(outline("漢").is_some());
    }

    #[test]
    fn texts_are_shown_and_not_executed() {
        let mut d = Drawing::new(10.0, 10.0);
        d.text([0.0, 0.0], "<script>\u{202e}\u{1b}[31m&", 10.0, Anchor::Start, Colour::hex(0));
        let svg = d.to_svg();
        assert!(svg.contains("&lt;script&gt;\u{fffd}\u{fffd}[31m&amp;") && !svg.contains("<script"), "{svg}");
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut d = Drawing::new(10.0, 10.0);
        d.path(vec![[0.0, f64::NAN], [1.0, 1.0]], false, Style::default());
        d.circle([f64::INFINITY, 0.0], 1.0, Style::default());
        assert!(!d.to_svg().contains("poly") && !d.to_svg().contains("circle"));
        assert!(Drawing::new(1e6, 1e6).to_png(1.0).is_none());
    }

    #[test]
    fn long_texts_are_cut_to_their_room() {
        let cut = fitted("a very long name of a channel", 12.0, 80.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 80.0 && cut.len() > 6, "{cut}");
        assert_eq!(fitted("short", 12.0, 80.0), "short");
    }
}
