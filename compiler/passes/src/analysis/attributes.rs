//! Names of attributes by which a pass hands facts to later passes.

/// Attribute of a function that becomes one kernel.
pub const PRIMITIVE: &str = "Primitive";

/// Attribute with the name of the pattern that a function matched.
pub const COMPOSITE: &str = "Composite";

/// Attribute with the name of the external code generator that compiles a function.
pub const CODEGEN: &str = "Codegen";

/// Attribute of a block that packs an argument.
pub const LAYOUT_REWRITE: &str = "meta_schedule.layout_rewrite_preproc";
