//! `bellcrank plot STUDY_DIR --as KIND`: drawings of a study.

use crate::cli::plot::{Plot, save};
use crate::cli::{Failure, print};
use bellcrank_view::study::{StudyTable, family, heat, parallel, scatter, tornado};

/// The kinds of drawings.
pub const KINDS: [&str; 5] = ["parallel", "scatter", "heat", "tornado", "family"];

/// Whether a study is to be drawn.
pub fn is_study(args: &Plot) -> bool {
    args.kind.is_some() || StudyTable::is_in(&args.result)
}

/// Draws the table of a study, or lists its columns.
pub fn plot(args: &Plot) -> Result<(), Failure> {
    let study = StudyTable::open(&args.result).map_err(|e| {
        let help = "name the folder that `bellcrank study --out` wrote";
        Failure::BadInput(format!("{e}\nhelp: {help}"))
    })?;
    let Some(kind) = args.kind.as_deref() else {
        if args.channels.is_empty() && args.save.is_empty() {
            return print(&study.columns().map(|k| study.label(k)).collect::<Vec<_>>().join("\n"));
        }
        let kinds = KINDS.join(", ");
        let help = format!("for example --as scatter; there are {kinds}");
        return Err(Failure::BadInput(format!("--as is missing: how the study is drawn\nhelp: {help}")));
    };
    if args.save.is_empty() {
        let help = "--save FILE.svg or FILE.png; `bellcrank view` shows all drawings in the browser";
        return Err(Failure::BadInput(format!("a study is drawn to a file\nhelp: {help}")));
    }
    let bad = Failure::BadInput;
    let names = &args.channels;
    // of a family the first name is a channel of the results
    let columns = names.iter().skip(usize::from(kind == "family")).map(|name| study.find(name));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let drawing = match (kind, &columns[..]) {
        ("parallel", []) => parallel(&study, &study.columns().collect::<Vec<_>>()),
        ("parallel", some) => parallel(&study, some),
        ("scatter", [x, y]) => scatter(&study, *x, *y, None),
        ("scatter", [x, y, hue]) => scatter(&study, *x, *y, Some(*hue)),
        ("heat", [x, y, of]) => heat(&study, *x, *y, *of),
        ("tornado", [of]) => tornado(&study, *of),
        ("family", [hue]) => family(&study, &names[0], *hue).map_err(|e| bad(e.to_string()))?,
        _ => {
            let wanted = match kind {
                "scatter" => "X Y, and a third column for the colour",
                "heat" => "X Y RESULT",
                "tornado" => "RESULT",
                _ => "CHANNEL COLOUR",
            };
            let found = names.len();
            return Err(bad(format!(
                "--as {kind} is of {wanted}, found {found} names\nhelp: name them behind the folder"
            )));
        }
    };
    save(&drawing, &args.save)
}
