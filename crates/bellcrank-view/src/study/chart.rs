//! What the drawings of studies share: axes of numbers or words, and colours for values.

use super::StudyTable;
use crate::colours::colours;
use crate::drawing::{Anchor, Colour, Drawing, Style};
use crate::plot::Scale;

/// From dark to light through hues that the colour-blind tell apart (viridis, by N. Smith and S. van der Walt).
const COLOURS: [Colour; 6] = [
    Colour::hex(0x440154),
    Colour::hex(0x414487),
    Colour::hex(0x2a788e),
    Colour::hex(0x22a884),
    Colour::hex(0x7ad151),
    Colour::hex(0xfde725),
];

/// The colour of a value between 0 and 1.
pub fn colour(u: f64) -> Colour {
    let at = u.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let k = (at as usize).min(COLOURS.len() - 2);
    COLOURS[k].towards(COLOURS[k + 1], at - k as f64)
}

/// An axis of a column: places between 0 and 1, and what stands beside them.
pub struct Line {
    /// What it shows.
    pub label: String,
    /// Places and their labels.
    pub ticks: Vec<(f64, String)>,
    /// A factor that the labels leave out.
    pub factor: String,
    /// The place of each row; NaN where there is none.
    pub places: Vec<f64>,
}

impl Line {
    /// The axis of a column with about so many ticks.
    pub fn new(study: &StudyTable, column: usize, ticks: usize) -> Line {
        let (numbers, words) = (study.numbers(column), study.words(column));
        let label = study.label(column);
        if !words.is_empty() {
            // words stand at equal distances, away from the ends
            let at = |k: f64| (k + 0.5) / words.len() as f64;
            let ticks = words.iter().enumerate().map(|(k, word)| (at(k as f64), word.clone())).collect();
            let places = numbers.iter().map(|k| at(*k)).collect();
            return Line { label, ticks, factor: String::new(), places };
        }
        let scale = Scale::new(&mut numbers.iter().copied().filter(|x| x.is_finite()), false, 0.04, ticks);
        let ticks = scale.ticks.iter().map(|(x, text)| (scale.place(*x), text.clone())).collect();
        let place = |x: &f64| if x.is_finite() { scale.place(*x) } else { f64::NAN };
        Line { label, ticks, places: numbers.iter().map(place).collect(), factor: scale.factor }
    }
}

/// A bar of colours with the ticks of what they stand for, along the right edge of an area.
pub fn bar(out: &mut Drawing, line: &Line, [x, top, bottom]: [f64; 3]) {
    const STEPS: usize = 48;
    let y = |u: f64| bottom - u * (bottom - top);
    for k in 0..STEPS {
        let (a, b) = (k as f64 / STEPS as f64, (k + 1) as f64 / STEPS as f64);
        // neighbours overlap: no line shows between them
        let corners = vec![[x, y(a)], [x + 14.0, y(a)], [x + 14.0, y(b) - 0.4], [x, y(b) - 0.4]];
        out.path(corners, true, Style::fill(colour((a + b) / 2.0)));
    }
    for (u, text) in &line.ticks {
        out.line([x + 14.0, y(*u)], [x + 18.0, y(*u)], colours().frame, 1.0);
        out.text([x + 22.0, y(*u) + 4.0], text, 11.0, Anchor::Start, colours().ink);
    }
    out.text([x, top - 8.0], &format!("{} {}", line.label, line.factor), 12.0, Anchor::Middle, colours().ink);
}

/// Ticks and names of the axes below and beside an area.
pub fn frame(out: &mut Drawing, [left, top, right, bottom]: [f64; 4], x: &Line, y: &Line) {
    let (px, py) = (|u: f64| left + u * (right - left), |u: f64| bottom - u * (bottom - top));
    for (u, text) in &x.ticks {
        out.line([px(*u), bottom], [px(*u), bottom + 4.0], colours().frame, 1.0);
        out.text([px(*u), bottom + 17.0], text, 12.0, Anchor::Middle, colours().ink);
    }
    for (u, text) in &y.ticks {
        out.line([left - 4.0, py(*u)], [left, py(*u)], colours().frame, 1.0);
        out.text([left - 8.0, py(*u) + 4.0], text, 12.0, Anchor::End, colours().ink);
    }
    out.path(vec![[left, top], [right, top], [right, bottom], [left, bottom]], true, Style::line(colours().frame, 1.0));
    out.text([(left + right) / 2.0, bottom + 38.0], &x.label, 13.0, Anchor::Middle, colours().ink);
    out.text([right, bottom + 38.0], &x.factor, 12.0, Anchor::End, colours().ink);
    out.upright_text([18.0, (top + bottom) / 2.0], &y.label, 13.0, Anchor::Middle, colours().ink);
    out.text([left, top - 8.0], &y.factor, 12.0, Anchor::Start, colours().ink);
}
