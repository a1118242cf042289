//! Transposed convolutions as convolutions over zero-inserted data, compared with the reference interpreter: random
//! strides, dilations, windows and paddings, with and without an epilogue. Values are small integers, so that sums are
//! exact in any order. Also tests their final interleaved stores.

use crate::support::{Kernel, check, check_kernel, function, plan_edits::check_plan_edits, rng::Rng, seeds, targets};
use hammock_ir::{Function, Tensor, print};
use hammock_kernels::{Options, lower, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;

/// Geometry of a spatial axis.
struct Axis {
    name: char,
    size: i64,
    symbolic: bool,
    kernel: i64,
    stride: i64,
    dilation: i64,
    before: i64,
    /// Output padding: results beyond the data at the end, possibly negative.
    extra: i64,
}

impl Axis {
    fn new(name: char, sizes: &[i64], rng: &mut Rng) -> Axis {
        let (kernel, dilation, size) = (rng.between(1, 6), *rng.pick(&[1, 1, 1, 2, 3]), *rng.pick(sizes));
        let (stride, reach) = (rng.between(1, 5), (kernel - 1) * dilation);
        let most = (size - 1) * stride + reach;
        let before = rng.between(0, reach.min(most) + 1);
        let extra = rng.between(-(most - before).clamp(0, 3), stride);
        Axis { name, size, symbolic: rng.chance(20), kernel, stride, dilation, before, extra }
    }

    fn reach(&self) -> i64 {
        (self.kernel - 1) * self.dilation
    }

    /// Returns `times * size + more`.
    fn sum(&self, times: i64, more: i64) -> String {
        match self.symbolic {
            true if (times, more) == (1, 0) => format!("n_{}", self.name),
            true => format!("n_{} * {times} + {more}", self.name),
            false => (self.size * times + more).to_string(),
        }
    }

    fn results(&self) -> (i64, i64) {
        (self.stride, 1 - self.stride + self.reach() - self.before + self.extra)
    }

    fn result(&self) -> String {
        self.sum(self.results().0, self.results().1)
    }
}

/// Writes the channel and spatial components of an index or shape in the order of a buffer's dimensions.
type Dims<'a> = dyn Fn(&str, &dyn Fn(&Axis) -> String) -> String + 'a;

/// A kernel with its input shapes.
struct Case {
    text: String,
    shapes: Vec<Vec<i64>>,
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

impl Case {
    fn new(rng: &mut Rng) -> Case {
        // Two axes are small, so that the interpreter is fast enough.
        let axes: Vec<Axis> = match rng.chance(60) {
            true => "hw".chars().map(|name| Axis::new(name, &[1, 2, 3, 6], rng)).collect(),
            false => vec![Axis::new('w', &[1, 7, 16, 35], rng)],
        };
        let (inputs, outputs, last) = (*rng.pick(&[1, 2, 4]), *rng.pick(&[1, 3, 8, 17]), rng.chance(50));
        // Channels first or last, in all buffers.
        let dims = |channel: &str, place: &dyn Fn(&Axis) -> String| {
            let own = list(axes.iter().map(place));
            if last { format!("{own}, {channel}") } else { format!("{channel}, {own}") }
        };
        let result = dims(&outputs.to_string(), &Axis::result);
        let spread = dims(&inputs.to_string(), &|a| a.sum(a.results().0, a.results().1 + a.reach()));
        let data = dims(&inputs.to_string(), &|a| a.sum(1, 0));
        let kernel = format!("{inputs}, {}, {outputs}", list(axes.iter().map(|a| a.kernel.to_string())));
        let symbols: String =
            axes.iter().filter(|a| a.symbolic).map(|a| format!("    n_{} = T.int64()\n", a.name)).collect();
        let names = list(axes.iter().map(|a| a.name.to_string()));
        let terms = list(axes.iter().map(|a| format!("k{}", a.name)));
        let vars = |list: &str| list.split(", ").map(|name| format!("v{name}")).collect::<Vec<_>>().join(", ");
        let kinds = |spatial: usize, reduce: usize| "S".repeat(spatial) + &"R".repeat(reduce);
        let rank = axes.len();
        let taken = dims("vc", &|a| format!("v{0} + vk{0} * {1}", a.name, a.dilation));
        let tap = list(axes.iter().map(|a| format!("{} - vk{}", a.kernel - 1, a.name)));
        let at = dims("vo", &|a| format!("v{}", a.name));
        let (sum, after) = match rng.below(3) {
            0 => ("y", String::new()),
            choice => {
                let value = if choice == 1 { "T.max(total[{at}], T.float32(0))" } else { "total[{at}] + x2[{at}]" };
                let value = value.replace("{at}", &at);
                let head =
                    format!("    for o, {names} in T.grid({outputs}, {}):\n", list(axes.iter().map(Axis::result)));
                let axes = format!(
                    "            vo, {} = T.axis.remap(\"{}\", [o, {names}])\n",
                    vars(&names),
                    kinds(rank + 1, 0)
                );
                ("total", format!("{head}        with T.sblock(\"after\"):\n{axes}            y[{at}] = {value}\n"))
            }
        };
        let total =
            if sum == "total" { format!("    total = T.sblock_alloc_buffer(({result},))\n") } else { String::new() };
        let (room, filled) = filled(&axes, &dims, inputs, rng.chance(50));
        let text = format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x0_: T.handle, x1_: T.handle, x2_: T.handle, y_: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
{symbols}    x0 = T.match_buffer(x0_, ({data},))
    x1 = T.match_buffer(x1_, ({kernel},))
    x2 = T.match_buffer(x2_, ({result},))
    y = T.match_buffer(y_, ({result},))
{total}    spread = T.sblock_alloc_buffer(({spread},))
{room}{filled}    for o, {names}, c, {terms} in T.grid({outputs}, {}, {inputs}, {}):
        with T.sblock(\"sum\"):
            vo, {}, vc, {} = T.axis.remap(\"{}\", [o, {names}, c, {terms}])
            with T.init():
                {sum}[{at}] = T.float32(0)
            {sum}[{at}] = {sum}[{at}] + spread[{taken}] * x1[vc, {tap}, vo]
{after}",
            list(axes.iter().map(Axis::result)),
            list(axes.iter().map(|a| a.kernel.to_string())),
            vars(&names),
            vars(&terms),
            kinds(rank + 1, rank + 1),
        );
        let shape = |channels: i64, size: &dyn Fn(&Axis) -> i64| {
            let mut shape: Vec<i64> = axes.iter().map(size).collect();
            shape.insert(if last { shape.len() } else { 0 }, channels);
            shape
        };
        let kernel = [vec![inputs], axes.iter().map(|a| a.kernel).collect(), vec![outputs]].concat();
        let results = |a: &Axis| a.size * a.results().0 + a.results().1;
        Case { text, shapes: vec![shape(inputs, &|a| a.size), kernel, shape(outputs, &results)] }
    }
}

/// Returns the stages that insert zeros and pad, in one step or in two, and the buffer between them.
fn filled(axes: &[Axis], dims: &Dims, inputs: i64, twice: bool) -> (String, String) {
    let names = list(axes.iter().map(|a| a.name.to_string()));
    let vars = list(axes.iter().map(|a| format!("v{}", a.name)));
    let stage = |to: &str, sizes: String, conditions: Vec<String>, value: String| {
        let kinds = "S".repeat(axes.len() + 1);
        let at = dims("vc", &|a| format!("v{}", a.name));
        format!(
            "    for c, {names} in T.grid({inputs}, {sizes}):
        with T.sblock(\"{to}\"):
            vc, {vars} = T.axis.remap(\"{kinds}\", [c, {names}])
            {to}[{at}] = T.if_then_else({}, {value}, T.float32(0))\n",
            conditions.join(" and "),
        )
    };
    // Offset of the first element.
    let begin = |a: &Axis| a.reach() - a.before;
    let spread = |a: &Axis| a.sum(a.results().0, a.results().1 + a.reach());
    let moved = |a: &Axis| format!("v{} - {}", a.name, begin(a)).replace("- -", "+ ");
    if twice {
        let between = |a: &Axis| a.sum(a.stride, 1 - a.stride);
        let value = dims("vc", &|a| format!("v{} // {}", a.name, a.stride));
        let apart = axes.iter().map(|a| format!("v{} % {} == 0", a.name, a.stride)).collect();
        let first = stage("apart", list(axes.iter().map(between)), apart, format!("x0[{value}]"));
        let inside = axes.iter().flat_map(|a| [format!("0 <= {}", moved(a)), format!("{} < {}", moved(a), between(a))]);
        let value = format!("apart[{}]", dims("vc", &moved));
        let second = stage("spread", list(axes.iter().map(spread)), inside.collect(), value);
        return (
            format!("    apart = T.sblock_alloc_buffer(({},))\n", dims(&inputs.to_string(), &between)),
            first + &second,
        );
    }
    let conditions = axes.iter().flat_map(|a| {
        let at = moved(a);
        [
            format!("{at} >= 0"),
            format!("({at}) // {} < {}", a.stride, a.sum(1, 0)),
            format!("({at}) % {} == 0", a.stride),
        ]
    });
    let value = format!("x0[{}]", dims("vc", &|a| format!("({}) // {}", moved(a), a.stride)));
    (String::new(), stage("spread", list(axes.iter().map(spread)), conditions.collect(), value))
}

fn numbers(shape: &[i64], rng: &mut Rng) -> Any {
    let values: Vec<f32> = (0..shape.iter().product::<i64>()).map(|_| rng.between(-3, 3) as f32).collect();
    Tensor::from_slice(shape, &values).unwrap().into()
}

#[test]
fn transposed_convolutions_match_the_interpreter() {
    let mut closed = 0;
    for seed in seeds(7) {
        let mut rng = Rng::new(seed);
        let Case { text, shapes } = Case::new(&mut rng);
        let inputs: Vec<Any> = shapes.iter().map(|shape| numbers(shape, &mut rng)).collect();
        let func = function(&text);
        for target in targets() {
            let strict_order = rng.chance(30);
            println!("case {seed}, vectors of {} bytes, strict order: {strict_order}\n{text}", target.vector_bytes);
            let options = Options { strict_order, ..Options::new(&target) };
            check_kernel(&Kernel::planned(&func, options), &inputs);
            check_plan_edits(&func, options, &inputs, &mut rng);
            closed += usize::from(plan_text(&func, options).unwrap().contains("_interleaved"));
        }
    }
    assert!(closed > 0, "zeros are left out");
}

#[test]
fn interleaved_rows_are_shuffled() {
    for (turns, width) in [(2, 64), (3, 33), (4, 70), (5, 20), (2, 3), (2, 37)] {
        let rows = (width + turns - 1) / turns;
        let text = format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.Buffer((3, {turns}, {rows}), \"float32\"), y: T.Buffer((3, {width}), \"float32\")):
    T.func_attr({{\"tirx.noalias\": True}})
    for i, j in T.grid(3, {width}):
        with T.sblock(\"by_turns\"):
            v, w = T.axis.remap(\"SS\", [i, j])
            y[v, w] = x[v, w % {turns}, w // {turns}]
"
        );
        let func = function(&text);
        check(&func, &[numbers(&[3, turns, rows], &mut Rng::new(width as u64))]);
        let flat = lower(&func, &Target::avx512()).unwrap();
        let printed = print::function_text(&"f".into(), &Function::Tir(flat.func));
        assert!(printed.contains("Shuffle") || width < 2 * turns, "{printed}");
    }
}
