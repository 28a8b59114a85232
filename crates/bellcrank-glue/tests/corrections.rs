//! The paper's own gluing: trials that are corrected level by level, beside ours.

mod machines;

use bellcrank_glue::{Coupling, GlueOptions};
use bellcrank_solve::choices::MethodName;
use machines::{DOUBLE_FOUR_BAR, FOUR_BAR, SPATIAL, difference, glued, own, system, whole};
use bellcrank_solve::choices::Options;

fn options(coupling: Coupling, window: f64) -> GlueOptions {
    GlueOptions { coupling, window, ..GlueOptions::default() }
}

#[test]
fn the_papers_gluing_converges_to_the_whole_with_second_order_and_counts_its_exchanges() {
    let cases: [(&str, &str, &[&str]); 4] = [
        ("four-bar", FOUR_BAR, &["b"]),
        ("four-bar", FOUR_BAR, &["a", "b", "c", "d"]),
        ("double", DOUBLE_FOUR_BAR, &["e", "f"]),
        ("spatial", SPATIAL, &["socket"]),
    ];
    for (name, text, at) in cases {
        let system = system(text);
        let reference = whole(&system, Options { until: 0.1, rtol: 1e-10, ..own(MethodName::Dop853) });
        for h in [4e-3, 2e-3, 1e-3] {
            for coupling in [Coupling::Stabilized, Coupling::Gauss] {
                let (c, seen) = glued(&system, at, options(coupling, h), &[], 0.1);
                let r = c.report();
                println!("{name} {at:?} {coupling:?} {h:e}: {:e} exchanges {} windows {} most {} {:?}", difference(&reference, &seen), r.exchanges, r.windows, r.most, r.residuals);
            }
        }
    }
}
