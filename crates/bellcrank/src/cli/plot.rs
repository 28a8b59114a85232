//! `bellcrank plot RESULT CHANNEL…`: curves of recorded channels, or a picture of the machine.

use crate::cli::{Failure, print, print_drawn, study_plot, tell};
use bellcrank_model::channel::Pattern;
use bellcrank_model::file::diagnostic::escaped;
use bellcrank_model::file::suggest;
use bellcrank_results::{Columns, names};
use bellcrank_view::drawing::Drawing;
use bellcrank_view::picture;
use bellcrank_view::plot::{Chosen, Figure, Table, draw, figures, labelled, terminal};
use clap::Args;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Options of `plot`. Its fields are the flags, in the order of the help.
#[derive(Args)]
pub struct Plot {
    /// The folder that `run --out` or `study --out` wrote, or a results.parquet or results.csv from it.
    pub(super) result: PathBuf,
    /// Channels by name, such as crank.angle, or by pattern, such as '*.x'; without any, lists all channels. For a study:
    /// columns.
    pub(super) channels: Vec<String>,
    /// For a study: parallel (all columns, or those named), scatter X Y [COLOUR], heat X Y RESULT, tornado RESULT, or
    /// family CHANNEL COLOUR (needs `keep = true`).
    #[arg(long = "as", value_name = "KIND", value_parser = study_plot::KINDS, conflicts_with_all = ["with", "picture", "x", "log", "from", "to"])]
    pub(super) kind: Option<String>,
    /// Draws the same channels of another result beside them; may be repeated.
    #[arg(long, value_name = "RESULT", conflicts_with = "picture")]
    with: Vec<PathBuf>,
    /// Writes the plot to this file, FILE.svg or FILE.png, instead of the terminal; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(super) save: Vec<PathBuf>,
    /// Draws the machine instead of channels: its last position, earlier ones faded, and the paths of its probes.
    #[arg(long, requires = "save", conflicts_with_all = ["channels", "x", "log", "title"])]
    picture: bool,
    /// Plots against this channel instead of time, for paths and phase portraits.
    #[arg(long, value_name = "CHANNEL")]
    x: Option<String>,
    /// Logarithmic vertical axes.
    #[arg(long)]
    log: bool,
    /// The title of the plot.
    #[arg(long)]
    title: Option<String>,
    /// From this time on, in s.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    from: Option<f64>,
    /// Up to this time, in s.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    to: Option<f64>,
}

/// Plots channels, those of one unit in one panel.
pub fn plot(args: Plot) -> Result<(), Failure> {
    args.save.iter().try_for_each(|path| Format::of(path).map(|_| ()))?;
    if study_plot::is_study(&args) {
        return study_plot::plot(&args);
    }
    let bad = |e: std::io::Error| Failure::BadInput(e.to_string());
    let columns = Columns::open(&args.result).map_err(bad)?;
    if !columns.note.is_empty() {
        tell(&format!("note: {}", columns.note));
    }
    if args.picture {
        let path = args.result.join(names::SCENE);
        let scene = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        let Some(scene) = scene else {
            let help = "name the folder that `bellcrank run --out` wrote";
            return Err(Failure::BadInput(format!("{} cannot be read\nhelp: {help}", path.display())));
        };
        return save(&picture(&scene, &columns, 640.0, 420.0).map_err(bad)?, &args.save);
    }
    if args.channels.is_empty() {
        let each = columns.names.iter().zip(&columns.units).map(|(name, unit)| labelled(name, unit));
        return print(&each.collect::<Vec<_>>().join("\n"));
    }
    let mut all = args.figures(&args.result, &columns)?;
    for other in &args.with {
        let columns = Columns::open(other).map_err(bad)?;
        args.add(&mut all, args.figures(other, &columns)?, other)?;
    }
    show(&all, &args.save)
}

impl Plot {
    /// The chosen channels of a result, those of one unit in one panel.
    fn figures(&self, result: &Path, columns: &Columns) -> Result<Vec<Figure>, Failure> {
        let mut chosen: Vec<usize> = Vec::new();
        for pattern in &self.channels {
            for k in matching(result, columns, pattern)? {
                if !chosen.contains(&k) {
                    chosen.push(k);
                }
            }
        }
        let x = match &self.x {
            None => 0,
            Some(name) => match matching(result, columns, name)?[..] {
                [one] => one,
                _ => {
                    let message = format!("{} matches several channels", suggest::quoted(name));
                    let help = "name one channel for the horizontal axis";
                    return Err(Failure::BadInput(format!("{message}\nhelp: {help}")));
                }
            },
        };
        let names: Vec<&str> = columns.names.iter().map(String::as_str).collect();
        let units: Vec<&str> = columns.units.iter().map(String::as_str).collect();
        let read = |k: usize| Ok(columns.read(&[k])?.pop().unwrap_or_default());
        let title = self.title.clone().unwrap_or_default();
        let table = Table { names: &names, units: &units, read: &read };
        let span = self.from.unwrap_or(f64::NEG_INFINITY)..=self.to.unwrap_or(f64::INFINITY);
        let chosen = Chosen { x, channels: &chosen, logarithmic: self.log, title: &title, span };
        let mut drawn = figures(&table, &chosen).map_err(|e| Failure::BadInput(e.to_string()))?;
        if !self.with.is_empty() {
            let of = escaped(&result.display().to_string());
            drawn.iter_mut().flat_map(|f| &mut f.curves).for_each(|c| c.name = format!("{} ({of})", c.name));
        }
        Ok(drawn)
    }

    /// Adds the curves of another result; panels are those of the first.
    fn add(&self, to: &mut [Figure], figures: Vec<Figure>, other: &Path) -> Result<(), Failure> {
        let unit = |f: &Figure| f.ordinate.label.rsplit_once(" [").map(|(_, unit)| unit.to_string());
        for figure in figures {
            let Some(same) = to.iter_mut().find(|f| unit(f) == unit(&figure)) else {
                let message = format!("{} has these channels in other units", other.display());
                let help = "plot it alone, or write it anew with `bellcrank run --out`";
                return Err(Failure::BadInput(format!("--with: {message}\nhelp: {help}")));
            };
            same.curves.extend(figure.curves);
        }
        Ok(())
    }
}

/// Writes figures to files, or to the terminal if there are none.
pub fn show(figures: &[Figure], save: &[PathBuf]) -> Result<(), Failure> {
    if save.is_empty() {
        return print_drawn(&in_terminal(figures));
    }
    self::save(&draw(figures), save)
}

pub(super) fn save(drawing: &Drawing, files: &[PathBuf]) -> Result<(), Failure> {
    for path in files {
        let bytes = match Format::of(path)? {
            Format::Svg => drawing.to_svg().into_bytes(),
            Format::Png => drawing.to_png(2.0).ok_or_else(|| Failure::Failed("the picture is too large".into()))?,
        };
        std::fs::write(path, bytes).map_err(|e| Failure::Failed(format!("cannot write {}: {e}", path.display())))?;
        tell(&format!("plot: {}", path.display()));
    }
    Ok(())
}

/// Figures as text, as wide as `COLUMNS` says or 80, with colours where a terminal shows them.
pub fn in_terminal(figures: &[Figure]) -> String {
    let wide = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let coloured = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let rows = if figures.len() > 1 { 10 } else { 18 };
    terminal(figures, wide.unwrap_or(80).clamp(40, 200), rows, coloured)
}

/// The kinds of pictures.
pub enum Format {
    /// Scalable.
    Svg,
    /// Pixels.
    Png,
}

impl Format {
    /// The kind that the ending of a file name asks for.
    pub fn of(path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_lowercase).as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            _ => Err(Failure::BadInput(format!(
                "cannot determine the kind of picture from {}\nhelp: use a file name that ends with .svg or .png",
                path.display()
            ))),
        }
    }
}

/// The channels that match a name or pattern.
fn matching(result: &Path, columns: &Columns, pattern: &str) -> Result<Vec<usize>, Failure> {
    if let Some(k) = columns.names.iter().position(|n| n == pattern) {
        return Ok(vec![k]);
    }
    let fitting = Pattern(pattern.to_string());
    let found: Vec<usize> = (1..columns.names.len()).filter(|k| fitting.fits(&columns.names[*k])).collect();
    if !found.is_empty() && pattern.contains(['*', '?']) {
        return Ok(found);
    }
    let names = || columns.names.iter().map(String::as_str);
    let of_body = || names().filter(|n| n.rsplit_once('.').is_some_and(|(body, _)| body == pattern));
    let help = if of_body().next().is_some() {
        format!("`{pattern}` has {}; '{pattern}.*' plots them all", suggest::list(of_body()))
    } else if let Some(near) = suggest::nearest(pattern, names()) {
        format!("did you mean `{near}`?")
    } else {
        format!("channels are {}; bellcrank plot {} lists them all", suggest::list(names()), result.display())
    };
    let what = if pattern.contains(['*', '?']) { "matches" } else { "is called" };
    Err(Failure::BadInput(escaped_lines(&format!("no channel {what} {}\nhelp: {help}", suggest::quoted(pattern)))))
}

fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}
