use super::*;
use crate::claim::vacuous::every_claim_holds_and_could_fail;
use std::sync::OnceLock;

/// The whole quick report, computed once.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| reproduce(None, true))
}

fn all_hold(tables: &[&str]) {
    every_claim_holds_and_could_fail(report(), tables);
}

#[test]
fn every_claim_of_the_figures_holds_and_could_fail() {
    let tables: Vec<&str> = report().claims.iter().map(|c| c.table).collect();
    all_hold(&tables);
}

#[test]
fn velocities_of_the_stabilized_methods_have_no_drift() {
    all_hold(&["11"]);
}

#[test]
fn exact_velocities_cost_no_more_than_two_and_a_half_steps_of_index_3() {
    all_hold(&["16"]);
}

#[test]
fn hht_as_printed_is_of_first_order_where_the_mass_varies() {
    all_hold(&["eq8"]);
}

#[test]
fn reactions_of_the_top_have_no_start_up_transient_in_si2() {
    all_hold(&["top"]);
}

#[test]
fn every_figure_can_be_asked_for() {
    assert!(FIGURES.iter().all(|f| !f.is_empty()) && FIGURES.contains(&"16"));
    assert!(reproduce(Some("17"), true).claims.is_empty());
}

#[test]
fn orders_on_the_flexible_slider_crank() {
    all_hold(&["4"]);
}

#[test]
fn energy_of_the_flexible_slider_crank() {
    all_hold(&["10"]);
}

#[test]
fn hht_si2_with_the_mass_as_printed_is_of_second_order_and_depends_on_its_first_acceleration() {
    all_hold(&["mean"]);
}
