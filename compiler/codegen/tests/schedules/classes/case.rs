//! A single-stage kernel as text, with input data.

use crate::support::{Kernel, check_kernel, function, plan_edits::check_plan_edits, rng::Rng, targets};
use hammock_ir::{DType, Tensor};
use hammock_kernels::Options;
use hammock_runtime::Any;

/// Sizes around vectors and tiles.
pub const SIZES: [i64; 18] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 64, 67, 130];
/// Maximum size of the iteration domain of a stage, so that the interpreter is fast enough.
const MAX_COMBINED: i64 = 60_000;

/// One stage: axes, and buffers over them.
pub struct Case {
    pub rng: Rng,
    /// Name and size; true if reduced; true if symbolic.
    pub axes: Vec<(String, i64, bool, bool)>,
    /// Inputs: expression and size of each index.
    pub inputs: Vec<Vec<(String, Size)>>,
    /// True if inputs contain NaN and infinities.
    pub nan: bool,
}

/// Range of an index.
#[derive(Clone)]
pub struct Size {
    pub text: String,
    pub value: i64,
}

impl Case {
    pub fn new(seed: u64) -> Case {
        Case { rng: Rng::new(seed), axes: Vec::new(), inputs: Vec::new(), nan: false }
    }

    /// Returns an elementwise case with two to four axes, and the names of the axes.
    pub fn of_elements(seed: u64) -> (Case, &'static [&'static str]) {
        let mut case = Case::new(seed);
        let names = &["a", "b", "c", "d"][..case.rng.between(2, 4) as usize];
        names.iter().for_each(|name| case.axis(name, &SIZES, false));
        case.shrink();
        (case, names)
    }

    pub fn axis(&mut self, name: &str, sizes: &[i64], reduce: bool) {
        let size = *self.rng.pick(sizes);
        let symbolic = self.rng.chance(25);
        self.axes.push((name.to_owned(), size, reduce, symbolic));
    }

    /// Limits the size of the domain, and avoids empty reductions, for which opaque blocks store nothing but planned
    /// kernels store the initial value.
    pub fn shrink(&mut self) {
        self.axes.iter_mut().filter(|axis| axis.2).for_each(|axis| axis.1 = axis.1.max(1));
        while self.axes.iter().map(|axis| axis.1.max(1)).product::<i64>() > MAX_COMBINED {
            let largest = self.axes.iter_mut().max_by_key(|axis| axis.1);
            largest.into_iter().for_each(|axis| axis.1 = axis.1 / 2 + 1);
        }
    }

    pub fn size(&self, name: &str) -> Size {
        let (name, value, _, symbolic) = self.axes.iter().find(|axis| axis.0 == name).unwrap();
        Size { text: if *symbolic { format!("n_{name}") } else { value.to_string() }, value: *value }
    }

    /// Returns the indices of named axes, optionally in random order.
    pub fn over(&mut self, names: &[&str], shuffled: bool) -> Vec<(String, Size)> {
        let mut left: Vec<&str> = names.to_vec();
        let mut indices = Vec::new();
        while !left.is_empty() {
            let at = if shuffled { self.rng.below(left.len() as u64) as usize } else { 0 };
            let name = left.remove(at);
            indices.push((format!("v{name}"), self.size(name)));
        }
        indices
    }

    /// Changes an input to a blocked layout along an axis.
    pub fn divide(&mut self, input: &mut Vec<(String, Size)>, name: &str) {
        self.axes.iter_mut().filter(|axis| axis.0 == name).for_each(|axis| axis.3 = false);
        // Also in the previous inputs.
        let size = self.size(name);
        let known = self.inputs.iter_mut().flatten().filter(|(index, _)| *index == format!("v{name}"));
        known.for_each(|(_, known)| known.clone_from(&size));
        let block = *self.rng.pick(&[4, 16, 32, 48, 64]);
        let value = (self.size(name).value + block - 1) / block;
        input.retain(|(index, _)| *index != format!("v{name}"));
        input.insert(0, (format!("v{name} // {block}"), Size { text: value.to_string(), value }));
        input.push((format!("v{name} % {block}"), Size { text: block.to_string(), value: block }));
    }

    pub fn load(&self, number: usize) -> String {
        let indices: Vec<&str> = self.inputs[number].iter().map(|(index, _)| index.as_str()).collect();
        format!("x{number}[{}]", indices.join(", "))
    }

    /// Returns the function for the indices of the result, its initial value, and its value, in which `{y}` is the
    /// result.
    pub fn text(&self, dtype: &str, result: &[(String, Size)], init: Option<&str>, value: &str) -> String {
        let shape = |indices: &[(String, Size)]| {
            let sizes: Vec<String> = indices.iter().map(|(_, size)| size.text.clone()).collect();
            format!("({},)", sizes.join(", "))
        };
        let buffers: Vec<(String, String)> =
            self.inputs.iter().enumerate().map(|(n, i)| (format!("x{n}"), shape(i))).collect();
        let buffers = [buffers, vec![("y".to_owned(), shape(result))]].concat();
        let handles: Vec<String> = buffers.iter().map(|(name, _)| format!("{name}_: T.handle")).collect();
        let symbols = self.axes.iter().filter(|axis| axis.3).map(|axis| format!("    n_{} = T.int64()\n", axis.0));
        let bound =
            buffers.iter().map(|(name, shape)| format!("    {name} = T.match_buffer({name}_, {shape}, \"{dtype}\")\n"));
        let head =
            format!("# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef f({}):\n", handles.join(", "));
        let list =
            |f: &dyn Fn(&(String, i64, bool, bool)) -> String| self.axes.iter().map(f).collect::<Vec<_>>().join(", ");
        let sizes = list(&|axis| self.size(&axis.0).text);
        let mut lines = vec!["    T.func_attr({\"tirx.noalias\": True})".to_owned()];
        let grid = if self.axes.len() == 1 { format!("range({sizes})") } else { format!("T.grid({sizes})") };
        lines.push(format!("    for {} in {grid}:", list(&|axis| axis.0.clone())));
        lines.push("        with T.sblock(\"stage\"):".to_owned());
        for axis in &self.axes {
            let (name, kind) = (&axis.0, if axis.2 { "reduce" } else { "spatial" });
            lines.push(format!("            v{name} = T.axis.{kind}({}, {name})", self.size(name).text));
        }
        let indices: Vec<&str> = result.iter().map(|(index, _)| index.as_str()).collect();
        let y = format!("y[{}]", indices.join(", "));
        if let Some(init) = init {
            lines.push(format!("            with T.init():\n                {y} = T.{dtype}({init})"));
        }
        lines.push(format!("            {y} = {}\n", value.replace("{y}", &y)));
        [head, symbols.collect(), bound.collect(), lines.join("\n")].concat()
    }

    /// Compares the function at every vector width, also with edited plans; returns the number of these.
    pub fn check(mut self, dtype: &str, text: &str) -> usize {
        let mut near = 0;
        let func = function(text);
        let inputs: Vec<Any> = (0..self.inputs.len()).map(|n| self.numbers(n, dtype)).collect();
        for target in targets() {
            let width = target.vector_bytes;
            let strict_order = self.rng.chance(20);
            println!("vectors of {width} bytes, strict order: {strict_order}\n{text}");
            let options = Options { strict_order, ..Options::new(&target) };
            check_kernel(&Kernel::planned(&func, options), &inputs);
            near += check_plan_edits(&func, options, &inputs, &mut self.rng);
        }
        near
    }

    pub fn numbers(&mut self, input: usize, dtype: &str) -> Any {
        let shape: Vec<i64> = self.inputs[input].iter().map(|(_, size)| size.value).collect();
        let count = shape.iter().product::<i64>();
        let values: Vec<i64> = (0..count).map(|_| self.rng.between(-3, 3)).collect();
        let tensor = match dtype {
            "int32" => Tensor::from_slice(&shape, &values.iter().map(|v| *v as i32).collect::<Vec<_>>()),
            "float64" => Tensor::from_slice(&shape, &values.iter().map(|v| self.float(*v)).collect::<Vec<_>>()),
            "bool" => Tensor::from_slice(&shape, &values.iter().map(|v| *v > 0).collect::<Vec<_>>()),
            "float16" | "int8" | "uint16" | "int64" => {
                let dtype: DType = dtype.parse().unwrap();
                // Distinct numbers other than NaN.
                let bytes = (0..count).flat_map(|n| (n * 7919 % 30_011).to_le_bytes()[..dtype.bytes()].to_vec());
                Tensor::from_bytes(dtype, &shape, &bytes.collect::<Vec<u8>>())
            }
            _ => Tensor::from_slice(&shape, &values.iter().map(|v| self.float(*v) as f32).collect::<Vec<_>>()),
        };
        tensor.unwrap().into()
    }

    fn float(&mut self, value: i64) -> f64 {
        match self.nan && self.rng.chance(10) {
            true => *self.rng.pick(&[f64::NAN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
            false => value as f64,
        }
    }

    pub fn dtype(&mut self) -> &'static str {
        ["float32", "float32", "float64", "int32"][self.rng.below(4) as usize]
    }
}
