use super::*;

/// The text with the number of its symbol after each name.
fn annotated(text: &str) -> String {
    let source = SourceFile::new("a.py", text).unwrap();
    let names = resolve(&source, &hammock_syntax::parse(&source).0);
    let (mut shown, mut end) = (String::new(), 0);
    for occurrence in &names.occurrences {
        assert!(occurrence.span.start >= end, "occurrences overlap in {shown}");
        assert_eq!(source.slice(occurrence.span), &*names.symbol(occurrence.symbol).name);
        shown += &text[end as usize..occurrence.span.end as usize];
        let mark = match occurrence.role {
            Role::Definition => "'",
            Role::Write => "!",
            Role::Use => "",
        };
        let reaching: Vec<String> = occurrence
            .reaching
            .iter()
            .map(|definition| (source.line_index(definition.name.start) + 1).to_string())
            .collect();
        shown += &format!("{}{mark}", occurrence.symbol.0);
        if reaching.len() > 1 {
            shown += &format!("[{}]", reaching.join(","));
        }
        end = occurrence.span.end;
    }
    shown + &text[end as usize..]
}

#[test]
fn functions_and_variables_of_graphs() {
    let text = "\
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), \"float32\"), y: R.Tensor):
        cls = Module
        x = cls.twice((x))
        if y:
            z = x
        else:
            z = Module.twice(y)
        @R.function
        def inner(x: R.Tensor):
            y = x
            return inner(y)
        with R.dataflow():
            a, (b) = z, (z)
            R.output(a)
        return a
    @R.function
    def twice(x: R.Tensor): return x.missing
";
    let expected = "\
from tvm.script import ir as I0', relax as R1'
@I0.ir_module
class Module2':
    @R1.function
    def main3'(x5': R1.Tensor((2,), \"float32\"), y6': R1.Tensor):
        cls7' = Module2
        x5' = cls7.twice4((x5))
        if y6:
            z8' = x5
        else:
            z8' = Module2.twice4(y6)
        @R1.function
        def inner9'(x10': R1.Tensor):
            y11' = x10
            return inner9(y11)
        with R1.dataflow():
            a12', (b13') = z8[9,11], (z8[9,11])
            R1.output(a12)
        return a12
    @R1.function
    def twice4'(x14': R1.Tensor): return x14.missing
";
    assert_eq!(annotated(text), expected);
}

#[test]
fn sizes_of_types() {
    let text = "\
n = TypeVar(\"n\")
@R.function
def f(x: R.Tensor((n, \"m * 2 + T.min(n, k)\", \"m\"), \"float32\"), k: T.int64) -> R.Shape([\"m\"]):
    p = T.int64()
    y = R.match_cast(x, R.Tensor((p, n), \"n\"))
    return R.shape([p, m])
@R.function
def g[q](x: R.Tensor((\"m\", q, \"\\x6e\"))): return n
";
    let expected = "\
n0' = TypeVar(\"n0\")
@R.function
def f1'(x3': R.Tensor((n0, \"m5 * 2 + T.min(n0, k4)\", \"m5\"), \"float32\"), k4': T.int64) -> R.Shape([\"m5\"]):
    p2' = T.int64()
    y6' = R.match_cast(x3, R.Tensor((p2, n0), \"n\"))
    return R.shape([p2, m5])
@R.function
def g7'[q8'](x9': R.Tensor((\"m10\", q8, \"\\x6e\"))): return n0
";
    assert_eq!(annotated(text), expected);
}

#[test]
fn scopes_of_kernels() {
    let text = "\
@T.prim_func
def k(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    s = T.float32(0)
    for i in range(n):
        s = s + A[i]
    for i, j in T.grid(n, 2):
        with T.sblock(\"C\"):
            v = T.axis.spatial(n, i)
            A[v] = s
    with T.launch_thread(\"x\", 4) as t:
        A[t] = s
    T.evaluate(i)
";
    let expected = "\
@T.prim_func
def k0'(a2': T.handle):
    n1' = T.int32()
    A3' = T.match_buffer(a2, (n1,))
    s4' = T.float32(0)
    for i5' in range(n1):
        s4! = s4 + A3[i5]
    for i6', j7' in T.grid(n1, 2):
        with T.sblock(\"C\"):
            v8' = T.axis.spatial(n1, i6)
            A3[v8] = s4
    with T.launch_thread(\"x\", 4) as t9':
        A3[t9] = s4
    T.evaluate(i)
";
    assert_eq!(annotated(text), expected);
}

#[test]
fn damaged_texts_have_names_as_far_as_they_parse() {
    let text = "@R.function\ndef f(x: R.Tensor):\n    y = R.add(x,\n    z = R.add(x, x)\n    return z\n";
    assert!(
        annotated(text).contains("z2' = R.add(x1, x1)") || annotated(text).contains("return z2"),
        "{}",
        annotated(text)
    );
}
