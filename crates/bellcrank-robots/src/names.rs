//! Names: one for each body and joint, as results need them.

use crate::robot::Told;
use std::collections::{HashMap, HashSet};

/// Names that are taken.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
    /// The last number that each name was made unique with.
    last: HashMap<String, usize>,
}

impl Names {
    /// With `ground`, which is the world.
    pub fn new() -> Names {
        Names { taken: HashSet::from(["ground".to_string()]), ..Names::default() }
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
        if self.taken.insert(wanted.to_string()) {
            return wanted.to_string();
        }
        // a hundred thousand of one name are not looked for from one on
        let k = self.last.entry(format!("{wanted}_{sort}")).or_default();
        loop {
            *k += 1;
            let name = if *k == 1 { format!("{wanted}_{sort}") } else { format!("{wanted}_{sort}{k}") };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
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
