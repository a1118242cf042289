"""ONNX models: from files, bytes and `onnx.ModelProto`."""

import numpy
import pytest

import hammock

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

W = numpy.linspace(2, -1, 16, dtype="float32").reshape(4, 4)
X = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


@pytest.fixture
def proto():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(W, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_every_form_is_imported_and_compiled(proto, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    expected = numpy.maximum(X @ W, 0)
    for model in [proto, proto.SerializeToString(), bytearray(proto.SerializeToString()), path, str(path)]:
        module = hammock.import_onnx(model)
        assert [p.name for p in module["main"].params] == ["x"]
        for compiled in (hammock.compile(model), hammock.compile(module)):
            numpy.testing.assert_allclose(compiled(X), expected, rtol=1e-5, atol=1e-6)
    assert hammock.structural_equal(hammock.import_onnx(proto), hammock.parse(path))


def test_shapes_fix_open_sizes(proto):
    module = hammock.import_onnx(proto, shapes={"x": (3, 4)})
    assert module["main"].params[0].type == 'R.Tensor((3, 4), dtype="float32")'
    assert "(batch, 4)" in hammock.import_onnx(proto, shapes={"x": ("batch", 4)})["main"].params[0].type
    model = hammock.compile(proto, shapes={"x": [3, 4]})
    numpy.testing.assert_allclose(model(X), numpy.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)
    for shapes in [{"x": (3, 5)}, {"x": (3,)}, {"q": (3, 4)}]:
        with pytest.raises(hammock.CompileError):
            hammock.import_onnx(proto, shapes=shapes)
    for shapes in [{"x": (-3, 4)}, {"x": ("a b", 4)}, {"x": (2.5, 4)}, {"x": ("n,m",)}, {"x": (None,)}]:
        with pytest.raises(ValueError, match="`shapes`"):
            hammock.import_onnx(proto, shapes=shapes)
    for shapes in [3, [("x", (3, 4))], {"x": 3}]:
        with pytest.raises(TypeError, match="`shapes`"):
            hammock.import_onnx(proto, shapes=shapes)


def test_spans_point_into_a_list_of_nodes(proto):
    module = hammock.import_onnx(proto, name="mine.onnx")
    span = module["main"].bindings[0].span
    assert module.file == span.file == "mine.onnx"
    assert "MatMul" in module.source.splitlines()[span.line - 1]


def test_unsupported_operators_are_errors(proto):
    proto.graph.node[1].op_type = "Nonsense"
    with pytest.raises(hammock.CompileError, match="Nonsense"):
        hammock.compile(proto)
    with pytest.raises(hammock.CompileError):
        hammock.import_onnx(proto.SerializeToString()[:40])


def test_options_for_other_kinds_of_models(proto):
    with pytest.raises(ValueError, match="`module`"):
        hammock.compile(proto, module="Module")
    with pytest.raises(TypeError, match="`data_folders` is a list"):
        hammock.import_onnx(proto, data_folders="/tmp")


def test_sequences_strings_and_optional_values_are_tuples_texts_and_none():
    string = TensorProto.STRING
    nodes = [
        helper.make_node("SequenceInsert", ["given", "x"], ["longer"]),
        helper.make_node("StringConcat", ["words", "words"], ["twice"]),
        helper.make_node("OptionalHasElement", ["maybe"], ["has"]),
    ]
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    inputs = [
        helper.make_tensor_sequence_value_info("given", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("words", string, [None]),
        helper.make_value_info("maybe", helper.make_optional_type_proto(tensor)),
    ]
    outputs = [
        helper.make_tensor_sequence_value_info("longer", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("twice", string, [None]),
        helper.make_tensor_value_info("has", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = hammock.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    x, words = numpy.float32([1, 2]), numpy.array(["a", "größer"])
    longer, twice, has = model([x + 1], x, words.tolist(), None)
    assert [part.tolist() for part in longer] == [[2, 3], [1, 2]]
    assert twice == ("aa", "größergrößer") and not has
    assert model((), x, ("b",), x)[1:] == (("bb",), True)
