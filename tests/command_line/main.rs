//! The command line end to end, as users type it. One program, since it is linked with all of the compiler.

mod benching;
mod browser;
mod cache;
mod codes;
mod commands;
mod comparing;
mod exec_modes;
mod external_codegen;
mod files;
mod flags;
mod fmt;
mod initialization;
mod limits;
mod multi_version;
mod output;
mod placement;
mod reporting;
mod safety;
mod signatures;
mod sizes;
mod stages;
mod stand_alone;
#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;
mod tuning;
mod weights;
