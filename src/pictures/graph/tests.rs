use super::*;
use hammock_compiler::Model;
use hammock_diagnostics::SourceFile;

/// A module after FuseOps: two operators in a group, one kernel on its own, and an operator that was not lowered.
const FUSED: &str = r#"
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1)

    @R.function(private=True)
    def fused_add_add(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.add, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.add, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        with R.dataflow():
            c: R.Tensor((4,), dtype="float32") = cls.fused_add_add(x)
            pair = (c, x)
            d = R.call_tir(cls.add, (pair[0],), out_ty=R.Tensor((4,), dtype="float32"))
            e = R.nn.relu(d)
            f = R.add(e, pair[1])
            R.output(f)
        return f
"#;

fn module(text: &str) -> Module {
    Model::from_text(SourceFile::new("fused.py", text).unwrap()).unwrap().module
}

#[test]
fn groups_are_expanded_to_their_operators() {
    let graphs = graphs(&[&module(FUSED)]);
    assert_eq!(graphs.len(), 1, "a group is not a function of its own");
    let graph = &graphs[0];
    let labels: Vec<&str> = graph.nodes.iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["x", "add", "add", "add", "nn.relu", "add", "result"]);
    let kernels: Vec<Option<usize>> = graph.nodes.iter().map(Node::kernel).collect();
    assert_eq!(kernels, [None, Some(0), Some(0), Some(1), None, None, None]);
    let kernels: Vec<&str> = graph.kernels.iter().map(Name::as_str).collect();
    assert_eq!(kernels, ["fused_add_add", "add"]);
    let mut edges: Vec<(usize, usize)> = graph.edges.iter().copied().collect();
    edges.sort_unstable();
    assert_eq!(edges, [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)], "members of a tuple are told apart");
    assert_eq!(graph.calls(), [vec![0], vec![1, 2], vec![3], vec![4], vec![5], vec![6]]);
}

/// A kernel of the last module is a group of one before it; a group that calls itself is not expanded twice.
#[test]
fn groups_of_groups_are_expanded_too() {
    let before = module(FUSED);
    let after = FUSED.replace("fused_add_add", "rows").replace("cls.add, (a,)", "cls.fused_add_add, (a,)");
    let after = after.replace("@T.prim_func(private=True)\n    def add", "@T.prim_func(private=True)\n    def fused_add_add(x: T.Buffer((T.int64(4),), \"float32\"), y: T.Buffer((T.int64(4),), \"float32\")):\n        for i in range(T.int64(4)):\n            y[i] = x[i] + T.float32(2)\n\n    @T.prim_func(private=True)\n    def add");
    let graphs = graphs(&[&before, &module(&after)]);
    let kernels: Vec<Option<usize>> = graphs[0].nodes.iter().map(Node::kernel).collect();
    assert_eq!(kernels, [None, Some(0), Some(0), Some(0), Some(1), None, None, None]);
    assert_eq!(graphs[0].kernels[0].as_str(), "rows");
}

#[test]
fn boxes_do_not_overlap_and_edges_lead_down() {
    let sizes = [(100.0, 30.0), (200.0, 60.0), (80.0, 30.0), (100.0, 30.0)];
    let layout = layout::layout(&sizes, [(0, 1), (0, 2), (1, 3), (2, 3), (2, 3), (3, 3)]);
    assert_eq!(layout.lines.len(), 4, "an edge is drawn once");
    for line in &layout.lines {
        assert!(line.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{line:?}");
    }
    for (a, first) in layout.centers.iter().enumerate() {
        for (b, second) in layout.centers.iter().enumerate().skip(a + 1) {
            let apart = |x: f64, y: f64, one: f64, two: f64| (x - y).abs() >= (one + two) / 2.0;
            let beside = apart(first.0, second.0, sizes[a].0, sizes[b].0);
            assert!(beside || apart(first.1, second.1, sizes[a].1, sizes[b].1), "boxes {a} and {b}");
        }
    }
}

/// A layout's time would grow with the square of what edges span.
#[test]
fn long_edges_are_named_instead_of_drawn() {
    let sizes = vec![(50.0, 20.0); 40];
    let chain = (1..40).map(|node| (node - 1, node));
    let layout = layout::layout(&sizes, chain.chain([(0, 39)]));
    assert_eq!((layout.lines.len(), layout.long), (39, vec![(0, 39)]));
}

#[test]
fn drawing_links_operators_and_kernels() {
    let drawing = svg(&graphs(&[&module(FUSED)]), &|name| (name == "add").then(|| "7 us".to_owned()));
    assert!(drawing.contains("5 operators") && drawing.contains("2 kernel calls, 1 of several operators"), "{drawing}");
    assert!(drawing.contains("id=\"f0o2\" class=\"op f0g1\"><a href=\"#f0k1\">"), "{drawing}");
    assert!(drawing.contains("svg:has(#f0k1:target) .f0g1 rect"), "{drawing}");
    assert!(drawing.contains("<a href=\"#f0o1\"><text") && drawing.contains("7 us"), "{drawing}");
}
