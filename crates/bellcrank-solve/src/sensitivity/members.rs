//! Parameters, and where the models beside their values come from.

use super::{FAR, SensitivityError, Varied};
use bellcrank_model::System;
use bellcrank_model::read::Reach;
use std::sync::Arc;

/// A parameter of a model that can be made for any value of it.
#[derive(Clone, Debug)]
pub struct Member {
    /// What messages call it.
    pub name: String,
    /// Its value p.
    pub value: f64,
    /// δ, as [`Varied::delta`] gives it.
    pub delta: f64,
    /// All that it changes in the model, where that is known.
    pub reach: Option<Reach>,
}

/// What makes models: some members, by their numbers, moved by a number of their δ.
type Maker<'a> = dyn Fn(&[usize], f64) -> Result<Arc<System>, SensitivityError> + 'a;

/// Parameters with the models beside their values, which are made when they are needed.
pub struct Members<'a> {
    /// The parameters.
    pub list: Vec<Member>,
    make: Box<Maker<'a>>,
}

impl<'a> Members<'a> {
    /// Some parameters, and what makes the model with those of some numbers moved by a number of their δ.
    pub fn new(
        list: Vec<Member>,
        make: impl Fn(&[usize], f64) -> Result<Arc<System>, SensitivityError> + 'a,
    ) -> Members<'a> {
        Members { list, make: Box::new(make) }
    }

    /// Parameters whose models are there.
    pub(super) fn of(varied: &'a [Varied]) -> Members<'a> {
        let member = |of: &Varied| Member { name: of.name.clone(), value: of.value, delta: of.delta, reach: None };
        Members::new(varied.iter().map(member).collect(), |which, c| {
            let of = &varied[which.first().copied().unwrap_or(0)];
            let pair = if c.abs() > 1.0 { &of.far } else { &of.sides };
            Ok(pair[usize::from(c > 0.0)].clone())
        })
    }

    /// The models on both sides, as far as starts are apart, or as near as pieces are where states move along.
    pub(super) fn both(&self, which: &[usize], far: bool) -> Result<[Arc<System>; 2], SensitivityError> {
        let c = if far { FAR } else { 1.0 };
        Ok([(self.make)(which, -c)?, (self.make)(which, c)?])
    }
}
