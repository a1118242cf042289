//! Sliding windows over padded data, of float32 and of narrow floats, at every vector width, compared with the
//! reference interpreter. Values are small integers, so that sums are exact in any order.

use crate::support::{Kernel, check_kernel, floats, function, rng::Rng, targets};
use hammock_ir::Tensor;
use hammock_kernels::{Options, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;
use std::fmt::Write;

/// Sizes of results and channels: less than a tile, full tiles, and one more or less.
const SIZES: [i64; 7] = [1, 3, 4, 7, 8, 13, 29];
const CHANNELS: [i64; 5] = [1, 5, 16, 33, 70];

struct Window {
    /// The dtype of data and weights; results are float32.
    dtype: &'static str,
    /// Rows and columns of results.
    size: [i64; 2],
    /// True if the size is symbolic.
    symbolic: [bool; 2],
    channels: i64,
    taps: [i64; 2],
    step: i64,
    dilation: i64,
    before: i64,
    /// Additional rows and columns of data.
    more: i64,
    sums: bool,
    channels_last: bool,
}

impl Window {
    fn random(rng: &mut Rng) -> Window {
        let taps = [rng.between(1, 5), rng.between(1, 5)];
        let dilation = rng.between(1, 2);
        Window {
            dtype: rng.pick::<&str>(&["float32", "float16", "bfloat16"]),
            size: [*rng.pick(&SIZES), *rng.pick(&SIZES)],
            symbolic: [rng.chance(20), rng.chance(20)],
            channels: *rng.pick(&CHANNELS),
            taps,
            step: rng.between(1, 3),
            dilation,
            // Some windows contain only padding.
            before: rng.between(0, 9),
            more: rng.between(0, 5),
            sums: rng.chance(70),
            channels_last: rng.chance(70),
        }
    }

    fn text(&self) -> String {
        let size = |dim: usize| if self.symbolic[dim] { format!("n{dim}") } else { self.size[dim].to_string() };
        let [rows, columns] = [size(0), size(1)];
        let data = |results: &str| format!("({results} * {} + {})", self.step, self.more);
        let [height, width] = [data(&rows), data(&columns)];
        let order = |row: &str, column: &str, channel: &str| match self.channels_last {
            true => format!("{row}, {column}, {channel}"),
            false => format!("{channel}, {row}, {column}"),
        };
        let channels = self.channels.to_string();
        let at = |v: &str, tap: &str| format!("{v} * {} + {tap} * {} - {}", self.step, self.dilation, self.before);
        let (row, column) = (at("vi", "vr"), at("vj", "vs"));
        let other = if self.sums { 0 } else { -1 };
        let dtype = self.dtype;
        let wide = |value: String| if dtype == "float32" { value } else { format!("T.Cast(\"float32\", {value})") };
        let load = wide(format!(
            "T.if_then_else(0 <= {row} and {row} < {height} and 0 <= {column} and {column} < {width}, x[{}], T.{dtype}({other}))",
            order(&row, &column, "vc")
        ));
        let result = format!("y[{}]", order("vi", "vj", "vc"));
        let value = match self.sums {
            true => format!("{result} + {load} * {}", wide("w[vr, vs, vc]".to_owned())),
            false => format!("T.max({result}, {load})"),
        };
        let [tap_rows, tap_columns] = self.taps;
        let mut text = "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef f(x_: T.handle, w_: T.handle, n_: T.handle, y_: T.handle):\n".to_owned();
        text += "    T.func_attr({\"tirx.noalias\": True})\n";
        (0..2).filter(|dim| self.symbolic[*dim]).for_each(|dim| writeln!(text, "    n{dim} = T.int64()").unwrap());
        writeln!(text, "    x = T.match_buffer(x_, ({}), \"{dtype}\")", order(&height, &width, &channels)).unwrap();
        writeln!(text, "    w = T.match_buffer(w_, ({tap_rows}, {tap_columns}, {channels}), \"{dtype}\")").unwrap();
        // Its shape gives the numbers of results.
        writeln!(text, "    n = T.match_buffer(n_, ({rows}, {columns}), \"int8\")").unwrap();
        writeln!(text, "    y = T.match_buffer(y_, ({}))", order(&rows, &columns, &channels)).unwrap();
        let (loops, axes) = match self.channels_last {
            true => ("i, j, c", ["vi", "vj", "vc"]),
            false => ("c, i, j", ["vc", "vi", "vj"]),
        };
        let extents = order(&rows, &columns, &channels);
        writeln!(text, "    for {loops}, r, s in T.grid({extents}, {tap_rows}, {tap_columns}):").unwrap();
        writeln!(text, "        with T.sblock(\"window\"):").unwrap();
        writeln!(text, "            {}, vr, vs = T.axis.remap(\"SSSRR\", [{loops}, r, s])", axes.join(", ")).unwrap();
        writeln!(
            text,
            "            with T.init():\n                {result} = T.float32({})",
            if self.sums { 0 } else { -9 }
        )
        .unwrap();
        writeln!(text, "            {result} = {value}").unwrap();
        text
    }

    fn inputs(&self, rng: &mut Rng) -> [Any; 3] {
        let [height, width] = self.size.map(|results| results * self.step + self.more);
        let shape = match self.channels_last {
            true => [height, width, self.channels],
            false => [self.channels, height, width],
        };
        let numbers = |shape: [i64; 3]| {
            let count = shape.iter().product::<i64>();
            floats(self.dtype, &shape, (0..count).map(|_| rng.between(-9, 9)))
        };
        let [x, w] = [shape, [self.taps[0], self.taps[1], self.channels]].map(numbers);
        let n = vec![0i8; (self.size[0] * self.size[1]) as usize];
        [x, w, Tensor::from_slice(&self.size, &n).unwrap().into()]
    }
}

#[test]
fn padded_windows() {
    let mut rng = Rng::new(3);
    for _ in 0..24 {
        let window = Window::random(&mut rng);
        let func = function(&window.text());
        let inputs = window.inputs(&mut rng);
        for target in targets() {
            println!("vectors of {} bytes\n{}", target.vector_bytes, window.text());
            check_kernel(&Kernel::planned(&func, Options::new(&target)), &inputs);
        }
    }
}

/// Narrow data that is upcast has the same loops as float32.
#[test]
fn narrow_windows_have_the_loops_of_wide_ones() {
    let loops = |dtype| {
        let window = Window {
            size: [14, 14],
            symbolic: [false; 2],
            channels: 16,
            taps: [3, 3],
            step: 1,
            dilation: 1,
            before: 1,
            more: 0,
            sums: true,
            channels_last: false,
            dtype,
        };
        let plan = plan_text(&function(&window.text()), Options::new(&Target::avx512())).unwrap();
        plan.lines().find(|line| line.starts_with("outer-product:")).unwrap_or(&plan).to_owned()
    };
    let wide = loops("float32");
    assert!(wide.contains("vi by 4") && wide.contains("vr unrolled"), "{wide}");
    assert_eq!(wide, loops("float16"));
    assert_eq!(wide, loops("bfloat16"));
}
