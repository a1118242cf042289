//! Type rules: result types and rejected calls of each operator.

mod detection;
mod nn;
mod site;
mod structural;
