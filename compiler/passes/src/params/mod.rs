//! Passes over weights and constants: binding, folding, bundling and lifting their transformations.

pub mod bind_params;
pub mod bind_symbolic_vars;
pub mod bundle_model_params;
pub mod fold_constant;
pub mod lazy_transform_params;
pub mod lift_transform_params;
pub mod prepare_constants;
pub mod update_param_type;

/// Returns true if a constant's origin is so much smaller that it is stored instead: savings below a fifth are not
/// worth the time.
pub fn is_much_smaller(origin: usize, constant: usize) -> bool {
    origin.saturating_mul(5) <= constant.saturating_mul(4)
}
