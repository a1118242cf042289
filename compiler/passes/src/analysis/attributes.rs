//! Names of attributes by which a pass hands facts to later ones.

/// The attribute of a function that stands for one kernel.
pub const PRIMITIVE: &str = "Primitive";

/// The attribute that names what a function was grouped as.
pub const COMPOSITE: &str = "Composite";

/// The attribute that names the code generator that compiles a function.
pub const CODEGEN: &str = "Codegen";

/// The mark of blocks that rearrange an argument.
pub const LAYOUT_REWRITE: &str = "meta_schedule.layout_rewrite_preproc";
