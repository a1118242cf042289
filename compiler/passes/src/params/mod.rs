//! Passes over weights and constants: binding, folding, bundling and lifting their transformations.

pub mod bind_params;
pub mod bind_symbolic_vars;
pub mod bundle_model_params;
pub mod fold_constant;
pub mod lazy_transform_params;
pub mod lift_transform_params;
pub mod prepare_constants;
pub mod update_param_type;
