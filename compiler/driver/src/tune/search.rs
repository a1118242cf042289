//! Local search: measures plans in the neighbourhood of the best so far until the deadline.

use super::{Record, arguments::arguments, benchmark::Runner};
use crate::{
    Failure, Options, PlanFile,
    kernels::{self, CompileError, Compiled, Compiler, SYMBOL},
};
use hammock_codegen::llvm::Host;
use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, prim::Var, tir::PrimFunc};
use hammock_kernels::{Candidate, SearchSpace, schedule::Plans};
use hammock_runtime::{Function, parallel};
use hammock_target::Target;
use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// Number of plans that are compiled and compared at a time; fewer if the time left is short.
const FIELD: usize = 8;
/// Number of plans in a kernel's first comparison, which measures how long one takes.
const FIRST_FIELD: usize = 2;
/// Number of kernels that are measured however short the time is.
const MIN_KERNELS: usize = 3;
/// Ratio of a plan's predicted time to the rule's above which it is not tried.
const HOPELESS: f64 = 3.0;
/// Ratio to the best time below which the neighbours of a plan are tried.
const NEAR: f64 = 1.2;
/// Ratio to the best time below which a plan replaces the best.
const FASTER: f64 = 0.97;

/// A kernel to tune.
struct Job {
    name: String,
    func: PrimFunc,
    key: String,
    plans: SearchSpace,
    /// Its share of the module's time.
    share: f64,
}

/// See [`tune`](super::tune()).
pub fn tune(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    time: Duration,
    report: &mut dyn FnMut(f64, &str),
) -> Result<Vec<Record>, Failure> {
    let start = Instant::now();
    let deadline = start + time;
    let jobs = jobs(module, source, options, threads)?;
    let before = parallel::threads();
    parallel::set_threads(threads);
    let all: f64 = jobs.iter().map(|job| job.share).sum();
    let (mut records, mut used) = (Vec::new(), 0.0);
    for job in &jobs {
        // The most expensive kernels come first.
        if records.len() >= MIN_KERNELS && Instant::now() >= deadline {
            break;
        }
        if let Err(stopped) = options.stop.check() {
            parallel::set_threads(before);
            return Err(stopped.into());
        }
        report((start.elapsed().as_secs_f64() / time.as_secs_f64()).min(1.0), &job.name);
        // Time that a kernel does not use is available to the next ones.
        used += job.share / all;
        let target = kernels::target(options, threads);
        let search = Search { job, options, target, end: start + time.mul_f64(used), deadline };
        records.extend(search.record());
    }
    parallel::set_threads(before);
    Ok(records)
}

/// Kernels without a plan, the most expensive first.
fn jobs(module: &Module, source: &SourceFile, options: &Options, threads: usize) -> Result<Vec<Job>, Failure> {
    let found = kernels::map_kernels(module, source, options, threads, |name, func, how| {
        let key = kernels::plan_key(&func, how.target, options);
        let has_one =
            |file: &Option<Arc<PlanFile>>, name: &str| file.as_ref().is_some_and(|file| file.of(name).is_some());
        if has_one(&options.plans, name) || has_one(&options.tuned, &key) {
            return Ok(None);
        }
        let plans = hammock_kernels::search_space(&func, hammock_kernels::Options { plan: None, ..how })?;
        let share = plans.own.cycles * kernels::call_count(module, name) as f64;
        Ok(Some(Job { name: name.to_owned(), func, key, plans, share }))
    })?;
    let mut jobs: Vec<Job> = found.into_iter().flatten().filter(|job| !job.plans.others.is_empty()).collect();
    jobs.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut seen = HashSet::new();
    jobs.retain(|job| job.share > 0.0 && seen.insert(job.key.clone()));
    Ok(jobs)
}

/// The search for a kernel's plan.
struct Search<'a> {
    job: &'a Job,
    options: &'a Options,
    target: Target,
    /// End of this kernel's share of the time.
    end: Instant,
    /// End of the whole time.
    deadline: Instant,
}

impl Search<'_> {
    /// The fastest plan that was found; none if the kernel cannot be run alone.
    fn record(&self) -> Option<Record> {
        let own = &self.job.plans.own;
        let sizes = self.options.sizes.measured(&self.job.func);
        let args = sizes.iter().map(|sizes| arguments(&self.job.func, sizes));
        let (mut runner, used) = Runner::new(self.compiled(&[own]).pop()??, args)?;
        let mut best = own.text.clone();
        let mut seen = HashSet::from([best.clone()]);
        let mut waiting = self.sorted(&self.job.plans, &seen);
        // Those that were raced, with their times as multiples of the best one's: the neighbours of the fastest come next.
        let mut raced: Vec<(f64, String)> = Vec::new();
        let is_over = || Instant::now() >= self.deadline || self.options.stop.reason().is_some();
        let mut field_size = FIRST_FIELD;
        loop {
            let before = Instant::now();
            if before >= self.end || is_over() {
                break;
            }
            if waiting.is_empty() {
                let next = (0..raced.len()).min_by(|a, b| raced[*a].0.total_cmp(&raced[*b].0));
                let Some(next) = next.filter(|at| raced[*at].0 < NEAR) else { break };
                waiting = self.near(&raced.swap_remove(next).1, &seen)?;
                continue;
            }
            let rest = waiting.split_off(waiting.len().min(field_size));
            let field = std::mem::replace(&mut waiting, rest);
            seen.extend(field.iter().map(|near| near.text.clone()));
            let compiled = self.compiled(&field.iter().collect::<Vec<_>>());
            let field = field.into_iter().zip(compiled).filter_map(|(near, function)| Some((near, function?)));
            let (texts, functions): (Vec<String>, Vec<Function>) = field.map(|(near, f)| (near.text, f)).unzip();
            let (ratios, winner) = runner.compare(&functions, FASTER, &is_over);
            let each = before.elapsed().as_secs_f64() / functions.len().max(1) as f64;
            let left = self.end.saturating_duration_since(Instant::now()).as_secs_f64();
            field_size = ((left / each) as usize).clamp(1, FIELD);
            raced.extend(ratios.into_iter().zip(texts.iter().cloned()));
            if let Some(winner) = winner {
                best.clone_from(&texts[winner]);
                let scale = raced.iter().find(|(_, text)| *text == best).map_or(1.0, |(ratio, _)| *ratio);
                raced.retain(|(_, text)| *text != best);
                raced.iter_mut().for_each(|(ratio, _)| *ratio /= scale);
                waiting = self.near(&best, &seen)?;
            }
        }
        let times = runner.decide(FASTER, &is_over);
        let plan = if times[1] < times[0] { best } else { own.text.clone() };
        let said = self.with(&plan, |options| hammock_kernels::plan_text(&self.job.func, options))?.ok()?;
        let (kernel, key) = (self.job.name.clone(), self.job.key.clone());
        let sizes = said_sizes(used.into_iter().map(|number| &sizes[number]));
        Some(Record { kernel, key, plan, said, sizes, times, tried: seen.len() - 1 })
    }

    /// Plans near one that were not tried.
    fn near(&self, plan: &str, seen: &HashSet<String>) -> Option<Vec<Candidate>> {
        let near = self.with(plan, |options| hammock_kernels::search_space(&self.job.func, options))?;
        Some(self.sorted(&near.ok()?, seen))
    }

    /// Plans in the order in which they are tried: by what is expected of them.
    fn sorted(&self, plans: &SearchSpace, seen: &HashSet<String>) -> Vec<Candidate> {
        let most = self.job.plans.own.cycles * HOPELESS;
        let wanted = |near: &&Candidate| near.cycles <= most && !seen.contains(&near.text);
        let mut others: Vec<Candidate> = plans.others.iter().filter(wanted).cloned().collect();
        others.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
        others
    }

    /// Calls `f` with the options of a plan.
    fn with<T>(&self, plan: &str, f: impl FnOnce(hammock_kernels::Options<'_>) -> T) -> Option<T> {
        let lines: String = plan.lines().map(|line| format!("    {line}\n")).collect();
        let plans = Plans::read_numbered(&format!("f:\n{lines}")).ok()?;
        let (checked, strict_order) = (kernels::checked(self.options), self.options.strict_order);
        let (target, locate) = (&self.target, &|_| None);
        let own = hammock_kernels::Options { checked, strict_order, ..hammock_kernels::Options::new(target) };
        Some(f(hammock_kernels::Options { plan: plans.of("f"), locate, ..own }))
    }

    /// Machine code for plans, on all cores; none for those that cannot be compiled.
    fn compiled(&self, plans: &[&Candidate]) -> Vec<Option<Function>> {
        let compiler = Compiler { level: kernels::opt_level(self.options), host: Host::Hammock, cache: None };
        let compile = |near: &&Candidate| {
            let compile = |options: hammock_kernels::Options<'_>| {
                compiler.compile(SYMBOL, self.job.func.clone(), options).ok().map(Compiled::load)
            };
            Ok::<_, CompileError>(self.with(&near.text, compile).flatten().and_then(Result::ok))
        };
        kernels::in_parallel(plans, self.options.threads, compile).unwrap_or_default()
    }
}

/// The sizes that a kernel was measured at: `n = 1, 16; m = 8, 8`.
fn said_sizes<'a>(measured: impl Iterator<Item = &'a Vec<(Var, i64)>>) -> String {
    let measured: Vec<&Vec<(Var, i64)>> = measured.collect();
    let vars = measured.first().map_or(0, |sizes| sizes.len());
    let said = |at: usize| {
        let sizes: Vec<String> = measured.iter().map(|sizes| sizes[at].1.to_string()).collect();
        format!("{} = {}", measured[0][at].0.name().escape_debug(), sizes.join(", "))
    };
    (0..vars).map(said).collect::<Vec<_>>().join("; ")
}
