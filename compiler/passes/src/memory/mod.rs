//! Passes that plan memory: storages, in-place calls, views, lifetimes and devices.

pub mod allocate_workspace;
pub mod dataflow_use_inplace_calls;
pub mod kill_after_last_use;
pub mod place_kernels;
pub mod realize_vdevice;
pub mod rewrite_dataflow_reshape;
pub mod static_plan_block_memory;
pub mod update_vdevice;
pub mod zero_initialize;
