//! Plots of curves over axes: for papers as SVG and PNG, for terminals in Braille.
//!
//! Axes have ticks at 1, 2 or 5 times a power of ten; very large and small values share a factor 10ᵏ and values
//! that hardly differ an offset, both written at the end of the axis. Curves of any length are thinned to what
//! can be seen, with every peak kept. The colours can be told apart by the colour-blind [Okabe & Ito 2008].

mod figures;

pub use figures::{Chosen, Table, figures, labelled};

use crate::colours::colours;
use crate::drawing::{Anchor, Drawing, Style, fitted, text_width};
use std::fmt::Write;

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// Whether it is logarithmic; values that are not positive are then left out.
    pub logarithmic: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), logarithmic: false }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), logarithmic: true }
    }
}

/// A curve through points; a point that is not a number interrupts it.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Whether every point has a mark.
    pub marked: bool,
}

/// Curves over common axes.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Its heading; empty for none.
    pub title: String,
    /// The horizontal axis.
    pub abscissa: Axis,
    /// The vertical axis.
    pub ordinate: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The closest colours that terminals have.
const SIGNS: [u8; 7] = [34, 31, 32, 35, 33, 36, 39];
const DASHES: [(f64, f64); 4] = [(0.0, 0.0), (7.0, 4.0), (2.0, 4.0), (11.0, 3.0)];

/// Draws figures below each other, their left edges in line.
pub fn draw(figures: &[Figure]) -> Drawing {
    const WIDTH: f64 = 760.0;
    let height = if figures.len() > 1 { 250.0 } else { 380.0 };
    let scales: Vec<[Scale; 2]> =
        figures.iter().map(|f| f.scales([9, if figures.len() > 1 { 5 } else { 7 }])).collect();
    let widest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0f64, f64::max);
    let labels = widest(&mut scales.iter().flat_map(|[_, y]| &y.ticks).map(|(_, text)| text_width(text, 12.0)));
    let several = |f: &&Figure| f.curves.len() > 1;
    let names = figures.iter().filter(several).flat_map(|f| &f.curves).map(|c| text_width(&c.name, 12.0));
    let legend = match widest(&mut names.into_iter()).min(250.0) {
        0.0 => 24.0,
        w => w + 52.0,
    };
    let left = labels + 46.0;
    let mut out = Drawing::new(WIDTH.max(left + legend + 300.0), height * figures.len() as f64);
    for (k, (figure, [x, y])) in figures.iter().zip(&scales).enumerate() {
        let top = height * k as f64 + if figure.title.is_empty() { 22.0 } else { 42.0 };
        let area = [left, top, out.width - legend, height * (k + 1) as f64 - 48.0];
        figure.draw(&mut out, area, x, y);
    }
    out
}

/// Figures one below the other for a terminal of `columns` columns, with `rows` rows for each.
pub fn terminal(figures: &[Figure], columns: usize, rows: usize, coloured: bool) -> String {
    let rows = rows.max(4);
    let scales: Vec<[Scale; 2]> =
        figures.iter().map(|f| f.scales([(columns / 14).max(3), (rows / 3).max(2)])).collect();
    let labels = scales.iter().flat_map(|[_, y]| &y.ticks).map(|(_, text)| text.chars().count());
    let left = labels.max().unwrap_or(0).min(24);
    let each = figures.iter().zip(&scales).map(|(f, [x, y])| f.letters(left, columns, rows, coloured, x, y));
    each.collect::<Vec<_>>().join("\n")
}

impl Figure {
    /// The figure alone, as SVG.
    pub fn to_svg(&self) -> String {
        draw(std::slice::from_ref(self)).to_svg()
    }

    fn scales(&self, ticks: [usize; 2]) -> [Scale; 2] {
        let shown = |(x, y): &&(f64, f64)| self.shows(*x, *y);
        let all = || self.curves.iter().flat_map(|c| &c.points).filter(shown);
        let x = Scale::new(&mut all().map(|p| p.0), self.abscissa.logarithmic, 0.0, ticks[0]);
        [x, Scale::new(&mut all().map(|p| p.1), self.ordinate.logarithmic, 0.04, ticks[1])]
    }

    fn shows(&self, x: f64, y: f64) -> bool {
        let can = |axis: &Axis, x: f64| x.is_finite() && (x > 0.0 || !axis.logarithmic);
        can(&self.abscissa, x) && can(&self.ordinate, y)
    }

    /// The pieces of a curve between what cannot be shown, in the unit square, thinned to cells of that size.
    fn pieces(&self, curve: &Curve, x: &Scale, y: &Scale, cell: (f64, f64)) -> Vec<Vec<(f64, f64)>> {
        let pieces = curve.points.split(|p| !self.shows(p.0, p.1)).filter(|piece| !piece.is_empty());
        let place = |p: &(f64, f64)| (x.place(p.0), y.place(p.1));
        pieces.map(|piece| thinned(piece.iter().map(place).collect(), cell)).collect()
    }

    fn draw(&self, out: &mut Drawing, [left, top, right, bottom]: [f64; 4], x: &Scale, y: &Scale) {
        let (px, py) = (|u: f64| left + u * (right - left), |u: f64| bottom - u * (bottom - top));
        for v in &x.minor {
            out.line([px(x.place(*v)), top], [px(x.place(*v)), bottom], colours().ruled, 0.4);
        }
        for v in &y.minor {
            out.line([left, py(y.place(*v))], [right, py(y.place(*v))], colours().ruled, 0.4);
        }
        for (v, text) in &x.ticks {
            let at = px(x.place(*v));
            out.line([at, top], [at, bottom], colours().ruled, 1.0);
            out.line([at, bottom], [at, bottom + 4.0], colours().frame, 1.0);
            out.text([at, bottom + 17.0], text, 12.0, Anchor::Middle, colours().ink);
        }
        for (v, text) in &y.ticks {
            let at = py(y.place(*v));
            out.line([left, at], [right, at], colours().ruled, 1.0);
            out.line([left - 4.0, at], [left, at], colours().frame, 1.0);
            out.text([left - 8.0, at + 4.0], text, 12.0, Anchor::End, colours().ink);
        }
        let corners = vec![[left, top], [right, top], [right, bottom], [left, bottom]];
        out.path(corners, true, Style::line(colours().frame, 1.0));
        if !self.title.is_empty() {
            let title = fitted(&self.title, 14.0, out.width - 20.0);
            out.text([left, top - 20.0], &title, 14.0, Anchor::Start, colours().ink);
        }
        out.text([(left + right) / 2.0, bottom + 37.0], &self.abscissa.label, 13.0, Anchor::Middle, colours().ink);
        out.text([right, bottom + 37.0], &x.factor, 12.0, Anchor::End, colours().ink);
        let label = fitted(&self.ordinate.label, 13.0, bottom - top + 40.0);
        out.upright_text([18.0, (top + bottom) / 2.0], &label, 13.0, Anchor::Middle, colours().ink);
        out.text([left, top - 6.0], &y.factor, 12.0, Anchor::Start, colours().ink);
        let cell = (0.5 / (right - left), 0.25 / (bottom - top));
        let several = self.curves.len() > 1;
        for (k, curve) in self.curves.iter().enumerate() {
            // later curves are thinner, so that one exactly below another is seen
            let thin = k as f64 / self.curves.len().saturating_sub(1).max(1) as f64;
            let mut style = Style::line(colours().curve(k), if several { 2.6 - 1.2 * thin } else { 1.8 });
            style.dash = DASHES[k / colours().series.len() % DASHES.len()];
            let mark = Style::fill(colours().curve(k));
            for piece in self.pieces(curve, x, y, cell) {
                let points: Vec<[f64; 2]> = piece.iter().map(|(u, v)| [px(*u), py(*v)]).collect();
                if curve.marked || points.len() == 1 {
                    points.iter().for_each(|p| out.circle(*p, 3.2, mark));
                }
                out.path(points, false, style);
            }
            let at = top + 12.0 + 18.0 * k as f64;
            match self.curves.len() {
                1 => {}
                n if at + 18.0 > bottom + 30.0 && k + 1 < n => {
                    if at <= bottom + 30.0 {
                        let rest = format!("and {} more", n - k);
                        out.text([right + 12.0, at + 4.0], &rest, 12.0, Anchor::Start, colours().ink);
                    }
                }
                _ => {
                    out.path(vec![[right + 12.0, at], [right + 34.0, at]], false, style);
                    if curve.marked {
                        out.circle([right + 23.0, at], 3.2, mark);
                    }
                    let name = fitted(&curve.name, 12.0, out.width - right - 46.0);
                    out.text([right + 40.0, at + 4.0], &name, 12.0, Anchor::Start, colours().ink);
                }
            }
        }
    }

    fn letters(&self, left: usize, columns: usize, rows: usize, coloured: bool, x: &Scale, y: &Scale) -> String {
        let several = self.curves.len() > 1;
        let width = columns.saturating_sub(left + 4).max(16);
        let mut canvas = PlotCanvas::new(width, rows);
        let mut ends = vec![String::new(); rows];
        let sign = |k: usize| char::from(b'a' + (k % 26) as u8);
        let paint = |k: usize, text: String| match coloured {
            true => format!("\x1b[{}m{text}\x1b[0m", SIGNS[k % SIGNS.len()]),
            false => text,
        };
        let cell = (0.5 / (2 * width) as f64, 0.25 / (4 * rows) as f64);
        for (k, curve) in self.curves.iter().enumerate() {
            for piece in self.pieces(curve, x, y, cell) {
                canvas.line(&piece, k);
                if curve.marked {
                    piece.iter().for_each(|p| canvas.cross(*p, k));
                }
            }
            if let (true, Some(last)) = (several, curve.points.iter().rev().find(|p| self.shows(p.0, p.1))) {
                let row = ((1.0 - y.place(last.1)) * rows as f64) as usize;
                let end = &mut ends[row.min(rows - 1)];
                if end.is_empty() {
                    *end = paint(k, format!(" {}", sign(k)));
                }
            }
        }
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}", self.title);
        }
        let _ = writeln!(out, "{}", [self.ordinate.label.as_str(), &y.factor].join(" ").trim());
        let mut row_labels = vec![""; rows];
        for (v, text) in &y.ticks {
            row_labels[(((1.0 - y.place(*v)) * rows as f64) as usize).min(rows - 1)] = text;
        }
        for (row, label) in row_labels.iter().enumerate() {
            let tick = if label.is_empty() { '│' } else { '┤' };
            let _ = writeln!(out, "{label:>left$} {tick}{}{}", canvas.row(row, &paint), ends[row]);
        }
        let mut line: Vec<char> = vec!['─'; width];
        let mut words: Vec<char> = vec![' '; width + 2 + left];
        let mut free = 0;
        for (v, text) in &x.ticks {
            let at = ((x.place(*v) * width as f64) as usize).min(width - 1);
            line[at] = '┬';
            let length = text.chars().count();
            let start = (left + 2 + at).saturating_sub(length / 2).min((words.len()).saturating_sub(length));
            if start >= free {
                text.chars().enumerate().for_each(|(i, c)| words[start + i] = c);
                free = start + length + 1;
            }
        }
        let _ = writeln!(out, "{:>left$} └{}", "", line.iter().collect::<String>());
        let _ = writeln!(out, "{}", words.iter().collect::<String>().trim_end());
        let label = [self.abscissa.label.as_str(), &x.factor].join(" ");
        let _ = writeln!(out, "{:>1$}", label.trim(), left + 2 + width);
        if several {
            for (k, c) in self.curves.iter().enumerate() {
                let _ = writeln!(out, "  {}", paint(k, format!("{} {}", sign(k), c.name)));
            }
        }
        out
    }
}

/// Points without those that cannot be seen: where x rises, the first, least, greatest and last of every cell.
fn thinned(points: Vec<(f64, f64)>, (dx, dy): (f64, f64)) -> Vec<(f64, f64)> {
    if points.len() < 500 {
        return points;
    }
    let mut out: Vec<(f64, f64)> = Vec::new();
    if points.windows(2).all(|p| p[0].0 <= p[1].0) {
        for cell in points.chunk_by(|a, b| (a.0 / dx).floor() == (b.0 / dx).floor()) {
            let by = |f: fn(f64, f64) -> bool| {
                (0..cell.len()).fold(0, |best, k| if f(cell[k].1, cell[best].1) { k } else { best })
            };
            let mut kept = [0, by(|a, b| a < b), by(|a, b| a > b), cell.len() - 1];
            kept.sort_unstable();
            kept.iter()
                .enumerate()
                .filter(|(i, k)| *i == 0 || kept[i - 1] != **k)
                .for_each(|(_, k)| out.push(cell[*k]));
        }
    } else {
        let last = points.len() - 1;
        for (k, p) in points.into_iter().enumerate() {
            let near = |q: &(f64, f64)| (p.0 - q.0).abs() < dx && (p.1 - q.1).abs() < dy;
            if k == last || !out.last().is_some_and(near) {
                out.push(p);
            }
        }
    }
    out
}

/// From values to places between 0 and 1, with ticks.
pub(crate) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    pub(crate) ticks: Vec<(f64, String)>,
    minor: Vec<f64>,
    /// The factor and offset that the labels leave out.
    pub(crate) factor: String,
}

impl Scale {
    pub(crate) fn new(values: &mut dyn Iterator<Item = f64>, logarithmic: bool, margin: f64, ticks: usize) -> Scale {
        let (a, b) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        let (a, b) = match (a <= b, logarithmic) {
            (true, _) => (a, b),
            (false, false) => (0.0, 1.0),
            (false, true) => (0.1, 1.0),
        };
        if logarithmic { Scale::decades(a, b, ticks) } else { Scale::linear(a, b, margin, ticks) }
    }

    fn linear(a: f64, b: f64, margin: f64, ticks: usize) -> Scale {
        let size = a.abs().max(b.abs());
        // values that differ only by rounding are drawn as a line, not as noise
        let (low, high) = if b - a > 1e-14 * size && b - a > 1e-300 {
            (a - margin * (b - a), b + margin * (b - a))
        } else {
            let room = if size > 0.0 { 0.5 * size } else { 1.0 };
            (a - room, b + room)
        };
        let rough = (high - low) / ticks as f64;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * unit).into_iter().find(|s| *s >= 0.999 * rough).unwrap_or(unit);
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let count = ((last - first) as usize).min(100);
        let values: Vec<f64> = (0..=count).map(|k| (first + k as f64) * step).collect();
        // labels that would be long and alike count from an offset
        let offset = if high - low < 2e-4 * size { values[values.len() / 2] } else { 0.0 };
        let largest = values.iter().fold(0.0f64, |m, v| m.max((v - offset).abs()));
        let power = if largest > 0.0 { (largest.log10() + 1e-9).floor() as i32 } else { 0 };
        let power = if (-3..=4).contains(&power) { 0 } else { power.div_euclid(3) * 3 };
        let unit = 10f64.powi(power);
        let digits = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize;
        let label = |v: &f64| {
            let text = format!("{:.digits$}", (v - offset) / unit + 0.0);
            let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
            if zero { text.trim_start_matches('-').to_string() } else { text.replace('-', "−") }
        };
        let mut factor = if power == 0 { String::new() } else { format!("×10{}", raised(power)) };
        if offset != 0.0 {
            let digits = (-step.log10() - 1e-9).ceil().clamp(0.0, 15.0) as usize;
            let sign = if offset < 0.0 { '−' } else { '+' };
            let _ = write!(factor, " {sign} {:.digits$}", offset.abs());
        }
        let ticks = values.iter().map(|v| (*v, label(v))).collect();
        Scale { low, high, logarithmic: false, ticks, minor: vec![], factor: factor.trim().into() }
    }

    fn decades(a: f64, b: f64, ticks: usize) -> Scale {
        let (a, b) = (a.log10(), b.log10());
        let (first, last) = ((a + 1e-9).floor() as i32, (b - 1e-9).ceil() as i32);
        let last = last.max(first + 1);
        let every = ((last - first) as usize).div_ceil(ticks.max(2)).max(1);
        let marks = (first..=last).filter(|k| ((k - first) as usize).is_multiple_of(every));
        let ticks = marks.map(|k| (10f64.powi(k), format!("10{}", raised(k)))).collect();
        let minor = match every {
            1 => (first..last).flat_map(|k| (2..10).map(move |m| f64::from(m) * 10f64.powi(k))).collect(),
            _ => (first..=last).map(|k| 10f64.powi(k)).collect(),
        };
        Scale { low: f64::from(first), high: f64::from(last), logarithmic: true, ticks, minor, factor: String::new() }
    }

    pub(crate) fn place(&self, x: f64) -> f64 {
        let x = if self.logarithmic { x.log10() } else { x };
        ((x - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// An exponent.
fn raised(power: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c as u32 - '0' as u32).unwrap_or(c),
    };
    power.to_string().chars().map(digit).collect()
}

/// Dots in Braille, two by four in every letter (Unicode U+2800).
struct PlotCanvas {
    width: usize,
    rows: usize,
    dots: Vec<u8>,
    owner: Vec<usize>,
}

impl PlotCanvas {
    fn new(width: usize, rows: usize) -> PlotCanvas {
        PlotCanvas { width, rows, dots: vec![0; width * rows], owner: vec![0; width * rows] }
    }

    /// Dot coordinates of a place in the unit square.
    fn dot(&self, (u, v): (f64, f64)) -> (f64, f64) {
        (u * (2 * self.width - 1) as f64, (1.0 - v) * (4 * self.rows - 1) as f64)
    }

    fn set(&mut self, x: f64, y: f64, owner: usize) {
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.round().max(0.0) as usize, y.round().max(0.0) as usize);
        if x < 2 * self.width && y < 4 * self.rows {
            let cell = y / 4 * self.width + x / 2;
            self.dots[cell] |= BITS[y % 4][x % 2];
            self.owner[cell] = owner;
        }
    }

    fn line(&mut self, points: &[(f64, f64)], owner: usize) {
        let dots: Vec<(f64, f64)> = points.iter().map(|p| self.dot(*p)).collect();
        dots.iter().for_each(|(x, y)| self.set(*x, *y, owner));
        for pair in dots.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let n = (x1 - x0).abs().max((y1 - y0).abs()).ceil() as usize;
            for k in 1..n {
                let s = k as f64 / n as f64;
                self.set(x0 + s * (x1 - x0), y0 + s * (y1 - y0), owner);
            }
        }
    }

    fn cross(&mut self, at: (f64, f64), owner: usize) {
        let (x, y) = self.dot(at);
        [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)].iter().for_each(|(i, j)| self.set(x + i, y + j, owner));
    }

    fn row(&self, row: usize, paint: &dyn Fn(usize, String) -> String) -> String {
        let cells: Vec<usize> = (row * self.width..(row + 1) * self.width).collect();
        let empty = |c: usize| self.dots[c] == 0;
        let runs = cells.chunk_by(|a, b| empty(*a) == empty(*b) && (empty(*a) || self.owner[*a] == self.owner[*b]));
        let letters = |run: &[usize]| {
            run.iter().map(|c| char::from_u32(0x2800 + u32::from(self.dots[*c])).unwrap_or(' ')).collect()
        };
        let text: String = runs
            .map(|run| if empty(run[0]) { " ".repeat(run.len()) } else { paint(self.owner[run[0]], letters(run)) })
            .collect();
        text.trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(a: f64, b: f64) -> (Vec<String>, String) {
        let s = Scale::linear(a, b, 0.0, 6);
        (s.ticks.into_iter().map(|t| t.1).collect(), s.factor)
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(0.0, 1.0).0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-3.0, 17.0).0, ["0", "5", "10", "15"]);
        assert_eq!(labels(-0.1, 0.1).0, ["−0.10", "−0.05", "0.00", "0.05", "0.10"]);
        let (ticks, factor) = labels(0.0, 3e-7);
        assert_eq!((ticks[1].as_str(), factor.as_str()), ("50", "×10⁻⁹"));
        let (ticks, factor) = labels(0.0, 2e6);
        assert_eq!((ticks[1].as_str(), factor.as_str()), ("0.5", "×10⁶"));
        let (ticks, factor) = labels(12.345, 12.345 + 4e-9);
        assert!(
            ticks.iter().all(|t| t.chars().count() < 8) && factor.starts_with("×10⁻⁹ + 12.345"),
            "{ticks:?} {factor}"
        );
    }

    #[test]
    fn constants_and_nothing_have_axes_too() {
        for (a, b) in [(0.0, 0.0), (5.0, 5.0), (-1e-200, -1e-200), (1e300, 1e300), (1.0, 1.0 + 1e-16)] {
            let s = Scale::linear(a, b, 0.0, 6);
            assert!(s.ticks.len() >= 2 && s.place(a) > 0.1 && s.place(a) < 0.9, "{a}: {:?}", s.ticks);
        }
        assert!(Scale::new(&mut std::iter::empty(), true, 0.0, 5).ticks.len() == 2);
        assert!(Figure::default().to_svg().ends_with("</svg>\n"));
        assert!(terminal(&[Figure::default()], 0, 0, false).contains('└'));
    }

    #[test]
    fn decades_hold_all_values() {
        let s = Scale::decades(3e-9, 0.02, 6);
        assert_eq!((s.ticks[0].1.as_str(), s.place(1e-9), s.place(0.1)), ("10⁻⁹", 0.0, 1.0));
        assert!((s.place(1e-5) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::decades(1.0, 1.0, 6).ticks.len(), 2);
    }

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|k| (k as f64 / 1e5, (k as f64 * 0.01).sin() * 0.1)).collect();
        points[34_567].1 = 1.0;
        points[34_568].1 = -1.0;
        let few = thinned(points.clone(), (0.001, 0.001));
        assert!(few.len() < 4100, "{}", few.len());
        assert!(few.contains(&points[34_567]) && few.contains(&points[34_568]));
        assert_eq!((few.first(), few.last()), (points.first(), points.last()));
        points.reverse();
        assert!(thinned(points.clone(), (0.001, 0.001)).contains(&points[100_000 - 1 - 34_567]));
    }

    #[test]
    fn figures_draw_what_is_finite() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 10.0), (3.0, 100.0), (4.0, -1.0)];
        let curve = Curve { name: "<a>".into(), points, marked: false };
        let ordinate = Axis::logarithmic("y");
        let figure = Figure { ordinate, curves: vec![curve.clone(), curve], ..Figure::default() };
        let svg = figure.to_svg();
        assert!(!svg.contains("NaN") && svg.contains("&lt;a&gt;"));
        // of each curve a point alone is a dot, two are a line, and the legend has another
        let count = |text: &str| svg.matches(text).count();
        assert_eq!((count("<circle"), count("stroke=\"#0072b2\""), count("stroke=\"#d55e00\"")), (2, 2, 2));
    }

    #[test]
    fn terminals_show_a_line_in_dots() {
        let curve =
            Curve { name: "up".into(), points: (0..9).map(|k| (f64::from(k), f64::from(k))).collect(), marked: false };
        let figure = Figure {
            abscissa: Axis::linear("t [s]"),
            ordinate: Axis::linear("up [m]"),
            curves: vec![curve],
            ..Figure::default()
        };
        let text = terminal(&[figure], 40, 8, false);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], "up [m]");
        let first = |row: &str| row.chars().position(|c| ('\u{2801}'..'\u{2900}').contains(&c)).unwrap();
        assert!((1..8).all(|k| first(rows[k]) > first(rows[k + 1])), "{text}");
        assert!(text.contains("t [s]") && text.lines().all(|l| l.chars().count() <= 40), "{text}");
    }
}
