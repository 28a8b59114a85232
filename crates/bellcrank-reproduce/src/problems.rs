//! The test problems of the literature, as model files.

/// The rigid slider-crank of [Negrut, Jay & Khude 2009].
pub const SLIDER_CRANK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml"));
/// Andrews' squeezing mechanism of seven bodies [Schiehlen 1990].
pub const SEVEN_BODY: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml"));
/// The stiff double pendulum from a smooth start.
pub const DOUBLE_PENDULUM: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/double-pendulum/model.toml"));
/// The heavy top.
pub const TOP: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/heavy-top/model.toml"));
/// The pendulum.
pub const PENDULUM: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/pendulum/model.toml"));
/// The flexible slider-crank, undeformed.
pub const FLEXIBLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/flexible-slider-crank/model.toml"));
