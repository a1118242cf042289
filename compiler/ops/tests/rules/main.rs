//! Type rules: what each operator says of its result, and what it refuses.

mod detection;
mod nn;
mod site;
mod structural;
