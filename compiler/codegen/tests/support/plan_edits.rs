//! Random edits of plans, as text and with primitives: each is read, and its results are compared with the reference
//! interpreter.

use super::{Kernel, check_kernel, rng::Rng};
use hammock_ir::tir::PrimFunc;
use hammock_kernels::{
    Options, Reason, lower_with, plan_text,
    schedule::{
        Plans,
        primitives::{Form, PRIMITIVES},
    },
    search_space,
};
use hammock_runtime::Any;

/// Compares one of the candidates of autotuning with the reference interpreter.
fn check_tried(func: &PrimFunc, options: Options, inputs: &[Any], rng: &mut Rng) {
    let space = search_space(func, options).unwrap();
    if space.others.is_empty() {
        return;
    }
    let plan = &rng.pick(&space.others).text;
    println!("{plan}");
    let lines: String = plan.lines().map(|line| format!("    {line}\n")).collect();
    let plans = Plans::read_numbered(&format!("f:\n{lines}")).unwrap();
    check_kernel(&Kernel::planned(func, Options { plan: plans.of("f"), ..options }), inputs);
}

/// Number of edits of each kind, and number of valid ones that run.
const EDITS: usize = 8;
const RUN: usize = 1;
/// Percentage of kernels for which a candidate of autotuning runs.
const CANDIDATE_PERCENT: u64 = 25;

/// Reads back the plan that the rules choose, which must not change, then edited ones: each is rejected, or gives the
/// interpreter's results. Returns the number of plans that ran.
pub fn check_plan_edits(func: &PrimFunc, options: Options, inputs: &[Any], rng: &mut Rng) -> usize {
    let own = plan_text(func, options).unwrap();
    assert_eq!(read(func, options, &own).unwrap(), own, "a printed plan reads as what it is");
    if rng.chance(CANDIDATE_PERCENT) {
        check_tried(func, options, inputs, rng);
    }
    let (mut run, mut seen) = (0, vec![own.clone()]);
    for number in 0..2 * EDITS {
        let mut text = own.clone();
        match number % 2 {
            0 => (0..rng.between(1, 3)).for_each(|_| text = edited(&text, rng)),
            _ => text = changed(&text, rng),
        }
        let Ok(plan) = read(func, options, &text) else { continue };
        assert_eq!(read(func, options, &plan).unwrap(), plan, "{text}");
        if run < 2 * RUN && run % 2 == number % 2 && !seen.contains(&plan) {
            println!("{plan}");
            let plans = plans(&plan).unwrap();
            check_kernel(&Kernel::planned(func, Options { plan: plans.of("f"), ..options }), inputs);
            seen.push(plan);
            run += 1;
        }
    }
    run
}

fn plans(plan: &str) -> Result<Plans, String> {
    let lines: String = plan.lines().map(|line| format!("    {line}\n")).collect();
    Plans::read(&format!("f:\n{lines}")).map_err(|e| e.to_string())
}

/// Binds a plan to a function, and prints it.
fn read(func: &PrimFunc, options: Options, plan: &str) -> Result<String, String> {
    let plans = plans(plan)?;
    let options = Options { plan: plans.of("f"), ..options };
    match lower_with(func, options).and_then(|_| plan_text(func, options)) {
        Ok(text) => Ok(text),
        Err(error) if matches!(error.reason, Reason::Plan(_)) => Err(error.to_string()),
        Err(error) => panic!("{error}\n{plan}"),
    }
}

/// Returns a plan with one change.
fn edited(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let plans: Vec<usize> = (0..lines.len()).filter(|n| !lines[*n].trim_start().starts_with('#')).collect();
    let at = *rng.pick(&plans);
    lines[at] = line(&lines[at], rng);
    lines.join("\n") + "\n"
}

fn line(text: &str, rng: &mut Rng) -> String {
    // A number anywhere: a step, a grain, how many rows.
    let numbers: Vec<(usize, usize)> = numbers(text);
    if rng.chance(40) && !numbers.is_empty() {
        let (from, to) = *rng.pick(&numbers);
        return format!("{}{}{}", &text[..from], step(rng), &text[to..]);
    }
    let Some((head, list)) = text.split_once(": ") else { return text.to_owned() };
    let mut items = items(list);
    let at = rng.below(items.len() as u64) as usize;
    match rng.below(6) {
        0 => {
            let other = rng.below(items.len() as u64) as usize;
            items.swap(at, other);
        }
        1 => _ = items.remove(at),
        2 => {
            let axis = items[at].split(' ').next().unwrap_or_default().to_owned();
            items.insert(rng.below(at as u64 + 1) as usize, format!("{axis} by {}", step(rng)));
        }
        3 => {
            let item = items.remove(at);
            items.insert(rng.below(items.len() as u64 + 1) as usize, item);
        }
        4 => {
            let plain = [" unrolled", " vector"].iter().fold(items[at].clone(), |item, kind| item.replace(kind, ""));
            let kind = *rng.pick(&[" unrolled", " vector", " parallel 1", " parallel 3", ""]);
            items[at] = plain + kind;
        }
        _ => items.push("reciprocal hoisted".to_owned()),
    }
    format!("{head}: {}", items.join(", "))
}

/// Returns a plan with primitives below some of its stages.
fn changed(text: &str, rng: &mut Rng) -> String {
    let mut changed = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let stage = line.trim_start().split_once(':').filter(|(head, _)| !head.contains(' '));
        let Some((_, list)) = stage.filter(|_| rng.chance(70)) else {
            changed += &format!("{line}\n");
            continue;
        };
        changed += &if rng.chance(50) { format!("{indent}planned\n") } else { format!("{line}\n") };
        let items: Vec<String> = items(list).into_iter().filter(|item| item.split(' ').count() < 5).collect();
        let names: Vec<&str> = items.iter().filter_map(|item| item.split(' ').next()).collect();
        for _ in 0..rng.between(1, 4) {
            let mut name = || {
                let axis = *rng.pick(&names);
                if rng.chance(30) { format!("{axis} by {}", step(rng)) } else { axis.to_owned() }
            };
            let loops = [name(), name(), name()];
            changed += &format!("{indent}    {}\n", primitive(&loops, rng));
        }
    }
    changed
}

/// Returns a primitive on some of these loops.
fn primitive(loops: &[String; 3], rng: &mut Rng) -> String {
    let primitive = rng.pick(PRIMITIVES);
    let [first, second, third] = loops;
    let buffer = *rng.pick(&["x0", "x1", "x0", "factor", "value"]);
    let args = match primitive.form {
        Form::Factor => format!("{first} by {}", step(rng)),
        Form::Step => format!("{first} to {}", step(rng)),
        Form::Loop => first.clone(),
        Form::Grain => format!("{first} grain {}", rng.between(1, 5)),
        Form::Loops if rng.chance(50) => format!("{first}, {second}"),
        Form::Loops => format!("{first}, {second}, {third}"),
        Form::Copy if rng.chance(50) => format!("{buffer} as [{second}] at {first}"),
        Form::Copy | Form::Place => format!("{buffer} at {}", if rng.chance(30) { "root" } else { first }),
        Form::Buffer => buffer.to_owned(),
        Form::Padding => format!("{buffer} along {} to {}", first.split(' ').next().unwrap(), step(rng)),
        Form::Nothing => String::new(),
    };
    format!("{} {args}", primitive.name)
}

fn step(rng: &mut Rng) -> i64 {
    *rng.pick(&[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 32, 48, 50, 64, 100])
}

/// Returns the ranges of standalone numbers in a text.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in text.split(' ') {
        let number = word.trim_end_matches([',', ')', ':']);
        if number.parse::<i64>().is_ok() {
            found.push((start, start + number.len()));
        }
        start += word.len() + 1;
    }
    found
}

/// Splits a list at commas outside of parentheses and brackets.
fn items(list: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0);
    for c in list.chars() {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        match items.last_mut() {
            Some(item) if c != ',' || depth > 0 => item.push(c),
            _ => items.push(String::new()),
        }
    }
    items.iter().map(|item| item.trim().to_owned()).collect()
}
