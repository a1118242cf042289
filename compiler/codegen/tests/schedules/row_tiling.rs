//! Row tiling, compared with the reference interpreter: random chains of elementwise operations, reductions and matmuls
//! over rows, whose intermediates have any axis order, are used several times, or are results themselves.

use crate::support::{check, function, plan_edits::check_plan_edits, rng::Rng};
use hammock_ir::{Function, Tensor, print};
use hammock_kernels::{Options, lower};
use hammock_target::Target;
use std::fmt::Write;

/// A buffer of a chain: the rows' axes in some order, then perhaps one more.
#[derive(Clone)]
struct Value {
    name: String,
    /// Positions of the rows' axes in its shape.
    order: Vec<usize>,
    /// The size of the last axis; `None` for a value of each row.
    width: Option<i64>,
    /// True if its values are small enough for exact arithmetic.
    small: bool,
}

struct Chain {
    rng: Rng,
    sizes: Vec<i64>,
    /// Sizes of the row axes in the text: numbers, or variables.
    names: Vec<String>,
    values: Vec<Value>,
    /// Names and shapes.
    params: Vec<(String, String)>,
    inputs: Vec<Vec<i64>>,
    body: String,
}

impl Chain {
    fn new(seed: u64) -> Chain {
        let mut rng = Rng::new(seed);
        let rank = rng.between(1, 3);
        let sizes: Vec<i64> = (0..rank).map(|_| *rng.pick(&[1, 2, 3, 7, 8, 9, 16, 19])).collect();
        let symbolic = rng.chance(40);
        let name = |(at, size): (usize, &i64)| if symbolic { format!("n{at}") } else { size.to_string() };
        let names = sizes.iter().enumerate().map(name).collect();
        let (values, params, inputs) = Default::default();
        let mut chain = Chain { rng, sizes, names, values, params, inputs, body: String::new() };
        let width = *chain.rng.pick(&[1, 3, 16, 33]);
        let input = chain.value(Some(width), true);
        chain.input(&input);
        chain.values.push(input);
        chain
    }

    fn value(&mut self, width: Option<i64>, small: bool) -> Value {
        let mut order: Vec<usize> = (0..self.sizes.len()).collect();
        if self.rng.chance(30) {
            order.reverse();
        }
        Value { name: format!("b{}", self.values.len()), order, width, small }
    }

    fn shape(&self, value: &Value) -> String {
        let rows = value.order.iter().map(|axis| self.names[*axis].clone());
        let sizes: Vec<String> = rows.chain(value.width.map(|w| w.to_string())).collect();
        format!("({},)", sizes.join(", "))
    }

    fn input(&mut self, value: &Value) {
        let rows = value.order.iter().map(|axis| self.sizes[*axis]);
        self.inputs.push(rows.chain(value.width).collect());
        self.params.push((value.name.clone(), self.shape(value)));
    }

    fn at(&self, value: &Value, last: &str) -> String {
        let rows = value.order.iter().map(|axis| format!("v{axis}"));
        let indices: Vec<String> = rows.chain(value.width.map(|_| last.to_owned())).collect();
        format!("{}[{}]", value.name, indices.join(", "))
    }

    fn pick(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let found: Vec<Value> = self.values.iter().filter(|value| fits(value)).cloned().collect();
        // Prefer the last value, so that chains are long.
        match self.rng.chance(60) {
            true => found.last().cloned(),
            false => (!found.is_empty()).then(|| self.rng.pick(&found).clone()),
        }
    }

    /// Writes a block over the rows and other axes.
    fn block(&mut self, others: &[(&str, char, i64)], init: Option<String>, store: &str) {
        let rows = self.names.iter().enumerate().map(|(at, size)| (format!("v{at}"), 'S', size.clone()));
        let others = others.iter().map(|(name, kind, size)| (name.to_string(), *kind, size.to_string()));
        let axes: Vec<(String, char, String)> = rows.chain(others).collect();
        let list = |f: &dyn Fn(usize) -> String| (0..axes.len()).map(f).collect::<Vec<_>>().join(", ");
        let (loops, sizes, vars) =
            (list(&|n| format!("i{n}")), list(&|n| axes[n].2.clone()), list(&|n| axes[n].0.clone()));
        let kinds: String = axes.iter().map(|axis| axis.1).collect();
        let grid = if axes.len() == 1 { format!("range({sizes})") } else { format!("T.grid({sizes})") };
        let number = self.values.len();
        writeln!(self.body, "    for {loops} in {grid}:").unwrap();
        writeln!(self.body, "        with T.sblock(\"s{number}\"):").unwrap();
        match axes.len() {
            1 => writeln!(
                self.body,
                "            {vars} = T.axis.{}({sizes}, {loops})",
                if kinds == "S" { "spatial" } else { "reduce" }
            ),
            _ => writeln!(self.body, "            {vars} = T.axis.remap(\"{kinds}\", [{loops}])"),
        }
        .unwrap();
        if let Some(init) = init {
            writeln!(self.body, "            with T.init():\n                {init}").unwrap();
        }
        writeln!(self.body, "            {store}").unwrap();
    }

    fn map(&mut self) {
        let Some(from) = self.pick(|_| true) else { return };
        let width = from.width;
        let other = self.pick(|value| value.width.is_none() || value.width == width);
        let to = self.value(width, true);
        let (x, y) = (self.at(&from, "j"), other.map_or("T.float32(2)".to_owned(), |other| self.at(&other, "j")));
        let op = *self.rng.pick(&["+", "-"]);
        let store = format!("{} = T.max(T.min({x} {op} {y}, T.float32(4)), T.float32(-4))", self.at(&to, "j"));
        let axes: Vec<(&str, char, i64)> = width.iter().map(|width| ("j", 'S', *width)).collect();
        self.block(&axes, None, &store);
        self.values.push(to);
    }

    fn reduce(&mut self) {
        let Some(from) = self.pick(|value| value.width.is_some()) else { return };
        let to = self.value(None, false);
        let (x, y) = (self.at(&from, "k"), self.at(&to, ""));
        let (zero, store) = match self.rng.chance(50) {
            true => ("T.float32(0)", format!("{y} = {y} + {x}")),
            false => ("T.float32(-1000)", format!("{y} = T.max({y}, {x})")),
        };
        self.block(&[("k", 'R', from.width.unwrap_or(1))], Some(format!("{y} = {zero}")), &store);
        self.values.push(to);
    }

    fn product(&mut self) {
        let Some(from) = self.pick(|value| value.width.is_some() && value.small) else { return };
        let (width, inner) = (*self.rng.pick(&[1, 5, 16, 40]), from.width.unwrap_or(1));
        let weight = format!("w{}", self.values.len());
        // Contiguous, or along the other axis, which makes packing worthwhile.
        let across = self.rng.chance(40);
        let ([rows, columns], at) = if across { ([width, inner], "j, k") } else { ([inner, width], "k, j") };
        self.params.push((weight.clone(), format!("({rows}, {columns})")));
        self.inputs.push(vec![rows, columns]);
        let to = self.value(Some(width), false);
        let (x, y) = (self.at(&from, "k"), self.at(&to, "j"));
        let store = format!("{y} = {y} + {x} * {weight}[{at}]");
        self.block(&[("j", 'S', width), ("k", 'R', inner)], Some(format!("{y} = T.float32(0)")), &store);
        self.values.push(to);
    }

    fn text(mut self) -> (String, Vec<Vec<i64>>) {
        for _ in 0..self.rng.between(2, 7) {
            match self.rng.below(10) {
                0..4 => self.map(),
                4..8 => self.reduce(),
                _ => self.product(),
            }
        }
        let last = self.values.len() - 1;
        let (mut results, mut room) = (Vec::new(), String::new());
        for (at, value) in self.values.clone().iter().enumerate().skip(1) {
            let shape = self.shape(value);
            match at == last || self.rng.chance(15) {
                true => results.push((value.name.clone(), shape)),
                false => writeln!(room, "    {} = T.sblock_alloc_buffer({shape})", value.name).unwrap(),
            }
        }
        let symbols = self.names.iter().filter(|name| name.starts_with('n'));
        let symbols: String = symbols.map(|name| format!("    {name} = T.int64()\n")).collect();
        let params: Vec<&(String, String)> = self.params.iter().chain(&results).collect();
        let handles: Vec<String> = params.iter().map(|(name, _)| format!("{name}_: T.handle")).collect();
        let bound: String =
            params.iter().map(|(name, shape)| format!("    {name} = T.match_buffer({name}_, {shape})\n")).collect();
        let head =
            format!("# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef f({}):\n", handles.join(", "));
        let attrs = "    T.func_attr({\"tirx.noalias\": True})\n";
        let text = [&head, attrs, &symbols, &bound, &room, &self.body].concat();
        (text, self.inputs)
    }
}

#[test]
fn row_tiled_chains_match_the_interpreter() {
    let (from, count) = (std::env::var("ROWS_FROM"), std::env::var("ROWS"));
    let number = |text: Result<String, _>, default| text.map_or(default, |text: String| text.parse().unwrap());
    let (from, count) = (number(from, 0), number(count, 16));
    for seed in from..from + count {
        let (text, shapes) = Chain::new(seed).text();
        let mut rng = Rng::new(seed);
        let tensor = |shape: &Vec<i64>| {
            let values: Vec<f32> = (0..shape.iter().product::<i64>()).map(|_| rng.between(-3, 3) as f32).collect();
            Tensor::from_slice(shape, &values).unwrap().into()
        };
        let inputs: Vec<_> = shapes.iter().map(tensor).collect();
        println!("chain {seed}\n{text}");
        let func = function(&text);
        check(&func, &inputs);
        check_plan_edits(&func, Options::new(&Target::host()), &inputs, &mut rng);
    }
}

/// Sizes of 32 bits, as users write them, are planned as well.
#[test]
fn narrow_sizes_do_not_prevent_planning() {
    let [wide, narrow] = [|n: i64| format!("T.int64({n})"), |n: i64| n.to_string()].map(|size| {
        let shape = format!("({}, {})", size(24), size(40));
        let text = format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(a: T.Buffer({shape}, \"float32\"), b: T.Buffer({shape}, \"float32\")):
    for i, j in T.grid{shape}:
        with T.sblock(\"twice\"):
            v, w = T.axis.remap(\"SS\", [i, j])
            b[v, w] = a[v, w] + a[v, w]
"
        );
        let flat = lower(&function(&text), &Target::avx512()).unwrap();
        print::function_text(&"f".into(), &Function::Tir(flat.func))
    });
    assert!(narrow.contains("Ramp"), "{narrow}");
    assert_eq!(narrow, wide);
}

/// Rows that are selected by an index buffer are loaded as vectors, not gathered.
#[test]
fn indexed_rows_are_loaded_as_vectors() {
    let text = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(a: T.Buffer((100, 64), \"float32\"), at: T.Buffer((7,), \"int64\"), b: T.Buffer((7, 64), \"float32\")):
    T.func_attr({\"tirx.noalias\": True})
    for i, j in T.grid(7, 64):
        with T.sblock(\"rows\"):
            v, w = T.axis.remap(\"SS\", [i, j])
            b[v, w] = a[T.max(T.min(T.Select(at[v] < T.int64(0), at[v] + T.int64(100), at[v]), T.int64(99)), T.int64(0)), w]
";
    let flat = lower(&function(text), &Target::avx512()).unwrap();
    let printed = print::function_text(&"f".into(), &Function::Tir(flat.func));
    assert!(printed.contains("Ramp") && !printed.contains("Broadcast"), "{printed}");
}
