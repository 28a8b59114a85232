//! Hand-written equations run through the same formulations and methods as models.

mod common;
mod own_problems;

use bellcrank_model::hand_written::HandWritten;
use bellcrank_solve::FormulationKind::{Ggl, Si2};
use bellcrank_solve::choices::{MethodName, Options};
use common::*;
use own_problems::*;
use std::sync::Arc;

#[test]
fn car_axis() {
    let lambda = [0.004736886750784630, 0.001104680411345730];
    let start = CarAxis::start();
    for (method, formulation) in [
        (MethodName::Bdf, Some(Ggl)),
        (MethodName::Bdf, Some(Si2)),
        (MethodName::Dop853, None),
        (MethodName::Dopri5, None),
        (MethodName::Auto, None),
    ] {
        let options = Options { method, formulation, rtol: 1e-9, until: 3.0, ..Options::default() };
        let summary = run_own(Arc::new(HandWritten::new(CarAxis)), &start, options);
        let names = ["q1", "q2", "q3", "q4", "d.q1", "d.q2", "d.q3", "d.q4"];
        for (name, exact) in names.iter().zip(CarAxis::END) {
            let error = (last(&summary, name) - exact).abs();
            // velocities are a hundred times larger than positions change
            let tolerance = if name.starts_with('d') { 2e-6 } else { 1e-7 };
            assert!(error < tolerance, "{} {formulation:?}: {name} off by {error:e}", method.name());
        }
        for (j, l) in lambda.iter().enumerate() {
            let found = last(&summary, &format!("lambda{}", j + 1));
            assert!((found - l).abs() < 1e-6, "λ{}: {found} against {l}", j + 1);
        }
    }
}

#[test]
fn slider_crank_of_sundials() {
    let start = SliderCrank::start();
    for (t, exact) in [(5.0, [-1.429996967647, 0.939030613578, 0.517894756490]), (10.0, SliderCrank::END)] {
        for (method, rtol) in [(MethodName::Dop853, 1e-10), (MethodName::Auto, 1e-10), (MethodName::Bdf, 1e-11)] {
            let options = Options { method, rtol, until: t, ..Options::default() };
            let summary = run_own(Arc::new(HandWritten::new(SliderCrank)), &start, options);
            for (name, exact) in ["q1", "q2", "q3"].iter().zip(exact) {
                let error = (last(&summary, name) - exact).abs();
                assert!(error < 1e-8, "{} at t = {t}: {name} off by {error:e}", method.name());
            }
        }
    }
}
