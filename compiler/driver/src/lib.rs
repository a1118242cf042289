//! Targets, options, pipelines: what the command line calls.
