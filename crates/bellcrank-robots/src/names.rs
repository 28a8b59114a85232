//! Names: one for each body and joint, as results need them.

use crate::robot::Told;
use std::collections::HashSet;

/// Names that are taken.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// With `ground`, which is the world.
    pub fn new() -> Names {
        Names { taken: HashSet::from(["ground".to_string()]) }
    }

    /// A name like the wanted one that nothing else has; another one is told.
    pub fn give(&mut self, wanted: &str, sort: &str, told: &mut Told) -> String {
        let name = self.quiet(wanted, sort);
        if name != wanted {
            told.note(format!("{sort} `{wanted}` is called `{name}`, for bodies and joints share their names"));
        }
        name
    }

    /// The same without a word.
    pub fn quiet(&mut self, wanted: &str, sort: &str) -> String {
        let wanted = if wanted.trim().is_empty() { sort } else { wanted };
        let mut name = wanted.to_string();
        let mut k = 1;
        while !self.taken.insert(name.clone()) {
            name = if k == 1 { format!("{wanted}_{sort}") } else { format!("{wanted}_{sort}{k}") };
            k += 1;
        }
        name
    }
}

/// A name that expressions can use.
pub fn symbol(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}
