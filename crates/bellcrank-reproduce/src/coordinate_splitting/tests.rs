use super::*;

fn all_hold(table: &str) {
    let report = reproduce(Some(table), true);
    let failed: Vec<_> = report.claims.iter().filter(|c| !c.holds).collect();
    assert!(!report.claims.is_empty() && failed.is_empty(), "{failed:#?}");
}

#[test]
fn table_1_within_two_iterations() {
    all_hold("1");
}

#[test]
fn table_2_cs_and_cm_are_alike() {
    all_hold("2");
}

#[test]
fn table_3_to_the_last_count() {
    all_hold("3");
}

#[test]
fn table_4_counts_and_reference() {
    all_hold("4");
}

#[test]
fn s1c_does_not_depend_on_the_stiffness() {
    all_hold("s1c");
}

#[test]
fn auto_is_never_worse_than_the_best_of_cs_and_cm() {
    all_hold("auto");
}

#[test]
fn auto_takes_the_same_evaluations_to_an_error_at_every_stiffness() {
    all_hold("equal");
}

#[test]
fn steps_do_not_grow_with_the_stiffness_of_bushings() {
    all_hold("ladder");
    all_hold("bushing");
}

#[test]
fn constraints_hold_for_long() {
    all_hold("hour");
}
