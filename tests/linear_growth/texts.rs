//! Text modules of a given size.

/// A module of functions.
fn module(functions: &str) -> String {
    format!("from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n{functions}")
}

/// A module of one function with a dataflow block.
fn main_of(params: &str, bindings: &[String], result: &str) -> String {
    let bindings: String = bindings.iter().map(|binding| format!("            {binding}\n")).collect();
    module(&format!(
        "    @R.function\n    def main({params}):\n        with R.dataflow():\n{bindings}            R.output({result})\n        \
         return {result}\n"
    ))
}

fn joined(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(", ")
}

/// A tensor split into rows.
pub fn split(count: usize) -> String {
    let split = format!("y = R.split(x, {count}, axis=0)");
    main_of(&format!("x: R.Tensor(({count}, 4), \"float32\")"), &[split], "y")
}

/// Concatenation of many inputs: 64 more than `count`, so all sizes use the lowering for many.
pub fn concat(count: usize) -> String {
    let params = joined(count + 64, |i| format!("x{i}: R.Tensor((4,), \"float32\")"));
    let concat = format!("y = R.concat(({}), axis=0)", joined(count + 64, |i| format!("x{i}")));
    main_of(&params, &[concat], "y")
}

/// Matmuls of one input.
pub fn matmuls(count: usize) -> String {
    let weights = joined(count, |i| format!("w{i}: R.Tensor((8, 8), \"float32\")"));
    let mut bindings: Vec<String> = (0..count).map(|i| format!("v{i} = R.matmul(x, w{i})")).collect();
    bindings.push(format!("y = ({},)", joined(count, |i| format!("v{i}"))));
    main_of(&format!("x: R.Tensor((2, 8), \"float32\"), {weights}"), &bindings, "y")
}

/// Stores of constants in one kernel.
pub fn stores(count: usize) -> String {
    let stores: String = (0..count).map(|i| format!("        A[{i}] = T.float32({i})\n")).collect();
    module(&format!("    @T.prim_func\n    def f(A: T.Buffer(({count},), \"float32\")):\n{stores}"))
}

/// Private functions, each calling the previous one.
pub fn chained_functions(count: usize) -> String {
    let ty = "R.Tensor((4,), \"float32\")";
    let function = |i: usize| {
        let y = if i == 0 { "x".to_owned() } else { format!("Module.f{}(x)", i - 1) };
        format!(
            "    @R.function(private=True)\n    def f{i}(x: {ty}) -> {ty}:\n        y = {y}\n        z = R.add(y, x)\n        \
             return z\n"
        )
    };
    let functions: String = (0..count).map(function).collect();
    let main =
        format!("    @R.function\n    def main(x: {ty}):\n        y = Module.f{}(x)\n        return y\n", count - 1);
    module(&(functions + &main))
}

/// Steps of a gated recurrent unit on a batch of dynamic size.
pub fn gru(steps: usize) -> String {
    let inputs = joined(steps, |i| format!("x{i}: R.Tensor((\"batch\", 8), \"float32\")"));
    let weights =
        ["wz", "uz", "wr", "ur", "wh", "uh"].map(|w| format!("{w}: R.Tensor((8, 8), \"float32\")")).join(", ");
    let mut bindings = Vec::new();
    for i in 0..steps {
        for (gate, function, state) in [("z", "sigmoid", "h"), ("r", "sigmoid", "h"), ("h", "tanh", "s")] {
            if gate == "h" {
                bindings.push(format!("s{i} = R.multiply(r{i}, h{i})"));
            }
            bindings.push(format!("a{gate}{i} = R.matmul(x{i}, w{gate})"));
            bindings.push(format!("b{gate}{i} = R.matmul({state}{i}, u{gate})"));
            bindings.push(format!("c{gate}{i} = R.add(a{gate}{i}, b{gate}{i})"));
            let result = if gate == "h" { "n" } else { gate };
            bindings.push(format!("{result}{i} = R.{function}(c{gate}{i})"));
        }
        bindings.push(format!("d{i} = R.subtract(h{i}, n{i})"));
        bindings.push(format!("e{i} = R.multiply(z{i}, d{i})"));
        bindings.push(format!("h{} = R.add(n{i}, e{i})", i + 1));
    }
    main_of(&format!("h0: R.Tensor((\"batch\", 8), \"float32\"), {inputs}, {weights}"), &bindings, &format!("h{steps}"))
}

/// Nested unrolled loops of 16 iterations each.
pub fn unrolled(depth: usize) -> String {
    let loops: String = (0..depth).map(|i| format!("{}for i{i} in T.unroll(16):\n", "    ".repeat(i + 2))).collect();
    let index = (1..depth).fold("i0".to_owned(), |index, i| format!("({index}) * 16 + i{i}"));
    module(&format!(
        "    @T.prim_func\n    def f(A: T.Buffer(({},), \"float32\")):\n{loops}{}A[{index}] = A[{index}] + T.float32(1)\n",
        1 << (4 * depth),
        "    ".repeat(depth + 2)
    ))
}

/// Steps that broadcast with the same operands, whose dimensions may be 1.
pub fn joint_sizes(count: usize) -> String {
    let mut bindings = vec!["h0 = R.multiply(x, x)".to_owned()];
    for i in 0..count {
        bindings.push(format!("a{i} = R.multiply(h{i}, x)"));
        bindings.push(format!("b{i} = R.multiply(h{i}, y)"));
        bindings.push(format!("h{} = R.add(a{i}, b{i})", i + 1));
    }
    let params = "x: R.Tensor((\"n\", \"m\"), \"float32\"), y: R.Tensor((\"p\", \"q\"), \"float32\")";
    main_of(params, &bindings, &format!("h{count}"))
}

/// Equal bindings.
pub fn equal_bindings(count: usize) -> String {
    let mut bindings: Vec<String> = (0..count).map(|i| format!("v{i} = R.exp(x)")).collect();
    bindings.push(format!("y = ({},)", joined(count, |i| format!("v{i}"))));
    main_of("x: R.Tensor((4,), \"float32\")", &bindings, "y")
}
