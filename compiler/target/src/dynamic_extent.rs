//! Assumed extents of dynamic axes, one for each estimate of a heuristic.
//!
//! An extent that is not known at compile time never affects results, but heuristics need a number. No number suits all
//! of them: each constant below minimizes the cost of an error in one kind of estimate, and its documentation gives the
//! reason. A heuristic uses one of these constants, or adds one here.

/// When the work of a loop nest is estimated: choice of rules, cost model, parallel loops. A multiple of all vector
/// lengths, so that tails do not count, and long enough to be worth tiling.
pub const WORK: i64 = 64;

/// When the bytes of intermediates are estimated, as in row tiling. Long, because too large a tile leaves the cache,
/// while one that is too small only has more iterations.
pub const INTERMEDIATE_BYTES: i64 = 1024;

/// When the memory traffic saved by fusing rows is compared with the traffic added. Between the two above: it counts on
/// both sides, as rows of the saved intermediates and of the reloaded operands.
pub const FUSED_TRAFFIC: i64 = 256;

/// When data layouts are compared, by idle vector lanes and moved elements. Not a multiple of the vector length, because
/// lanes of a dynamic extent's tail are idle.
pub const LAYOUT_COST: i64 = 24;

/// Iterations of a `while` loop when the work of opaque statements is estimated. Few, because such loops end early.
pub const WHILE_ITERATIONS: i64 = 4;
