//! File tests: `tests/filetests/SUITE/NAME.py` starts with `# opt: PASSES`; the output of the passes is the snapshot
//! `snapshots/filetests/SUITE/NAME.snap`. The module is verified before and after. With `# opt: gpu PASSES`, it is for a
//! GPU.
//!
//! A file that starts with `# stages: TRANSFORM` is compiled to kernels; the snapshot is what the transform changes in
//! their stages. For one that starts with `# plans: RULE`, it is the plans of the kernels with a stage that the rule
//! schedules. `# stages: gpu TRANSFORM` and `# plans: gpu RULE` are for GPUs,
//! `# plans: gpu tf32 RULE` for those that may multiply tf32.

use hammock_compiler::{
    Build, Codegens, Dump, Evaluator, Failure, GPU_RULES, Gpu, Model, Options, Progress, RULES, ReadOptions,
    Silent as NoProgress, TRANSFORMS, read_text, stages,
};
use hammock_diagnostics::{Diagnostic, SourceFile};
use hammock_ir::print::{PrintOptions, module_text};
use hammock_passes::{Environment, Pipeline, Silent};
use similar::TextDiff;
use std::path::Path;

#[test]
fn filetests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    insta::glob!("filetests", "*/*.py", |path| {
        let suite = path.parent().and_then(Path::file_name).unwrap().to_string_lossy();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root.join("snapshots/filetests").join(&*suite));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_snapshot_suffix();
        settings.remove_input_file();
        settings.bind(|| insta::assert_snapshot!(name, run(path)));
    });
}

fn run(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    for (head, of_kernels) in [("# stages:", changes as OfKernels), ("# plans:", plans)] {
        if let Some(name) = text.lines().next().and_then(|line| line.strip_prefix(head)) {
            let name = name.trim().to_owned();
            return of_kernels(path, text, &name).unwrap_or_else(|failure| failure.render(false));
        }
    }
    let passes = text.lines().next().and_then(|l| l.strip_prefix("# opt:")).expect("the first line is `# opt: PASSES`");
    let (gpu, passes) = for_machine(passes.trim());
    let passes = passes.to_owned();
    let source = SourceFile::new(path.file_name().unwrap().to_string_lossy().into_owned(), text).unwrap();
    let mut module = match read_text(&source, &ReadOptions::default()) {
        Ok(module) => module,
        Err(failure) => return failure.render(false),
    };
    verify(&module, "as written", path);
    let gpu = gpu.map(|(gpu, _)| gpu);
    let (options, evaluator) = (Options { gpu, ..Options::default() }, Evaluator::new());
    let codegens = Codegens::default();
    // A fixed target, so plans do not depend on the machine.
    let planner = Options { target: "x86-64-v4".into(), ..Options::default() };
    let environment = Environment { codegens: Some(&codegens), planner: &planner, ..options.environment(&evaluator) };
    if let Err(diagnostic) = Pipeline::parse(&passes).and_then(|p| p.run(&mut module, &environment, &mut Silent)) {
        return hammock_diagnostics::render_text(&diagnostic, Some(&source), false);
    }
    verify(&module, "after its passes", path);
    module_text(&module, &PrintOptions::default())
}

/// Returns the snapshot of a file with this text, for a transform or rule of this name.
type OfKernels = fn(&Path, String, &str) -> Result<String, Failure>;

/// Returns the lowered module of a text, for a fixed target.
fn lowered<'a>(
    path: &Path,
    text: String,
    gpu: Option<(Gpu, bool)>,
    progress: &'a mut dyn Progress,
) -> Result<Build<'a>, Failure> {
    let source = SourceFile::new(path.file_name().unwrap().to_string_lossy().into_owned(), text)?;
    let (gpu, allow_tf32) = gpu.map_or((None, false), |(gpu, allow_tf32)| (Some(gpu), allow_tf32));
    let options = Options { target: "x86-64-v4".into(), gpu, allow_tf32, threads: 4, ..Options::default() };
    let mut build = Build::new(Model::from_text(source)?, options, progress);
    build.lower(&build.options().pipeline(), &mut Dump::default())?;
    Ok(build)
}

/// Returns the GPU that a file is for, if any, with true if it may multiply tf32, and the name of what it tests.
fn for_machine(name: &str) -> (Option<(Gpu, bool)>, &str) {
    match (name.strip_prefix("gpu tf32 "), name.strip_prefix("gpu ")) {
        (Some(name), _) => (Some((Gpu::DEFAULT, true)), name),
        (None, Some(name)) => (Some((Gpu::DEFAULT, false)), name),
        (None, None) => (None, name),
    }
}

/// The lines that a transform of stages changes in the kernels of a model.
fn changes(path: &Path, text: String, transform: &str) -> Result<String, Failure> {
    let mut progress = NoProgress;
    let (gpu, transform) = for_machine(transform);
    let build = lowered(path, text, gpu, &mut progress)?;
    let count = TRANSFORMS.iter().position(|known| known.name == transform).expect("a transform of stages");
    let Model { module, source, .. } = build.model();
    let text = |count| {
        let stages = stages(module, source, build.options(), count)?;
        verify(&stages, "as stages", path);
        Ok::<_, Failure>(module_text(&stages, &PrintOptions::default()))
    };
    let (before, after) = (text(count)?, text(count + 1)?);
    let diff = TextDiff::from_lines(&before, &after);
    let diff = diff.unified_diff().context_radius(3).to_string();
    Ok(if diff.is_empty() { "no change\n".to_owned() } else { diff })
}

/// The plans of the kernels with a stage that a rule schedules.
fn plans(path: &Path, text: String, rule: &str) -> Result<String, Failure> {
    let (gpu, rule) = for_machine(rule);
    let is_known = match gpu {
        Some(_) => GPU_RULES.iter().any(|known| known.name == rule),
        None => RULES.iter().any(|known| known.name == rule),
    };
    assert!(is_known, "there is no rule `{rule}`");
    let mut progress = NoProgress;
    let plans = lowered(path, text, gpu, &mut progress)?.plans()?;
    let is_by_rule = |plan: &str| plan.lines().any(|line| line.trim_start().starts_with(&format!("{rule}:")));
    let plans = plans.iter().filter(|(_, plan)| is_by_rule(plan)).map(|(name, plan)| format!("{name}:\n{plan}"));
    let plans: String = plans.collect();
    Ok(if plans.is_empty() { "no stage is scheduled by it\n".to_owned() } else { plans })
}

fn verify(module: &hammock_ir::Module, when: &str, path: &Path) {
    let found = hammock_ir::verify::module(module, &hammock_ops::Table);
    let wrong: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
    assert!(wrong.is_empty(), "{} is not well formed {when}: {wrong:#?}", path.display());
}
