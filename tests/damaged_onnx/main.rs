//! Fuzzing of the ONNX importer with damaged models: each is imported, or rejected with a message. None may panic, or
//! take much time or memory.
//!
//! `MUTATIONS=100000` sets the number of mutations per model, `MODELS` the models (default: all of `tests/onnx`),
//! `MUTATION` a single mutation by number, `FROM` the first; `COMPILED=10` compiles every tenth model that can be
//! imported. `KEEP` is a file that the current model is written to.

mod wire;

use fastrand::Rng;
use hammock_compiler::{Emit, Evaluator, Options, compile, lower};
use hammock_ir::verify;
use hammock_onnx::{Data, ImportOptions, Imported};
use hammock_passes::pipeline;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Time limit per model, for debug builds on loaded machines.
const LONGEST: Duration = Duration::from_secs(60);

/// Current model, and its start time.
static CURRENT: Mutex<Option<(String, Instant)>> = Mutex::new(None);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().unwrap())
}

fn models() -> Vec<PathBuf> {
    if let Ok(named) = std::env::var("MODELS") {
        return named.split(',').map(PathBuf::from).collect();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "onnx")).collect();
    models.sort();
    models
}

/// Returns a mutation by number: a truncation, changed bytes, or changed fields.
fn damaged(whole: &[u8], number: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(number);
    match number % 8 {
        0 => whole[..random.usize(..whole.len())].to_vec(),
        1..4 => change_bytes(whole.to_vec(), &mut random),
        _ => wire::damage(whole, &mut random),
    }
}

fn change_bytes(mut bytes: Vec<u8>, random: &mut Rng) -> Vec<u8> {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..bytes.len());
        match random.u8(..4) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, random.u8(..)),
            2 => bytes[at] ^= 1 << random.u8(..8),
            _ => bytes[at] = random.u8(..),
        }
    }
    bytes
}

/// Imports damaged bytes; returns a module or errors.
fn import(bytes: Vec<u8>, file: &Path) -> Option<Imported> {
    match hammock_onnx::import(Data::Bytes(Arc::new(bytes)), "damaged.onnx", Some(file), &ImportOptions::default()) {
        Ok(imported) => {
            // Window sizes and the like may be absurd, but the types must be consistent.
            let _ = verify::module(&imported.module, &hammock_ops::Table);
            Some(imported)
        }
        Err(errors) => {
            assert!(!errors.diagnostics.is_empty());
            None
        }
    }
}

/// Compiles a module like the command; it may report errors.
fn compile_it(mut imported: Imported) {
    let (options, evaluator) = (Options { threads: 1, ..Options::default() }, Evaluator::new());
    let environment = options.environment(&evaluator);
    let lowered =
        lower(&mut imported.module, &imported.source, &pipeline(options.level), &environment, &mut Default::default());
    if lowered.is_ok() {
        let _ = compile(&imported.module, &imported.source, &options, Emit::Lib);
    }
}

/// Returns a line of `/proc/self/status`, in bytes.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Returns the peak memory of `work` beyond the memory of the process before it.
fn memory(work: impl FnOnce()) -> usize {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    work();
    status("VmHWM:").saturating_sub(before)
}

/// Aborts the process if a model exceeds its time limit.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_millis(500));
        if let Some((what, since)) = &*CURRENT.lock().unwrap()
            && since.elapsed() > LONGEST
        {
            eprintln!("{what} takes longer than {LONGEST:?}");
            std::process::abort();
        }
    }
}

/// Reads a damaged model; returns true if it was imported, or an error if a limit was violated.
fn survives(bytes: Vec<u8>, file: &Path, compiled: bool) -> Result<bool, String> {
    let (mut read, most) = (false, 4 * bytes.len() + (100 << 20));
    let work = || {
        if let Some(imported) = import(bytes, file) {
            read = true;
            if compiled {
                compile_it(imported);
            }
        }
    };
    match catch_unwind(AssertUnwindSafe(|| memory(work))) {
        Err(_) => Err("panics".to_owned()),
        Ok(taken) if taken > most => Err(format!("takes {} MiB", taken >> 20)),
        Ok(_) => Ok(read),
    }
}

/// Sequential, since peak memory is per process. Reports all failures.
fn survive_all() {
    let (mutations, only, compiled) = (number("MUTATIONS").unwrap_or(150), number("MUTATION"), number("COMPILED"));
    let (mut read, mut wrong) = (0, Vec::new());
    for file in models() {
        let whole = std::fs::read(&file).unwrap();
        for number in only.map_or(number("FROM").unwrap_or(0)..mutations, |only| only..only + 1) {
            let what = format!("MODELS={} MUTATION={number}", file.display());
            if let Ok(path) = std::env::var("KEEP") {
                std::fs::write(path, damaged(&whole, number)).unwrap();
            }
            *CURRENT.lock().unwrap() = Some((what.clone(), Instant::now()));
            match survives(damaged(&whole, number), &file, compiled.is_some_and(|each| number % each == 0)) {
                Ok(imported) => read += usize::from(imported),
                Err(how) => {
                    eprintln!("{what} {how}");
                    wrong.push(format!("{what} {how}"));
                }
            }
        }
    }
    *CURRENT.lock().unwrap() = None;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(only.is_some() || read > 0, "every change was an error");
}

#[test]
fn damaged_models_are_rejected_or_imported() {
    std::thread::spawn(watch);
    // Same stack size as in the command.
    std::thread::Builder::new().stack_size(512 << 20).spawn(survive_all).unwrap().join().unwrap();
}
