//! Classes of defaults, and elements seen with them.

use crate::xml::El;
use bellcrank_model::file::Diagnostic;
use std::collections::HashMap;

/// The `<default>` elements that stand for each class, the nearest first.
pub struct Defaults<'a> {
    classes: HashMap<&'a str, Vec<El<'a>>>,
}

impl<'a> Defaults<'a> {
    pub fn read(root: El<'a>) -> Defaults<'a> {
        let mut classes: HashMap<&str, Vec<El>> = HashMap::new();
        let mut stack: Vec<(El, Vec<El>)> = root.all("default").rev().map(|d| (d, Vec::new())).collect();
        while let Some((el, above)) = stack.pop() {
            let class = if above.is_empty() {
                el.attribute("class").unwrap_or("main")
            } else {
                el.attribute("class").unwrap_or("")
            };
            let mut chain = vec![el];
            chain.extend(above);
            // a class may be written in several places: the later one wins
            let known = classes.entry(class).or_default();
            known.splice(0..0, chain.iter().copied().filter(|e| known_not(known, *e)).collect::<Vec<_>>());
            for inner in el.all("default").rev() {
                stack.push((inner, chain.clone()));
            }
        }
        Defaults { classes }
    }

    /// The default elements of a class, the nearest first.
    pub fn chain(&self, class: Option<&str>) -> &[El<'a>] {
        let class = class.unwrap_or("main");
        self.classes.get(class).or_else(|| self.classes.get("main")).map_or(&[], Vec::as_slice)
    }

    /// An element with the defaults for it, in the class of what it stands in.
    pub fn of(&self, el: El<'a>, inherited: Option<&'a str>) -> With<'a> {
        let class = el.attribute("class").or(inherited);
        let name = if el.name() == "freejoint" { "" } else { el.name() };
        let behind = self.chain(class).iter().filter_map(|d| d.children().find(|c| c.name() == name)).collect();
        With { el, behind }
    }
}

fn known_not(known: &[El], el: El) -> bool {
    known.iter().all(|k| k.span() != el.span())
}

/// An element, and where attributes that it lacks are looked for.
pub struct With<'a> {
    pub el: El<'a>,
    behind: Vec<El<'a>>,
}

impl<'a> With<'a> {
    /// An element that has no defaults.
    pub fn bare(el: El<'a>) -> With<'a> {
        With { el, behind: Vec::new() }
    }

    fn source(&self, name: &str) -> Option<El<'a>> {
        std::iter::once(self.el).chain(self.behind.iter().copied()).find(|e| e.attribute(name).is_some())
    }

    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.source(name)?.attribute(name)
    }

    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Diagnostic> {
        self.source(name).map_or(Ok(None), |e| e.numbers(name))
    }

    pub fn some<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, Diagnostic> {
        self.source(name).map_or(Ok(None), |e| e.some(name))
    }

    /// The first number of an attribute, or another.
    pub fn number_or(&self, name: &str, or: f64) -> Result<f64, Diagnostic> {
        Ok(self.numbers(name)?.and_then(|n| n.first().copied()).unwrap_or(or))
    }
}
