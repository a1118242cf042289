//! The kernel cache: its flags, and `hammock cache`, which shows and clears it.

use clap::Args;
use hammock_compiler::{Cache, Failure, Usage};
use hammock_tools::parse_bytes;
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// Flags of the kernel cache.
#[derive(Args, Clone)]
#[command(next_help_heading = "Cache")]
pub struct CacheFlags {
    /// Neither read nor write the kernel cache (`hammock cache` shows it)
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    size: SizeFlag,
}

#[derive(Args, Clone)]
struct SizeFlag {
    /// Maximum size of the kernel cache: in bytes, or as 64M or 2G; the least recently used kernels are evicted first
    /// [default: HAMMOCK_CACHE_SIZE, or 1G]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    cache_size: Option<usize>,
}

impl CacheFlags {
    /// Opens the cache.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(&self) -> Result<Arc<Cache>, String> {
        if self.no_cache { Err("`--no-cache` says so".to_owned()) } else { self.size.open().map(Arc::new) }
    }

    /// The flags, and whether each was given.
    pub fn given(&self) -> [(&'static str, bool); 2] {
        [("--no-cache", self.no_cache), ("--cache-size", self.size.cache_size.is_some())]
    }
}

impl SizeFlag {
    fn open(&self) -> Result<Cache, String> {
        Cache::of_environment(self.cache_size)
    }
}

/// Shows or clears the kernel cache
#[derive(Args)]
#[command(after_help = "\
`compile`, `run`, `bench` and `opt` keep the machine code of each kernel under a hash of all that decides on it: what the
kernel computes and how, the target, the options, the versions of Hammock and LLVM. Code that is damaged is compiled again.

The folder is `hammock` in XDG_CACHE_HOME, or in ~/.cache; HAMMOCK_CACHE names another, and HAMMOCK_CACHE=off keeps nothing.
It must be yours, and nobody else may write to it: what is in it is run.

Examples:
  hammock cache
  hammock cache --json
  hammock cache --clear
  HAMMOCK_CACHE=./kernels hammock compile model.py -o model.so     keeps machine code in a folder of this project
  hammock compile model.py -o model.so --stats                     says how many kernels were compiled
  hammock compile model.py -o model.so --no-cache                  compiles all of them")]
pub struct ShowCache {
    /// Remove all kernels from the cache
    #[arg(long)]
    clear: bool,
    /// Print an object; sizes are in bytes
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlag,
}

impl ShowCache {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let opened = self.size.open();
        let removed = opened.as_ref().ok().filter(|_| self.clear).map(Cache::clear);
        if self.json {
            return crate::print(&format!("{}\n", object(&opened, removed)));
        }
        let cache = match &opened {
            Ok(cache) => cache,
            Err(why) => return crate::print(&format!("the cache is off: {why}\n")),
        };
        let folder = cache.folder().display();
        let removed = removed.map(|usage| format!("removed {}\n", said(usage))).unwrap_or_default();
        crate::print(&format!("{removed}{folder}: {}, of at most {}\n", said(cache.usage()), cache.limit()))
    }
}

fn said(Usage { kernels, bytes }: Usage) -> String {
    format!("{}, {}", hammock_diagnostics::count(kernels, "kernel"), hammock_diagnostics::count(bytes as usize, "byte"))
}

fn object(opened: &Result<Cache, String>, removed: Option<Usage>) -> Value {
    let usage = |usage: Usage| json!({ "kernels": usage.kernels, "bytes": usage.bytes });
    match opened {
        Err(why) => json!({ "folder": null, "why": why }),
        Ok(cache) => {
            let Usage { kernels, bytes } = cache.usage();
            let (folder, limit) = (path(cache.folder()), cache.limit());
            let removed = removed.map(usage);
            json!({ "folder": folder, "kernels": kernels, "bytes": bytes, "limit": limit, "removed": removed })
        }
    }
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
