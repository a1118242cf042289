//! Stages of every class that has its own rules, of random sizes and layouts, planned for every vector width and
//! compared with the reference interpreter. Values are small integers, so that sums are exact in any order.

mod case;
use crate::support::{Kernel, check_kernel, function, seeds};
use case::{Case, SIZES, Size};
use hammock_kernels::{Options, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;

/// Cases of each test, unless `CLASSES` asks for more.
const CASES: u64 = 8;

#[test]
fn products() {
    let mut near = 0;
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        if case.rng.chance(40) {
            case.axis("b", &[1, 2, 3], false);
        }
        case.axis("i", &SIZES, false);
        case.axis("j", &SIZES, false);
        case.axis("k", &SIZES, true);
        case.shrink();
        let batch = if case.axes.len() == 4 { vec!["b"] } else { vec![] };
        for own in ["i", "j"] {
            let mut input = case.over(&[&batch[..], &[own, "k"]].concat(), true);
            if own == "j" && case.rng.chance(30) {
                case.divide(&mut input, "j");
            }
            case.inputs.push(input);
        }
        let shuffled = case.rng.chance(30);
        let result = case.over(&[&batch[..], &["i", "j"]].concat(), shuffled);
        let value = format!("{{y}} + {} * {}", case.load(0), case.load(1));
        let dtype = case.dtype();
        let text = case.text(dtype, &result, Some("0"), &value);
        near += case.check(dtype, &text);
    }
    assert!(near > 0, "no edited plan can be used");
}

/// Matmuls whose reduction is long enough for an outer reduction loop: direct, packed, and with an epilogue.
#[test]
fn long_matmuls() {
    let sizes = [("i", 17, false), ("j", 50, false), ("k", 1500, true)];
    for (factor, after) in [(["k", "j"], false), (["j", "k"], false), (["k", "j"], true)] {
        let mut case = Case::new(7);
        sizes.iter().for_each(|(name, size, reduce)| case.axes.push(((*name).to_owned(), *size, *reduce, false)));
        for input in [["i", "k"], factor] {
            let input = case.over(&input, false);
            case.inputs.push(input);
        }
        let result = case.over(&["i", "j"], false);
        let value = format!("{{y}} + {} * {}", case.load(0), case.load(1));
        let mut text = case.text("float32", &result, Some("2"), &value);
        if after {
            text = text.replace("y[vi, vj]", "sum[vi, vj]");
            let sum = "    sum = T.alloc_buffer((17, 50), \"float32\")\n    for i, j, k in";
            text = text.replace("    for i, j, k in", sum);
            text += "    for i, j in T.grid(17, 50):\n        with T.sblock(\"after\"):\n            \
                     vi, vj = T.axis.remap(\"SS\", [i, j])\n            y[vi, vj] = sum[vi, vj] * T.float32(0.5)\n";
        }
        let (func, target) = (function(&text), Target::avx512());
        let options = Options::new(&target);
        let plan = plan_text(&func, options).unwrap();
        assert!(plan.contains("vk by 750"), "{plan}");
        let inputs: Vec<Any> = (0..2).map(|n| case.numbers(n, "float32")).collect();
        if target.vector_bytes <= Target::host().vector_bytes {
            check_kernel(&Kernel::planned(&func, options), &inputs);
        }
    }
}

#[test]
fn convolutions() {
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        let grouped = case.rng.chance(30);
        case.axis("o", &[1, 3, 8, 17, 64], false);
        case.axis("h", &[1, 3, 7], false);
        case.axis("w", &[1, 5, 7, 14, 28, 56], false);
        if !grouped {
            case.axis("c", &[1, 3, 4, 16], true);
        }
        case.axis("r", &[1, 3], true);
        case.axis("s", &[1, 3, 5], true);
        case.shrink();
        // Window sizes are constant, because the input size would be an expression otherwise.
        case.axes.iter_mut().filter(|axis| axis.0 != "o" && axis.0 != "c").for_each(|axis| axis.3 = false);
        let (stride, dilation) = (*case.rng.pick(&[1, 1, 2, 3]), *case.rng.pick(&[1, 1, 2]));
        let window = |case: &Case, at: &str, tap: &str| {
            let value = (case.size(at).value - 1).max(0) * stride + (case.size(tap).value - 1) * dilation + 1;
            (format!("v{at} * {stride} + v{tap} * {dilation}"), Size { text: value.to_string(), value })
        };
        let channel = if grouped { "o" } else { "c" };
        let mut input = case.over(&[channel], false);
        let taps = [window(&case, "h", "r"), window(&case, "w", "s")];
        let last = case.rng.chance(40);
        input.splice(if last { 0..0 } else { 1..1 }, taps);
        case.inputs.push(input);
        let weights: &[&str] = if grouped { &["o", "r", "s"] } else { &["o", "c", "r", "s"] };
        let shuffled = case.rng.chance(50);
        let weights = case.over(weights, shuffled);
        case.inputs.push(weights);
        let result = case.over(if last { &["h", "w", "o"] } else { &["o", "h", "w"] }, false);
        let value = format!("{{y}} + {} * {}", case.load(0), case.load(1));
        let dtype = case.dtype();
        let text = case.text(dtype, &result, Some("0"), &value);
        case.check(dtype, &text);
    }
}

/// Convolutions of several groups with several channels each, some with weights in blocks of channels.
#[test]
fn grouped_convolutions() {
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        let pick = |case: &mut Case, sizes: &[i64]| *case.rng.pick(sizes);
        let (groups, own) = (pick(&mut case, &[2, 3]), pick(&mut case, &[3, 4, 7, 16, 32, 64]));
        let (inputs, taps) = (pick(&mut case, &[1, 2, 8]), pick(&mut case, &[1, 3]));
        case.axes.push(("o".to_owned(), groups * own, false, false));
        case.axis("w", &[1, 5, 14, 28], false);
        case.axes.push(("c".to_owned(), inputs, true, false));
        case.axes.push(("r".to_owned(), taps, true, false));
        case.axes[1].3 = false;
        let size = |value: i64| Size { text: value.to_string(), value };
        let channel = (format!("vo // {own} * {inputs} + vc"), size(groups * inputs));
        let position = ("vw + vr".to_owned(), size(case.axes[1].1 + taps - 1));
        let last = case.rng.chance(50);
        case.inputs.push(if last { vec![position, channel] } else { vec![channel, position] });
        let shuffled = case.rng.chance(50);
        let mut weights = case.over(&["r", "c", "o"], shuffled);
        if case.rng.chance(30) {
            case.divide(&mut weights, "o");
        }
        case.inputs.push(weights);
        let result = case.over(if last { &["w", "o"] } else { &["o", "w"] }, false);
        let value = format!("{{y}} + {} * {}", case.load(0), case.load(1));
        let dtype = case.dtype();
        let text = case.text(dtype, &result, Some("0"), &value);
        case.check(dtype, &text);
    }
}

#[test]
fn reductions() {
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        let rank = case.rng.between(1, 4) as usize;
        let names = &["a", "b", "c", "d"][..rank];
        for name in names {
            let reduce = case.rng.chance(50);
            case.axis(name, &SIZES, reduce);
        }
        case.axes.last_mut().unwrap().2 |= rank == 1;
        case.shrink();
        let shuffled = case.rng.chance(30);
        let input = case.over(names, shuffled);
        case.inputs.push(input);
        let kept: Vec<&str> =
            names.iter().copied().filter(|name| !case.axes.iter().any(|a| a.0 == *name && a.2)).collect();
        let mut result = case.over(&kept, false);
        if result.is_empty() {
            result.push(("0".to_owned(), Size { text: "1".to_owned(), value: 1 }));
        }
        let x = case.load(0);
        let forms = [
            ("0", format!("{{y}} + {x}")),
            ("-2", format!("T.max({{y}}, {x})")),
            ("1", format!("T.min({x}, {{y}})")),
            ("3", format!("{{y}} + {x} * {x}")),
        ];
        let (init, value) = case.rng.pick(&forms).clone();
        let dtype = case.dtype();
        // A sum of infinities depends on the order, a maximum does not.
        case.nan = value.starts_with("T.m") && case.rng.chance(60);
        let text = case.text(dtype, &result, Some(init), &value);
        case.check(dtype, &text);
    }
}

/// Arg-reductions in several forms, some with a tie-breaking order.
#[test]
fn arg_reductions() {
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        let rank = case.rng.between(1, 4) as usize;
        let names = &["a", "b", "c", "d"][..rank];
        let reduced = case.rng.below(rank as u64) as usize;
        for (number, name) in names.iter().enumerate() {
            let reduce = number == reduced || case.rng.chance(20);
            case.axis(name, &SIZES, reduce);
        }
        case.shrink();
        let shuffled = case.rng.chance(30);
        let input = case.over(names, shuffled);
        case.inputs.push(input);
        let (over, kept): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| case.axes.iter().any(|a| a.0 == **name && a.2));
        let mut result = case.over(&kept, false);
        if result.is_empty() {
            result.push(("0".to_owned(), Size { text: "1".to_owned(), value: 1 }));
        }
        let number = over[1..].iter().fold(format!("v{}", over[0]), |number, name| {
            format!("({number}) * T.Cast(\"int64\", {}) + v{name}", case.size(name).text)
        });
        let (x, dtype, is_max) = (case.load(0), case.dtype(), case.rng.chance(60));
        let (better, worse, worst) = if is_max { (">", "<", "-2") } else { ("<", ">", "2") };
        let floats = dtype != "int32";
        let nan = if floats {
            format!(" or T.isnan({x}) and (not T.isnan({{y}}) or {number} < {{at}})")
        } else {
            String::new()
        };
        let forms = [
            format!("T.Select({x} {better} {{y}} or {x} == {{y}} and {number} < {{at}}{nan}, NEW, OLD)"),
            format!("T.Select({x} {better} {{y}}, NEW, OLD)"),
            format!("T.if_then_else({x} {worse} {{y}} or {{y}} == {x}, OLD, NEW)"),
            format!("T.Select({{y}} {better} {x} or {{y}} == {x} and {{at}} < {number}, OLD, NEW)"),
            format!("T.Select({x} {better}= {{y}}, NEW, OLD)"),
        ];
        let number_of_form = case.rng.below(forms.len() as u64) as usize;
        let form = &forms[number_of_form];
        let indices: Vec<&str> = result.iter().map(|(index, _)| index.as_str()).collect();
        let [y, at] = ["y", "at"].map(|name| format!("{name}[{}]", indices.join(", ")));
        let choice =
            |new: &str, old: &str| form.replace("NEW", new).replace("OLD", old).replace("{y}", &y).replace("{at}", &at);
        let index = format!("T.Cast(\"int64\", {number})");
        let (first, second) = (choice(&x, &y), choice(&index, &at));
        let body = format!(
            "value: T.let[T.{dtype}] = {first}\n            index: T.let[T.int64] = {second}\n            {y} = value\n            {at} = index\n"
        );
        let mut text = case.text(dtype, &result, Some(worst), "VALUE");
        text = text.replace(&format!("{y} = VALUE\n"), &body);
        let start = format!("{y} = T.{dtype}({worst})");
        text = text.replace(&start, &format!("{start}\n                {at} = T.int64(0)"));
        let of_y = text.lines().find(|line| line.starts_with("    y = ")).unwrap().to_owned();
        let of_at = of_y.replace("    y = T.match_buffer(y_", "    at = T.match_buffer(at_").replace(dtype, "int64");
        // The value is also a result, or is unused.
        text = match case.rng.chance(50) {
            true => {
                text.replace("y_: T.handle", "y_: T.handle, at_: T.handle").replace(&of_y, &format!("{of_y}\n{of_at}"))
            }
            false => {
                let room = of_y.replace("T.match_buffer(y_, ", "T.sblock_alloc_buffer(");
                text.replace("y_: T.handle", "at_: T.handle").replace(&of_y, &format!("{of_at}\n{room}"))
            }
        };
        case.nan = floats && case.rng.chance(50);
        let plan = plan_text(&function(&text), Options::new(&Target::avx512())).unwrap();
        let is_known = number_of_form < if floats { 2 } else { 4 };
        let is_empty = case.axes.iter().any(|axis| axis.1 == 0);
        assert!(is_empty || plan.contains("opaque") != is_known, "{text}\n{plan}");
        case.check(dtype, &text);
    }
}

/// Strided loads: strided pooling, with padding excluded, and strided copies.
#[test]
fn strided_loads() {
    let mut shuffled = 0;
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        case.axis("c", &[1, 3], false);
        case.axis("h", &[1, 4, 7], false);
        case.axis("w", &SIZES, false);
        let pools = case.rng.chance(70);
        if pools {
            case.axis("r", &[1, 3], true);
            case.axis("s", &[1, 2, 3, 5], true);
        }
        case.axes.iter_mut().filter(|axis| axis.0 != "c").for_each(|axis| axis.3 = false);
        let (step, pad) = (case.rng.between(1, 5), if pools { case.rng.between(0, 1) } else { 0 });
        let mut input = case.over(&["c"], false);
        let mut inside = Vec::new();
        for (at, tap) in [("h", "r"), ("w", "s")] {
            let taps = if pools { case.size(tap).value } else { 1 };
            let value = ((case.size(at).value - 1).max(0) * step + taps - 2 * pad).max(1);
            let tap = if pools { format!(" + v{tap} - {pad}") } else { String::new() };
            let index = format!("v{at} * {step}{tap}");
            inside.push(format!("0 <= {index} and {index} < {value}"));
            input.push((index, Size { text: value.to_string(), value }));
        }
        case.inputs.push(input);
        let result = case.over(&["c", "h", "w"], false);
        let (dtype, x) = (case.dtype(), case.load(0));
        let guarded = format!("T.if_then_else({}, {x}, T.{dtype}(-9))", inside.join(" and "));
        let forms = [("0", format!("{{y}} + {guarded}")), ("-9", format!("T.max({{y}}, {guarded})"))];
        let (init, value) = case.rng.pick(&forms).clone();
        let text = match pools {
            true => case.text(dtype, &result, Some(init), &value),
            false => case.text(dtype, &result, None, &format!("{x} + {x}")),
        };
        let plan = plan_text(&function(&text), Options::new(&Target::avx512())).unwrap();
        shuffled += usize::from(plan.contains("strided-reduction: "));
        case.check(dtype, &text);
    }
    assert!(shuffled > 0, "no stage has lanes that load a few elements apart");
}

#[test]
fn permutations() {
    for seed in seeds(CASES) {
        let (mut case, names) = Case::of_elements(seed);
        for _ in 0..case.rng.between(1, 2) {
            let mut input = case.over(names, true);
            if case.rng.chance(25) {
                case.divide(&mut input, names[names.len() - 1]);
            }
            case.inputs.push(input);
        }
        let result = case.over(names, false);
        let loads: Vec<String> = (0..case.inputs.len()).map(|n| case.load(n)).collect();
        let dtype = case.dtype();
        let text = case.text(dtype, &result, None, &loads.join(" - "));
        case.check(dtype, &text);
    }
}

/// Copies of elements of every size, by functions with and without `noalias`.
#[test]
fn copies() {
    let mut tiles = 0;
    for seed in seeds(CASES) {
        let (mut case, names) = Case::of_elements(seed);
        let input = case.over(names, true);
        case.inputs.push(input);
        let dtype = *case.rng.pick(&["float16", "int8", "uint16", "bool", "int64", "float32"]);
        let result = case.over(names, false);
        let mut text = case.text(dtype, &result, None, &case.load(0));
        if case.rng.chance(30) {
            text = text.replace("    T.func_attr({\"tirx.noalias\": True})\n", "");
        }
        let plan = plan_text(&function(&text), Options::new(&Target::avx512())).unwrap();
        tiles += usize::from(plan.contains("transpose: "));
        case.check(dtype, &text);
    }
    assert!(tiles > 0, "no stage goes through tiles");
}

/// Values with a different expression at each index of an axis, or at each index modulo a number.
#[test]
fn periodic_selects() {
    for seed in seeds(CASES) {
        let (mut case, names) = Case::of_elements(seed);
        let axis = names[case.rng.below(names.len() as u64) as usize];
        let count = case.rng.between(2, 9);
        let index = if case.rng.chance(60) { format!("v{axis} % {count}") } else { format!("v{axis}") };
        let mut value = String::new();
        for number in 0..count - 1 {
            let shuffled = case.rng.chance(20);
            let input = case.over(names, shuffled);
            case.inputs.push(input);
            let load = case.load(number as usize);
            value += &format!("T.if_then_else({index} == {number}, {load} - x0[{{at}}], ");
        }
        let at: Vec<&str> = case.inputs[0].iter().map(|(index, _)| index.as_str()).collect();
        value = value.replace("{at}", &at.join(", "));
        value += &format!("x0[{}]{}", at.join(", "), ")".repeat(count as usize - 1));
        let (dtype, result) = (case.dtype(), case.over(names, false));
        let text = case.text(dtype, &result, None, &value);
        case.check(dtype, &text);
    }
}

/// Narrow rows, with values that depend on the column alone, the row alone, or on positions.
#[test]
fn narrow_rows() {
    let mut collapsed = 0;
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        let names = &["a", "b", "c"][..case.rng.between(2, 3) as usize];
        names.iter().for_each(|name| case.axis(name, &SIZES, false));
        if let Some(last) = case.axes.last_mut() {
            (last.1, last.3) = (case.rng.between(1, 9), false);
        }
        case.shrink();
        let (row, column) = (names[names.len() - 2], names[names.len() - 1]);
        for own in [names, &[column], &[row], &[names[0]]] {
            let input = case.over(own, false);
            case.inputs.push(input);
        }
        let [all, by_column, by_row, by_first] = [0, 1, 2, 3].map(|n| case.load(n));
        let value = match case.rng.below(4) {
            0 => format!("{all} - {by_column}"),
            1 => format!("({all} - {by_row}) * {by_column}"),
            2 => format!("T.Select({all} < {by_column}, {by_row}, {by_first})"),
            _ => format!("T.Select(v{row} - v{column} == {}, {by_first}, {by_first} + {by_first})", seed % 3),
        };
        let result = case.over(names, false);
        let dtype = case.dtype();
        let text = case.text(dtype, &result, None, &value);
        let plan = plan_text(&function(&text), Options::new(&Target::avx512())).unwrap();
        collapsed += usize::from(plan.contains(&format!("v{row}_v{column} ")));
        case.check(dtype, &text);
    }
    assert!(collapsed > 0, "no axes are collapsed");
}

/// Reductions of the same data to a few results.
#[test]
fn shared_loads() {
    let mut unrolled = 0;
    for seed in seeds(CASES) {
        let mut case = Case::new(seed);
        case.axis("a", &[1, 2, 3, 4, 5], false);
        case.axis("k", &SIZES, true);
        case.shrink();
        for own in ["a", "k"] {
            let input = case.over(&[own], false);
            case.inputs.push(input);
        }
        let (a, k) = (case.load(0), case.load(1));
        let form = *case.rng.pick(&["T.max({y}, {a} * {k})", "T.min({y}, {k} - {a})", "{y} + ({k} + {a})"]);
        let value = form.replace("{a}", &a).replace("{k}", &k);
        let result = case.over(&["a"], false);
        let dtype = case.dtype();
        case.nan = form.starts_with("T.m") && case.rng.chance(60);
        let text = case.text(dtype, &result, Some("1"), &value);
        let plan = plan_text(&function(&text), Options::new(&Target::avx512())).unwrap();
        unrolled += usize::from(plan.contains("va unrolled, vk vector"));
        case.check(dtype, &text);
    }
    assert!(unrolled > 0, "no results share loads");
}
