"""Creates the models of this folder, with inputs and the results of ONNX Runtime: NAME.onnx,
NAME.inputs.npz and NAME.expected.npz, as `hammock run --output` writes results.

Run it in this folder with `onnx`, `onnxruntime` and `numpy` installed; arguments select models by name. The seeds are
fixed. `bad/` has invalid models.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper as h, numpy_helper
from onnx.backend.test.case.node import collect_testcases

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL


# Functions that write models.
MODELS = []


def writes_models(make):
    MODELS.append(make)
    return make


def random(seed, *shape):
    values = np.random.default_rng(seed).standard_normal(shape) * 0.5
    return values.astype(np.float32)


def tensor(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def model(name, nodes, inputs, outputs, weights=(), opset=17, functions=(), domains=(), data=None):
    """Writes a model; with `data`, its weights go to a file of that name."""
    info = lambda v: h.make_tensor_value_info(*v)
    initializers = [tensor(n, v) for n, v in dict(weights).items()]
    graph = h.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs], initializers)
    opsets = [h.make_opsetid("", opset)] + [h.make_opsetid(domain, version) for domain, version in dict(domains).items()]
    made = h.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=min(11, 3 + opset // 3))
    made.producer_name = "tests"
    if data:
        pathlib.Path(data).unlink(missing_ok=True)
        onnx.save(made, f"{name}.onnx", save_as_external_data=True, location=data, size_threshold=0)
    else:
        onnx.save(made, f"{name}.onnx")
    return made


def record(name, *inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(f"{name}.onnx", options, providers=["CPUExecutionProvider"])
    record_results(name, inputs, session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)}))


def record_results(name, inputs, results):
    """Records results of numpy, where ONNX Runtime deviates from the specification."""
    np.savez(f"{name}.inputs.npz", **{str(i): x for i, x in enumerate(inputs)})
    np.savez(f"{name}.expected.npz", **{str(i): x for i, x in enumerate(results)})


def of_node_tests(name, *tests, known=()):
    """A model of the nodes of tests that the `onnx` package brings, with the results that these record: for operators
    that ONNX Runtime lacks. Inputs that numpy has no elements for become initializers, as do all but the first of the
    tests in `known`; of results, it has the values."""
    every = {case.name: case for case in collect_testcases()}
    array = lambda x: numpy_helper.to_array(x) if isinstance(x, TensorProto) else np.asarray(x)
    held = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
    plain = lambda x: x if x.dtype.isbuiltin == 1 else x.astype(held.get(x.dtype.name, np.float32))
    nodes, inputs, outputs, weights, given, wanted = [], [], [], [], [], []
    for test in tests:
        case = every[f"test_{test}"]
        graph, (xs, ys) = case.model.graph, case.data_sets[0]
        own = lambda value: f"{test}_{value}" if value else ""
        for node in graph.node:
            node.input[:], node.output[:] = map(own, node.input), map(own, node.output)
            nodes.append(node)
        for at, (info, x) in enumerate(zip(graph.input, map(array, xs))):
            info.name = own(info.name)
            if x.dtype.isbuiltin == 1 and (at == 0 or test not in known):
                inputs.append(info)
                given.append(x)
            else:
                weights.append(numpy_helper.from_array(x, info.name))
        for info, y in zip(graph.output, map(array, ys)):
            info.name = own(info.name)
            outputs.append(info)
            wanted.append(plain(y))
    graph = h.make_graph(nodes, name, inputs, outputs, weights)
    domains = {o.domain for test in tests for o in every[f"test_{test}"].model.opset_import} - {""}
    newest = max(o.version for test in tests for o in every[f"test_{test}"].model.opset_import if not o.domain)
    opsets = [h.make_opsetid("", newest)] + [h.make_opsetid(domain, 1) for domain in sorted(domains)]
    onnx.save(h.make_model(graph, opset_imports=opsets, producer_name="tests", ir_version=11), f"{name}.onnx")
    np.savez(f"{name}.inputs.npz", **{str(i): x for i, x in enumerate(given)})
    np.savez(f"{name}.expected.npz", **{str(i): x for i, x in enumerate(wanted)})


@writes_models
def narrow():
    of_node_tests(
        "narrow", "cast_FLOAT_to_FLOAT8E4M3FN", "cast_FLOAT_to_FLOAT8E5M2", "cast_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ",
        "cast_FLOAT16_to_FLOAT8E5M2FNUZ", "cast_FLOAT_to_INT4", "cast_FLOAT16_to_UINT4", "cast_FLOAT_to_INT2",
        "cast_FLOAT_to_UINT2", "cast_FLOAT_to_FLOAT4E2M1", "cast_e8m0_FLOAT_to_FLOAT8E8M0", "cast_e8m0_FLOAT8E8M0_to_FLOAT",
        "cast_UINT2_to_FLOAT", "castlike_FLOAT_to_INT4", "quantizelinear_int4", "quantizelinear_uint2",
        "quantizelinear_float4e2m1", "quantizelinear_e4m3fn", "quantizelinear_blocked_asymmetric",
        "dequantizelinear_e5m2", "dequantizelinear_int4", "dequantizelinear_float4e2m1", "dequantizelinear_blocked",
        "bitcast_float32_to_int32", "bitcast_bool_to_uint8",
    )


@writes_models
def resized():
    of_node_tests(
        "resized", "resize_downsample_scales_nearest", "resize_downsample_scales_linear_align_corners",
        "resize_downsample_scales_cubic_A_n0p5_exclude_outside", "resize_upsample_scales_linear_align_corners",
        "resize_downsample_sizes_linear_pytorch_half_pixel", "resize_downsample_scales_linear_half_pixel_symmetric",
        "resize_tf_crop_and_resize_extrapolation_value", "resize_upsample_scales_nearest_axes_3_2",
        "resize_upsample_sizes_nearest_ceil_half_pixel", "resize_upsample_sizes_nearest_not_larger",
        "maxpool_with_argmax_2d_precomputed_pads", "deform_conv_with_mask_bias", "deform_conv_with_multiple_offset_groups", "maxpool_with_argmax_2d_precomputed_strides",
        "maxunpool_export_with_output_shape", "maxunpool_export_without_output_shape", "spacetodepth_crd_mode_example",
        "constant_pad_negative_axes", "batchnorm_example_training_mode", "col2im_pads", "col2im_5d", "col2im_strides",
        "resize_downsample_scales_linear_antialias", "resize_downsample_sizes_cubic_antialias",
        "resize_downsample_sizes_linear_antialias", "resize_downsample_scales_cubic_antialias",
        "resize_downsample_sizes_nearest_not_smaller",
        known=["col2im_pads", "col2im_5d", "resize_downsample_scales_linear_antialias",
               "resize_downsample_sizes_cubic_antialias", "resize_downsample_sizes_nearest_not_smaller"],
    )


@writes_models
def column_blocks():
    """Col2Im: blocks that overlap or leave gaps, padding, dilation, one to three axes, many summands."""
    cases = [
        dict(image=[4, 4], block=[3, 3], pads=[1, 1, 1, 1]),
        dict(image=[6, 5], block=[3, 3], strides=[2, 2], pads=[0, 1, 1, 0]),
        dict(image=[7, 6], block=[3, 2], dilations=[2, 3], pads=[1, 0, 0, 2]),
        dict(image=[9, 10], block=[2, 1], strides=[3, 4], pads=[0, 0, 1, 1]),
        dict(image=[8, 8], block=[4, 2], strides=[4, 2]),
        dict(image=[9, 8], block=[2, 3], strides=[2, 2], dilations=[2, 1]),
        dict(image=[11, 10], block=[9, 9], pads=[1, 0, 1, 0]),
        dict(image=[13], block=[5], strides=[2], pads=[2, 1]),
        dict(image=[3, 4, 5], block=[2, 3, 2], strides=[1, 2, 1], pads=[1, 1, 0, 0, 1, 1]),
    ]
    nodes, inputs, outputs, weights, values = [], [], [], {}, []
    for at, case in enumerate(cases):
        image, block = case["image"], case["block"]
        rank = len(image)
        attributes = {"strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank}
        attributes |= {name: case[name] for name in attributes if name in case}
        strides, dilations, pads = attributes["strides"], attributes["dilations"], attributes["pads"]
        blocks = [
            (image[k] + pads[k] + pads[k + rank] - dilations[k] * (block[k] - 1) - 1) // strides[k] + 1
            for k in range(rank)
        ]
        shape = (2, 3 * int(np.prod(block)), int(np.prod(blocks)))
        weights |= {f"image{at}": np.array(image), f"block{at}": np.array(block)}
        inputs.append((f"x{at}", FLOAT, ["n", *shape[1:]]))
        outputs.append((f"y{at}", FLOAT, None))
        values.append(np.round(random(60 + at, *shape) * 8))
        nodes.append(h.make_node("Col2Im", [f"x{at}", f"image{at}", f"block{at}"], [f"y{at}"], **attributes))
    model("column_blocks", nodes, inputs, outputs, weights, opset=18)
    record("column_blocks", *values)


@writes_models
def grid_samples():
    """GridSample of few and many channels, images and volumes, in all modes."""
    nodes, inputs, outputs, values = [], [], [], []
    for at, (mode, padding, corners, channels, grid) in enumerate([
        ("linear", "zeros", 0, 17, [5, 3]), ("linear", "border", 1, 3, [4, 5]), ("linear", "reflection", 0, 2, [17, 2]),
        ("nearest", "zeros", 1, 20, [3, 3]), ("nearest", "reflection", 1, 3, [2, 9]), ("cubic", "zeros", 0, 17, [4, 2]),
        ("cubic", "border", 0, 2, [3, 6]), ("cubic", "reflection", 1, 1, [5, 5]), ("linear", "zeros", 0, 16, [2, 3, 4]),
        ("linear", "border", 0, 2, [3, 2, 4]), ("nearest", "zeros", 0, 2, [3, 3, 2]), ("linear", "zeros", 0, 3, [4, 16]),
        ("cubic", "reflection", 1, 2, [2, 32]),
    ]):
        x = random(80 + at, 2, channels, *[6, 5, 4][: len(grid)])
        positions = (random(100 + at, 2, *grid, len(grid)) * 1.5).astype(np.float32)
        inputs += [(f"x{at}", FLOAT, ["n", *x.shape[1:]]), (f"grid{at}", FLOAT, ["n", *positions.shape[1:]])]
        outputs.append((f"y{at}", FLOAT, None))
        values += [x, positions]
        nodes.append(h.make_node("GridSample", [f"x{at}", f"grid{at}"], [f"y{at}"], mode=mode, padding_mode=padding,
                                 align_corners=corners))
    model("grid_samples", nodes, inputs, outputs, opset=20)
    record("grid_samples", *values)


@writes_models
def sequences():
    of_node_tests(
        "sequences", "linear_attention_gated_delta", "linear_attention_gated_delta_gqa", "linear_attention_linear",
        "causal_conv_with_state_with_past_state", "causal_conv_with_state_silu", "tensorscatter_circular", "tensorscatter_3d",
        "flexattention_gqa", "flexattention_score_mod", "flexattention_prob_mod", "tfidfvectorizer_tf_batch_onlybigrams_skip5",
        "tfidfvectorizer_tf_uniandbigrams_skip5", "unique_not_sorted_without_axis", "unique_sorted_with_negative_axis",
        "det_2d", "det_nd", "stft_with_window", "dft_axis", "dft_irfft", "reduce_log_sum_empty_set",
        "ai_onnx_ml_binarizer", "ai_onnx_ml_array_feature_extractor", "optional_has_element_empty_no_input_tensor_input",
        known=["dft_irfft"],
    )


@writes_models
def sequence_values():
    """Sequences that are known while the model is imported, and those at run time: a position or the sizes of parts are
    inputs."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs.split(), outputs.split(), **attributes)
    info = lambda name: h.make_tensor_value_info(name, FLOAT, None)
    scale = h.make_graph([h.make_node("Mul", ["value", "by"], ["scaled"])], "scale", [info("value"), info("by")], [info("scaled")])
    nodes = [
        node("SequenceEmpty", "", "empty"), node("SequenceInsert", "empty x", "one"), node("SequenceInsert", "one y zero", "two"),
        node("SequenceInsert", "two x minus", "three"), node("SequenceErase", "three one_", "pair"), node("SequenceLength", "three", "length"),
        node("SequenceMap", "three factor", "mapped", body=scale), node("SequenceAt", "mapped minus", "last"),
        node("ConcatFromSequence", "mapped", "joined", axis=1), node("ConcatFromSequence", "pair", "stacked", axis=-1, new_axis=1),
        node("SplitToSequence", "x two_", "halves", axis=-1), node("SequenceAt", "halves one_", "half"),
        node("SplitToSequence", "x", "rows", axis=0, keepdims=0), node("ConcatFromSequence", "rows", "flat", axis=0),
        node("SplitToSequence", "x", "columns", axis=1), node("SequenceAt", "columns at", "column"),
        node("SequenceInsert", "columns column at", "more"), node("SequenceErase", "more", "fewer"), node("ConcatFromSequence", "more", "wide", axis=1),
        node("SequenceLength", "fewer", "count"), node("SplitToSequence", "x sizes", "parts", axis=1), node("ConcatFromSequence", "parts", "again", axis=1),
        node("SequenceAt", "parts at", "chosen"),
    ]
    inputs = [h.make_tensor_value_info(*v) for v in [("x", FLOAT, [2, 6]), ("y", FLOAT, [2, 6]), ("at", INT64, []), ("sizes", INT64, ["k"])]]
    kinds = {"length": INT64, "count": INT64}
    tensors = ["length", "last", "joined", "stacked", "half", "flat", "column", "wide", "count", "again", "chosen"]
    outputs = [h.make_tensor_value_info(n, kinds.get(n, FLOAT), None) for n in tensors]
    outputs += [h.make_tensor_sequence_value_info(n, FLOAT, None) for n in ["pair", "parts"]]
    weights = {"zero": np.int64(0), "one_": np.int64(1), "two_": np.int64(2), "minus": np.int64(-1), "factor": np.float32(-2)}
    graph = h.make_graph(nodes, "sequence_values", inputs, outputs, [tensor(n, v) for n, v in weights.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="tests"), "sequence_values.onnx")
    session = onnxruntime.InferenceSession("sequence_values.onnx", providers=["CPUExecutionProvider"])
    x, y, at, sizes = random(1, 2, 6), random(2, 2, 6), np.array(-2), np.int64([1, 0, 5])
    results = session.run(None, {"x": x, "y": y, "at": at, "sizes": sizes})
    arrays = {}
    for i, result in enumerate(results):
        arrays |= {f"{i}.{k}": part for k, part in enumerate(result)} if isinstance(result, list) else {str(i): result}
    np.savez("sequence_values.inputs.npz", **{str(i): v for i, v in enumerate([x, y, at, sizes])})
    np.savez("sequence_values.expected.npz", **arrays)


@writes_models
def sequence_loops():
    """Sequences in loops and branches, and outputs of loops whose number of iterations depends on data."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs.split(), outputs.split(), **attributes)
    info = lambda name, kind=FLOAT, shape=None: h.make_tensor_value_info(name, kind, shape)
    rows = lambda name: h.make_tensor_sequence_value_info(name, FLOAT, None)
    head = lambda: [info("i", INT64, []), info("go", BOOL, [])]
    grow = h.make_graph([node("Identity", "go", "on"), node("Cast", "i", "number", to=FLOAT), node("Add", "x number", "row"), node("SequenceInsert", "before row", "after")],
                        "grow", [*head(), rows("before")], [info("on", BOOL, []), rows("after")])
    double = h.make_graph([node("Add", "s s", "t"), node("ReduceSum", "t", "sum", keepdims=0), node("Less", "sum most", "on"), node("Slice", "t zero end", "part"), node("Mul", "t t", "square")],
                          "double", [*head(), info("s")], [info("on", BOOL, []), info("t"), info("square"), info("part")])
    skip = h.make_graph([node("Identity", "go", "on"), node("Neg", "x", "negative")], "skip", head(), [info("on", BOOL, []), info("negative")])
    then = h.make_graph([node("SequenceConstruct", "x", "a")], "then", [], [rows("a")])
    other = h.make_graph([node("SequenceConstruct", "x x", "b")], "other", [], [rows("b")])
    twice = h.make_graph([node("Add", "e e", "f")], "twice", [info("e")], [info("f")])
    nodes = [
        node("SequenceEmpty", "", "empty"), node("Loop", "n  empty", "grown", body=grow), node("ConcatFromSequence", "grown", "stacked", axis=1, new_axis=1),
        node("SequenceLength", "grown", "length"), node("Loop", " yes x", "final squares parts", body=double), node("Loop", "n no", "none", body=skip),
        node("If", "choose", "chosen", then_branch=then, else_branch=other), node("ConcatFromSequence", "chosen", "joined", axis=0),
        node("SequenceMap", "grown", "mapped", body=twice), node("ConcatFromSequence", "mapped", "doubled", axis=0),
    ]
    nodes[1].input[:] = ["n", "", "empty"]
    nodes[4].input[:] = ["", "yes", "x"]
    inputs = [info("x", FLOAT, [3]), info("n", INT64, []), info("yes", BOOL, []), info("no", BOOL, []), info("choose", BOOL, [])]
    outputs = [info(name, INT64 if name == "length" else FLOAT) for name in ["stacked", "length", "final", "squares", "parts", "none", "joined", "doubled"]]
    weights = {"most": np.float32(40), "zero": np.array([0]), "end": np.array([2])}
    graph = h.make_graph(nodes, "sequence_loops", inputs, outputs, [tensor(n, v) for n, v in weights.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="tests"), "sequence_loops.onnx")
    record("sequence_loops", np.float32([1, 2, 3]), np.array(12), np.array(True), np.array(False), np.array(False))


@writes_models
def strings():
    """Strings are constants of the model and looked up at run time."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs.split(), outputs.split(), **attributes)
    nodes = [
        node("ArgMax", "x", "class", axis=1, keepdims=0), node("Gather", "labels class", "label"), node("Equal", "label cat", "is_cat"),
        node("StringConcat", "label suffix", "plural"), node("Equal", "plural cats", "is_plural"), node("Unsqueeze", "plural first", "row"),
        node("StringNormalizer", "row", "upper", case_change_action="UPPER", locale="C", stopwords=["dogs"]), node("Equal", "upper upper_cats", "is_upper"),
        node("Constant", "", "sentences", value_strings=["a bird in the hand", "", " two  birds "]),
        node("StringSplit", "sentences", "words counts"), node("Gather", "words zero", "first_words", axis=1), node("Equal", "first_words two", "is_two"),
        node("Cast", "numbers", "parsed", to=FLOAT), node("Cast", "class", "digits", to=TensorProto.STRING), node("Equal", "digits one", "is_one"),
        node("Cast", "x", "texts", to=TensorProto.STRING), node("Cast", "texts", "exact", to=FLOAT),
        node("Concat", "label labels", "every", axis=0), node("Reshape", "every column", "tall"), node("Squeeze", "tall last", "flat"), node("Equal", "flat cat", "cats_of_all"),
    ]
    weights = {"zero": np.int64(0), "first": np.int64([0]), "last": np.int64([1]), "column": np.int64([-1, 1])}
    texts = {"labels": ["cat", "dog", "größer als ein Hund"], "cat": "cat", "suffix": ["s"], "cats": ["cats"], "upper_cats": [["CATS"]],
             "numbers": ["1.5", "-INF", "3e2"], "one": "1", "two": "two"}
    initializers = [tensor(n, v) for n, v in weights.items()]
    for name, text in texts.items():
        array = np.array(text, dtype=object)
        initializers.append(h.make_tensor(name, TensorProto.STRING, array.shape, [t.encode() for t in array.ravel()]))
    kinds = {"counts": INT64, "parsed": FLOAT, "exact": FLOAT}
    names = ["is_cat", "is_plural", "is_upper", "counts", "is_two", "parsed", "is_one", "exact", "cats_of_all"]
    outputs = [h.make_tensor_value_info(n, kinds.get(n, BOOL), None) for n in names]
    graph = h.make_graph(nodes, "strings", [h.make_tensor_value_info("x", FLOAT, [4, 3])], outputs, initializers)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9, producer_name="tests"), "strings.onnx")
    record("strings", np.float32([[1, 0, 0.25], [0, 2, 1], [0, 0.5, 0.75], [3, 1, 2]]))


@writes_models
def random_numbers():
    """The results are those of numpy: other implementations have other numbers."""
    def mixed(state):
        hash = np.uint64(state)
        hash = (hash ^ (hash >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hash = (hash ^ (hash >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return hash ^ (hash >> np.uint64(31))

    def uniform(count, seed, stream=0, digits=24):
        increment = np.uint64(0x9E3779B97F4A7C15)
        start = mixed((np.uint64(seed) ^ mixed(np.uint64(stream) + increment)) + increment)
        hashes = mixed(np.arange(count, dtype=np.uint64) * increment + start)
        return (hashes >> np.uint64(64 - digits)).astype(np.float64) * 0.5**digits

    def normal(count, seed):
        return np.sqrt(-2 * np.log(1 - uniform(count, seed))) * np.cos(2 * np.pi * uniform(count, seed, 1))

    with np.errstate(over="ignore"):
        bits = lambda seed: int(np.float32(seed).view(np.uint32))
        x = np.full((3, 4), 0.25, np.float32)
        logits = np.log(np.float32([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]) + np.float32(1e-30))
        gumbel = -np.log(-np.log(uniform(30, bits(5)) + 0.5**25)).reshape(2, 5, 3)
        results = [
            uniform(6, bits(1.5)).reshape(2, 3).astype(np.float32) * 4 - 1, (normal(8, bits(2)) * 3 + 10).reshape(2, 4).astype(np.float32),
            uniform(12, 1 << 32, digits=53).reshape(3, 4), normal(12, 2 << 32).reshape(3, 4).astype(np.float32),
            uniform(12, bits(4)).reshape(3, 4) < 0.25, (logits[:, None] + gumbel).argmax(2).astype(np.int32),
        ]
    nodes = [
        h.make_node("RandomUniform", [], ["uniform"], seed=1.5, shape=[2, 3], low=-1.0, high=3.0),
        h.make_node("RandomNormal", [], ["normal"], seed=2.0, shape=[2, 4], mean=10.0, scale=3.0),
        h.make_node("RandomUniformLike", ["x"], ["like"], dtype=TensorProto.DOUBLE), h.make_node("RandomNormalLike", ["x"], ["noise"]),
        h.make_node("Bernoulli", ["x"], ["coin"], seed=4.0, dtype=BOOL), h.make_node("Multinomial", ["logits"], ["drawn"], seed=5.0, sample_size=5),
    ]
    kinds = [FLOAT, FLOAT, TensorProto.DOUBLE, FLOAT, BOOL, INT32]
    outputs = [(node.output[0], kind, None) for node, kind in zip(nodes, kinds)]
    model("random_numbers", nodes, [("x", FLOAT, ["n", 4]), ("logits", FLOAT, [2, 3])], outputs)
    record_results("random_numbers", [x, logits.astype(np.float32)], results)


@writes_models
def cnn():
    nodes = [
        h.make_node("Conv", ["x", "w1", "b1"], ["c1"], "/stem/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        h.make_node("BatchNormalization", ["c1", "scale", "shift", "mean", "var"], ["n1"], "/stem/Norm"),
        h.make_node("Relu", ["n1"], ["r1"], "/stem/Relu"),
        h.make_node("MaxPool", ["r1"], ["p1"], "/pool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        h.make_node("Conv", ["p1", "w2"], ["c2"], "/depthwise", group=4, auto_pad="SAME_UPPER"),
        h.make_node("Clip", ["c2", "zero", "six"], ["k2"]),
        h.make_node("Add", ["k2", "p1"], ["a"]),
        h.make_node("AveragePool", ["a"], ["p2"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        h.make_node("GlobalAveragePool", ["p2"], ["g"]),
        h.make_node("Flatten", ["g"], ["f"]),
        h.make_node("Gemm", ["f", "w3", "b3"], ["logits"], "/head", transB=1),
        h.make_node("Softmax", ["logits"], ["y"], axis=-1),
    ]
    weights = {
        "w1": random(1, 4, 2, 3, 3), "b1": random(2, 4), "w2": random(3, 4, 1, 3, 3), "w3": random(4, 5, 4),
        "b3": random(5, 5), "scale": random(6, 4), "shift": random(7, 4), "mean": random(8, 4),
        "var": np.abs(random(9, 4)) + 0.5, "zero": np.float32(0), "six": np.float32(6),
    }
    model("cnn", nodes, [("x", FLOAT, ["batch", 2, 9, 9])], [("y", FLOAT, ["batch", 5])], weights)
    record("cnn", random(10, 2, 2, 9, 9))


@writes_models
def encoder():
    """Attention with shapes computed in the graph, as exporters write them."""
    def heads(x, out):
        return [
            h.make_node("Shape", ["e"], [f"{out}_shape"]),
            h.make_node("Gather", [f"{out}_shape", "zero"], [f"{out}_batch"]),
            h.make_node("Gather", [f"{out}_shape", "one"], [f"{out}_length"]),
            h.make_node("Unsqueeze", [f"{out}_batch", "axis0"], [f"{out}_b"]),
            h.make_node("Unsqueeze", [f"{out}_length", "axis0"], [f"{out}_l"]),
            h.make_node("Concat", [f"{out}_b", f"{out}_l", "heads"], [f"{out}_split"], axis=0),
            h.make_node("Reshape", [x, f"{out}_split"], [f"{out}_heads"]),
            h.make_node("Transpose", [f"{out}_heads"], [out], perm=[0, 2, 1, 3]),
        ]
    nodes = [
        h.make_node("Gather", ["table", "ids"], ["e"], "/embed"),
        h.make_node("MatMul", ["e", "wq"], ["q0"], "/q"),
        h.make_node("MatMul", ["e", "wk"], ["k0"], "/k"),
        *heads("q0", "q"), *heads("k0", "k"), *heads("e", "v"),
        h.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        h.make_node("MatMul", ["q", "kt"], ["s0"]),
        h.make_node("Div", ["s0", "root"], ["s1"]),
        h.make_node("Unsqueeze", ["mask", "axes12"], ["m4"]),
        h.make_node("Cast", ["m4"], ["mf"], to=FLOAT),
        h.make_node("Sub", ["onef", "mf"], ["hidden"]),
        h.make_node("Mul", ["hidden", "low"], ["bias"]),
        h.make_node("Add", ["s1", "bias"], ["s2"]),
        h.make_node("Softmax", ["s2"], ["p"], axis=-1),
        h.make_node("MatMul", ["p", "v"], ["o0"]),
        h.make_node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        h.make_node("Reshape", ["o1", "joined"], ["o2"]),
        h.make_node("Add", ["e", "o2"], ["sum"]),
        h.make_node("LayerNormalization", ["sum", "scale", "shift"], ["n"], "/norm", axis=-1),
        h.make_node("Div", ["n", "sqrt2"], ["d"]),
        h.make_node("Erf", ["d"], ["erf"]),
        h.make_node("Add", ["erf", "onef"], ["e1"]),
        h.make_node("Mul", ["n", "e1"], ["g"]),
        h.make_node("Mul", ["g", "half"], ["y"]),
        h.make_node("ReduceMean", ["y"], ["pooled"], axes=[1], keepdims=0),
    ]
    weights = {
        "table": random(1, 11, 8), "wq": random(2, 8, 8), "wk": random(3, 8, 8), "zero": np.int64(0), "one": np.int64(1),
        "axis0": [0], "heads": [2, 4], "root": np.float32(2), "axes12": [1, 2], "onef": np.float32(1),
        "low": np.float32(-10000), "joined": [0, 0, -1], "scale": random(4, 8), "shift": random(5, 8),
        "sqrt2": np.float32(np.sqrt(2)), "half": np.float32(0.5),
    }
    inputs = [("ids", INT64, ["batch", "length"]), ("mask", INT64, ["batch", "length"])]
    outputs = [("y", FLOAT, ["batch", "length", 8]), ("pooled", FLOAT, ["batch", 8])]
    model("encoder", nodes, inputs, outputs, weights)
    ids = np.random.default_rng(6).integers(0, 11, (2, 5))
    record("encoder", ids, np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]))


@writes_models
def arithmetic():
    unary = ["Abs", "Neg", "Exp", "Tanh", "Sigmoid", "Erf", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Softplus"]
    nodes = [h.make_node(op, ["x"], [f"u{i}"]) for i, op in enumerate(unary)]
    nodes += [h.make_node("Sqrt", ["u0"], ["s"]), h.make_node("Reciprocal", ["u2"], ["r"])]
    binary = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
    nodes += [h.make_node(op, ["x", "y"], [f"b{i}"]) for i, op in enumerate(binary)]
    nodes += [h.make_node("Pow", ["u0", "two"], ["pow"]), h.make_node("Greater", ["x", "y"], ["more"])]
    nodes += [h.make_node("Where", ["more", "x", "y"], ["chosen"]), h.make_node("HardSigmoid", ["x"], ["hard"])]
    nodes += [h.make_node("LeakyRelu", ["x"], ["leaky"], alpha=0.1), h.make_node("Elu", ["x"], ["elu"])]
    names = [f"u{i}" for i in range(len(unary))] + [f"b{i}" for i in range(len(binary))]
    names += ["s", "r", "pow", "chosen", "hard", "leaky", "elu"]
    nodes += [h.make_node("Concat", names, ["all"], axis=0)]
    inputs = [("x", FLOAT, ["n", 3]), ("y", FLOAT, ["n", 3])]
    model("arithmetic", nodes, inputs, [("all", FLOAT, [None, 3])], {"two": np.float32(2)})
    record("arithmetic", 3 * random(1, 2, 3), random(2, 2, 3) + 2)


@writes_models
def rearranged():
    nodes = [
        h.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["s"]),
        h.make_node("Split", ["x", "parts"], ["p0", "p1"], axis=2),
        h.make_node("Pad", ["p0", "pads", "seven"], ["pad"]),
        h.make_node("Tile", ["p1", "repeats"], ["tile"]),
        h.make_node("Shape", ["x"], ["shape"]),
        h.make_node("Slice", ["shape", "starts1", "ends1"], ["tail"]),
        h.make_node("ConstantOfShape", ["tail"], ["ones"], value=tensor("v", np.array([1], np.float32))),
        h.make_node("Expand", ["ones", "shape"], ["wide"]),
        h.make_node("Add", ["x", "wide"], ["added"]),
        h.make_node("Squeeze", ["p1"], ["thin"]),
        h.make_node("Unsqueeze", ["thin", "last"], ["thick"]),
        h.make_node("ReduceSum", ["x", "last"], ["sum"], keepdims=0),
        h.make_node("ReduceMax", ["x"], ["max"], axes=[0, 2]),
        h.make_node("ArgMax", ["x"], ["arg"], axis=2),
        h.make_node("TopK", ["x", "two"], ["values", "places"]),
        h.make_node("Gather", ["x", "rows"], ["gathered"], axis=1),
        h.make_node("CumSum", ["x", "one"], ["running"]),
        h.make_node("Resize", ["image", "", "scales"], ["resized"], mode="nearest"),
    ]
    weights = {
        "starts": [-1, 0], "ends": [-2**31, 2**63 - 1], "axes": [2, 1], "steps": [-2, 1], "parts": [3, 1],
        "pads": [0, 1, 0, 0, 0, 2], "seven": np.float32(7), "repeats": [1, 2, 3], "starts1": [1], "ends1": [3],
        "last": [-1], "two": [2], "rows": [[0, -1]], "one": np.int64(1), "scales": np.float32([1, 1, 2, 1.5]),
    }
    inputs = [("x", FLOAT, [2, 3, 4]), ("image", FLOAT, [1, 1, 2, 4])]
    names = ["s", "pad", "tile", "added", "thick", "sum", "max", "values", "gathered", "running", "resized"]
    outputs = [(n, FLOAT, None) for n in names] + [("arg", INT64, None), ("places", INT64, None)]
    model("rearranged", nodes, inputs, outputs, weights)
    record("rearranged", random(1, 2, 3, 4), random(2, 1, 1, 2, 4))


@writes_models
def old():
    """Attributes that became inputs later."""
    nodes = [
        h.make_node("Clip", ["x"], ["c"], min=-0.5, max=0.5),
        h.make_node("Slice", ["c"], ["s"], axes=[1], starts=[1], ends=[100]),
        h.make_node("Unsqueeze", ["s"], ["u"], axes=[0, 1]),
        h.make_node("Upsample", ["u"], ["up"], scales=[1.0, 1.0, 2.0, 2.0], mode="nearest"),
        h.make_node("Squeeze", ["up"], ["q"], axes=[0, 1]),
        h.make_node("Pad", ["q"], ["p"], pads=[1, 0, 0, 1], value=2.0),
        h.make_node("ReduceSum", ["p"], ["r"], axes=[1], keepdims=1),
        h.make_node("Dropout", ["r"], ["d"], ratio=0.3),
        h.make_node("Softmax", ["d"], ["y"], axis=0),
    ]
    model("old", nodes, [("x", FLOAT, [2, 4])], [("y", FLOAT, [5, 1])], opset=7)
    record("old", random(1, 2, 4))


@writes_models
def first_versions():
    """Operators as they were before version 7: operands that broadcast by attributes, and attributes that became inputs."""
    node = h.make_node
    nodes = [
        node("Add", ["x", "b"], ["added"], broadcast=1, axis=1),
        node("Mul", ["added", "last"], ["scaled"], broadcast=1),
        node("Sub", ["scaled", "one"], ["less"], broadcast=1),
        node("Div", ["less", "x"], ["divided"]),
        node("PRelu", ["less", "slope"], ["leaky"]),
        node("Greater", ["x", "b"], ["greater"], broadcast=1, axis=-2),
        node("Gemm", ["b2", "b3", "c"], ["y"], broadcast=1),
        node("Tile", ["c", "twice"], ["tiled"]),
    ]
    x, b, last = random(1, 2, 3, 4), random(2, 3), random(3, 4)
    one, slope, c = np.array([1], np.float32), random(4, 3), random(5, 2)
    b2, b3 = random(6, 3, 5), random(7, 5, 2)
    weights = dict(b=b, last=last, one=one, slope=slope, c=c, b2=b2, b3=b3, twice=np.array([2]))
    results = ["divided", "leaky", "greater", "y", "tiled"]
    outputs = [(name, BOOL if name == "greater" else FLOAT, None) for name in results]
    model("first_versions", nodes, [("x", FLOAT, [2, 3, 4])], outputs, weights, opset=6)
    less = (x + b[:, None]) * last - 1
    wanted = [less / x, np.where(less >= 0, less, less * slope[:, None]), x > b[:, None], b2 @ b3 + c, np.tile(c, 2)]
    record_results("first_versions", [x], wanted)

    nodes = [
        node("Reshape", ["x"], ["r"], shape=[0, -1]),
        node("Concat", ["r", "r"], ["c"]),
        node("Pad", ["c"], ["p"], paddings=[0, 1, 0, 0]),
        node("Tile", ["p", "twice", "axis"], ["t"]),
        node("Cast", ["t"], ["y"], to="INT32"),
    ]
    x = random(8, 2, 1, 3) * 8
    weights = {"twice": np.array([2]), "axis": np.array([1])}
    model("oldest", nodes, [("x", FLOAT, [2, 1, 3])], [("y", INT32, None)], weights, opset=1)
    flat = x.reshape(2, 3)
    flat = np.pad(np.concatenate([flat, flat], 1), [(0, 0), (1, 0)])
    record_results("oldest", [x], [np.tile(flat, 2).astype(np.int32)])


@writes_models
def defaults():
    """Initializers that are also inputs: a caller may override them, with other sizes where the input's are open."""
    nodes = [h.make_node("MatMul", ["x", "w"], ["product"], "/product"), h.make_node("Mul", ["product", "k"], ["y"], "/scaled")]
    inputs = [("x", FLOAT, [2, 3]), ("k", FLOAT, [1]), ("w", FLOAT, [3, "n"])]
    weights = {"w": random(1, 3, 4), "k": np.array([2], np.float32)}
    made = model("defaults", nodes, inputs, [("y", FLOAT, [2, "n"])], weights)
    x, k, w = random(2, 2, 3), np.array([3], np.float32), random(3, 3, 5)
    record_results("defaults", [x, k, w], [x @ w * 3])
    # Older versions list every initializer as an input.
    made.ir_version = 3
    onnx.save(made, "misfits/every_input.onnx")


@writes_models
def broadcasts():
    """Differently named dimensions, which are equal or 1."""
    node = h.make_node
    nodes = [
        node("Add", ["a", "b"], ["added"], "/added"),
        node("Mul", ["added", "a"], ["again"], "/again"),
        node("Where", ["c", "again", "b"], ["chosen"], "/chosen"),
        node("MatMul", ["l", "r"], ["product"], "/product"),
        node("Sum", ["a", "b", "d"], ["sum"], "/sum"),
        node("Shape", ["a"], ["a_shape"], "/a_shape"),
        node("Expand", ["d", "a_shape"], ["expanded"], "/expanded"),
        node("Mul", ["expanded", "d"], ["scaled"], "/scaled"),
    ]
    inputs = [("a", FLOAT, ["n", 3]), ("b", FLOAT, ["m", None]), ("c", BOOL, ["m", 1]), ("d", FLOAT, ["p", "q"]),
              ("l", FLOAT, ["s", 2, 3]), ("r", FLOAT, ["t", 3, "u"])]
    outputs = [(name, FLOAT, None) for name in ["again", "chosen", "product", "sum", "scaled"]]
    model("broadcasts", nodes, inputs, outputs)
    a, b, c = random(1, 1, 3), random(2, 4, 1), np.array([[True], [False], [True], [True]])
    d, l, r = random(3, 4, 1), random(4, 5, 2, 3), random(5, 1, 3, 2)
    record_results("broadcasts", [a, b, c, d, l, r], [(a + b) * a, np.where(c, (a + b) * a, b), l @ r, a + b + d, (d + 0 * a) * d])


@writes_models
def largest():
    """Max pooling with indices, along dynamic axes and with partial windows; reductions of integers, the indices of a
    scalar, and slices with bounds beyond int32."""
    node = h.make_node
    nodes = [
        node("MaxPool", ["x"], ["same", "same_places"], kernel_shape=[3, 2], strides=[2, 3], auto_pad="SAME_UPPER"),
        node("MaxPool", ["x"], ["ceil", "ceil_places"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("ReduceL2", ["i"], ["norm"], axes=[1], keepdims=0),
        node("ReduceLogSum", ["i"], ["log"], axes=[0]),
        node("NonZero", ["s"], ["found"]),
        node("Slice", ["x", "starts", "ends"], ["far"]),
        node("Slice", ["x", "ends", "starts", "axes", "steps"], ["back"]),
    ]
    inputs = [("x", FLOAT, [1, "c", "h", "w"]), ("i", INT64, [2, 2]), ("s", FLOAT, [])]
    names = ["same", "same_places", "ceil", "ceil_places", "norm", "log", "found", "far", "back"]
    floats = ["same", "ceil", "far", "back"]
    outputs = [(name, FLOAT if name in floats else INT64, None) for name in names]
    far = np.iinfo(np.int64)
    weights = dict(starts=np.array([0, 2**31 + 5, -2**40, far.min]), ends=np.array([9, 9, 2**40, far.max]),
                   axes=np.array([0, 1, 2, 3]), steps=np.array([-1, -1, -1, far.min]))
    model("largest", nodes, inputs, outputs, weights)
    x = random(1, 1, 1, 5, 5)
    same = [x[..., 0:2, 0:2], x[..., 0:2, 3:5], x[..., 1:4, 0:2], x[..., 1:4, 3:5], x[..., 3:5, 0:2], x[..., 3:5, 3:5]]
    ceil = [x[..., i:i + 2, j:j + 2] for i in (0, 2, 4) for j in (0, 2, 4)]
    most = lambda parts, *shape: np.array([part.max() for part in parts], np.float32).reshape(1, 1, *shape)
    places = lambda parts: np.searchsorted(np.sort(x.ravel()), parts.ravel())
    place = lambda parts: np.argsort(x.ravel())[places(parts)].reshape(parts.shape)
    same, ceil = most(same, 3, 2), most(ceil, 3, 3)
    wanted = [same, place(same), ceil, place(ceil), np.array([5, 13]), np.array([[2, 2]]), np.zeros((0, 1), np.int64),
              x[:, 5:], x[:0, :0, ::-1, ::-5]]
    record_results("largest", [x, np.array([[3, 4], [5, 12]]), np.array(2, np.float32)], wanted)


@writes_models
def mlp():
    nodes = [
        h.make_node("Gemm", ["x", "w1", "b1"], ["h"], "/hidden"),
        h.make_node("Tanh", ["h"], ["t"]),
        h.make_node("Gemm", ["t", "w2"], ["y"], "/out"),
    ]
    weights = {"w1": random(1, 64, 4), "b1": random(2, 4), "w2": random(3, 4, 3)}
    model("mlp", nodes, [("x", FLOAT, ["batch", 64])], [("y", FLOAT, ["batch", 3])], weights)
    record("mlp", random(4, 2, 64))


@writes_models
def at_run_time():
    """Sizes, bounds and axes that are inputs."""
    nodes = [
        h.make_node("Reshape", ["x", "shape"], ["reshaped"]),
        h.make_node("Expand", ["thin", "wide"], ["expanded"]),
        h.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["sliced"]),
        h.make_node("Pad", ["x", "pads"], ["padded"], mode="reflect"),
        h.make_node("ReduceSum", ["x", "axes"], ["sum"], keepdims=0),
        h.make_node("ReduceMax", ["x", "axes"], ["max"], keepdims=1),
        h.make_node("Unsqueeze", ["x", "axes"], ["longer"]),
        h.make_node("CumSum", ["x", "axis"], ["running"], reverse=1),
        h.make_node("TopK", ["x", "axes_positive"], ["top", "places"], axis=1),
        h.make_node("Range", ["start", "limit", "delta"], ["range"]),
        h.make_node("Trilu", ["x", "axis"], ["triangle"], upper=0),
        h.make_node("Tile", ["x", "repeats"], ["tiled"]),
    ]
    ints = ["shape", "wide", "starts", "ends", "axes", "steps", "pads", "axes_positive", "repeats"]
    lengths = dict(shape=3, wide=3, pads=4, repeats=2)
    inputs = [("x", FLOAT, [3, 4]), ("thin", FLOAT, [3, 1])] + [(n, INT64, [lengths.get(n, 1)]) for n in ints]
    inputs += [("axis", INT64, []), ("start", FLOAT, []), ("limit", FLOAT, []), ("delta", FLOAT, [])]
    names = ["reshaped", "expanded", "sliced", "padded", "sum", "max", "longer", "running", "top", "range", "triangle", "tiled"]
    model("at_run_time", nodes, inputs, [(n, FLOAT, None) for n in names] + [("places", INT64, None)], opset=18)
    given = [[0, -1, 2], [2, 1, 5], [-1], [-100], [-1], [-2], [1, 0, 0, 2], [2], [2, 3]]
    given = [np.array(v, np.int64) for v in given] + [np.int64(1)] + [np.float32(v) for v in (1, 10, 2.5)]
    record("at_run_time", random(1, 3, 4), random(2, 3, 1), *[np.asarray(v) for v in given])


@writes_models
def computed_sizes():
    """Sizes that operators compute from constants, floats among them: they are static."""
    nodes = [
        h.make_node("ReduceMin", ["size"], ["shorter"], keepdims=0),
        h.make_node("Cast", ["shorter"], ["shorter_float"], to=FLOAT),
        h.make_node("Reciprocal", ["shorter_float"], ["inverse"]),
        h.make_node("Mul", ["inverse", "wanted"], ["scale"]),
        h.make_node("Cast", ["size"], ["size_float"], to=FLOAT),
        h.make_node("Mul", ["size_float", "scale"], ["scaled"]),
        h.make_node("Floor", ["scaled"], ["floor"]),
        h.make_node("Cast", ["floor"], ["new_size"], to=INT64),
        h.make_node("Concat", ["channels", "new_size"], ["sizes"], axis=0),
        h.make_node("Resize", ["x", "", "", "sizes"], ["resized"], mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
        h.make_node("CumSum", ["new_size", "zero"], ["pads"]),
        h.make_node("Concat", ["channels", "pads", "channels", "new_size"], ["all_pads"], axis=0),
        h.make_node("Pad", ["resized", "all_pads"], ["padded"]),
    ]
    weights = dict(size=np.array([4, 6]), wanted=np.float32(5), channels=np.array([1, 2]), zero=np.array(0))
    model("computed_sizes", nodes, [("x", FLOAT, [1, 2, 4, 6])], [("padded", FLOAT, None)], weights)
    record("computed_sizes", random(1, 1, 2, 4, 6))


@writes_models
def declared_sizes():
    """Dimensions that nodes compute, with the names that the model declares for them."""
    nodes = [
        h.make_node("NonZero", ["x"], ["indices"], "/nonzero"),
        h.make_node("Transpose", ["indices"], ["rows"], perm=[1, 0]),
        h.make_node("GatherND", ["x", "rows"], ["values"]),
        h.make_node("Add", ["a", "b"], ["sum"], "/sum"),
        h.make_node("Expand", ["one", "shape"], ["wide"], "/expand"),
    ]
    inputs = [("x", FLOAT, ["n", "k"]), ("a", FLOAT, ["p"]), ("b", FLOAT, ["q"]), ("one", FLOAT, [1]), ("shape", INT64, [2])]
    # `n` is an input's dimension, so the sum's gets another name.
    outputs = [("values", FLOAT, ["found"]), ("sum", FLOAT, ["n"]), ("wide", FLOAT, ["height", "width"])]
    made = model("declared_sizes", nodes, inputs, outputs)
    made.graph.value_info.append(h.make_tensor_value_info("indices", INT64, [2, "found"]))
    onnx.save(made, "declared_sizes.onnx")
    record("declared_sizes", np.float32([[0, 2, 3], [4, 0, 0]]), random(1, 3), random(2, 1), random(3, 1), np.array([2, 4]))


@writes_models
def segments():
    """Padding and concatenation of axes that are longer than a vector."""
    nodes, weights, names = [], {}, []

    def add(op, inputs, name, **attributes):
        names.append(name)
        nodes.append(h.make_node(op, inputs, [name], **attributes))

    for mode in ["constant", "reflect", "edge", "wrap"]:
        for data, widths in [("row", [0, 37, 0, 50]), ("x", [1, 33, 0, 5])]:
            name = f"{data}_{mode}"
            weights[f"{name}_widths"] = np.array(widths)
            add("Pad", [data, f"{name}_widths"], name, mode=mode)
    add("Concat", ["x", "y"], "joined", axis=1)
    nodes.append(h.make_node("Concat", ["y", "x", "y", "x", "y"], ["five"], axis=1))
    add("Tanh", ["five"], "tanh")
    nodes.append(h.make_node("Split", ["x"], ["low", "high"], axis=1, num_outputs=2))
    nodes.append(h.make_node("Neg", ["high"], ["minus"]))
    nodes.append(h.make_node("Concat", ["minus", "low"], ["rotated"], axis=1))
    add("Add", ["rotated", "x"], "rotary")
    inputs = [("row", FLOAT, ["m", "n"]), ("x", FLOAT, [2, 70]), ("y", FLOAT, [2, 45])]
    model("segments", nodes, inputs, [(n, FLOAT, None) for n in names], weights, opset=20)
    record("segments", random(1, 1, 100), random(2, 2, 70), random(3, 2, 45))


@writes_models
def constant_indices():
    """Gathers of constant indices: progressions, and others. The last shifts rows as relative positions do."""
    indices = dict(first=[0, 1, 2, 3], backwards=[-1, -2, -3], every_second=[0, 2, 4], same=[3, 3], around=[-1, 0, 1], single=[4], any=[0, 1, 3])
    nodes = [h.make_node("Gather", ["x", name], [f"x_{name}"], axis=2) for name in indices]
    nodes += [
        h.make_node("Reshape", ["x", "flipped"], ["a"]),
        h.make_node("Slice", ["a", "one", "many", "one"], ["b"]),
        h.make_node("Reshape", ["b", "shorter"], ["c"]),
        h.make_node("Gather", ["c", "first"], ["shifted"], axis=2),
    ]
    weights = {name: np.array(values) for name, values in indices.items()}
    weights |= dict(flipped=np.array([2, 6, 4]), one=np.array([1]), many=np.array([99]), shorter=np.array([2, 4, 5]))
    outputs = [(f"x_{name}", FLOAT, None) for name in indices] + [("shifted", FLOAT, None)]
    model("constant_indices", nodes, [("x", FLOAT, [2, 4, 6])], outputs, weights)
    record("constant_indices", random(1, 2, 4, 6))


@writes_models
def many_sizes():
    """More parts of different dynamic sizes than one kernel concatenates."""
    names = [f"x{at}" for at in range(20)]
    inputs = [(name, FLOAT, [2, f"n{name[1:]}"]) for name in names]
    model("many_sizes", [h.make_node("Concat", names, ["y"], axis=-1)], inputs, [("y", FLOAT, [2, None])])
    record("many_sizes", *[random(at, 2, at % 4) for at in range(20)])


@writes_models
def selection():
    """Results whose sizes depend on the data, and operators on them."""
    nodes = [
        h.make_node("Greater", ["x", "zero"], ["mask"]),
        h.make_node("NonZero", ["mask"], ["where"]),
        h.make_node("Transpose", ["where"], ["indices"]),
        h.make_node("GatherND", ["x", "indices"], ["chosen"]),
        h.make_node("ReduceSum", ["chosen"], ["sum"], keepdims=0),
        h.make_node("TopK", ["chosen", "two"], ["top", "top_at"]),
        h.make_node("Shape", ["indices"], ["shape"]),
        h.make_node("Gather", ["shape", "first"], ["count"]),
        h.make_node("ConstantOfShape", ["count"], ["zeros"]),
        h.make_node("ScatterND", ["x", "indices", "zeros"], ["put"]),
        h.make_node("NonZero", ["rows"], ["row_at"]),
        h.make_node("Transpose", ["row_at"], ["row_indices"]),
        h.make_node("GatherND", ["x", "row_indices"], ["some_rows"]),
        h.make_node("MatMul", ["some_rows", "w"], ["multiplied"]),
        h.make_node("Unique", ["x"], ["columns"], axis=1),
        h.make_node("MatMul", ["v", "columns"], ["of_columns"]),
        h.make_node("Slice", ["x", "starts", "ends"], ["inner"]),
    ]
    weights = {"zero": np.float32(0), "two": [2], "first": [0], "w": random(1, 5, 3), "v": random(2, 2, 4)}
    names = ["chosen", "sum", "top", "put", "some_rows", "multiplied", "of_columns", "inner"]
    outputs = [(name, FLOAT, None) for name in names] + [("top_at", INT64, None)]
    model("selection", nodes, [("x", FLOAT, [4, 5]), ("rows", BOOL, [4]), ("starts", INT64, ["axes"]), ("ends", INT64, ["axes"])], outputs, weights)
    record("selection", np.round(random(3, 4, 5), 1), np.array([True, False, True, True]), np.array([1]), np.array([-1]))


@writes_models
def positions():
    """Learned positions, the last row, and padding as PyTorch exports it, with a dynamic number of rows."""
    nodes = [
        h.make_node("Shape", ["x"], ["shape"], "/shape"),
        h.make_node("Slice", ["shape", "one", "two"], ["rows"], "/rows"),
        h.make_node("Slice", ["table", "zero", "rows"], ["places"], "/places"),
        h.make_node("Add", ["x", "places"], ["placed"], "/placed"),
        h.make_node("Slice", ["placed", "minus", "far", "one"], ["last"], "/last"),
        h.make_node("Reshape", ["pads", "pairs"], ["paired"], "/paired"),
        h.make_node("Slice", ["paired", "minus", "farthest", "zero", "minus"], ["turned"], "/turned"),
        h.make_node("Transpose", ["turned"], ["sides"], "/sides", perm=[1, 0]),
        h.make_node("Reshape", ["sides", "minus"], ["before_after"], "/before_after"),
        h.make_node("Pad", ["placed", "before_after"], ["padded"], "/padded"),
        h.make_node("Mul", ["table", "scale"], ["scaled"], "/scaled"),
    ]
    weights = {
        "table": random(1, 8, 4), "zero": [0], "one": [1], "two": [2], "minus": [-1], "far": [2**63 - 1],
        "farthest": [-2**63 + 1], "pads": [1, 2, 0, 1, 0, 0], "pairs": [-1, 2],
    }
    outputs = [(name, FLOAT, None) for name in ("last", "padded", "scaled")]
    model("positions", nodes, [("x", FLOAT, ["batch", "n", 4]), ("scale", FLOAT, ["rows", 4])], outputs, weights)
    record("positions", random(2, 2, 5, 4), random(3, 1, 4))


@writes_models
def recurrent():
    sizes = [("x", FLOAT, [3, 2, 4]), ("lengths", INT32, [2])]
    names = ["ly", "lh", "lc", "gy", "gh", "ry", "rh"]
    nodes = [
        h.make_node("LSTM", ["x", "lw", "lr", "lb", "", "", "", "lp"], ["ly", "lh", "lc"], direction="bidirectional", hidden_size=3),
        h.make_node("GRU", ["x", "gw", "gr", "gb", "lengths"], ["gy", "gh"], hidden_size=3, linear_before_reset=1),
        h.make_node("RNN", ["x", "rw", "rr"], ["ry", "rh"], direction="reverse", hidden_size=3, activations=["Relu"]),
    ]
    weights = {
        "lw": random(1, 2, 12, 4), "lr": random(2, 2, 12, 3), "lb": random(3, 2, 24), "lp": random(4, 2, 9),
        "gw": random(5, 1, 9, 4), "gr": random(6, 1, 9, 3), "gb": random(7, 1, 18), "rw": random(8, 1, 3, 4),
        "rr": random(9, 1, 3, 3),
    }
    model("recurrent", nodes, sizes, [(n, FLOAT, None) for n in names], weights)
    record("recurrent", random(10, 3, 2, 4), np.array([3, 2], np.int32))


@writes_models
def recurrent_loops():
    """Recurrent layers with any number of steps, and one with few."""
    def layer(op, name, x, gates, direction, outputs, lengths="", **attributes):
        count = 2 if direction == "bidirectional" else 1
        shapes = dict(w=(gates * 5, 4), r=(gates * 5, 5), b=(gates * 10,), h=(3, 5))
        inputs = [f"{name}_{part}" for part in shapes]
        for part, shape in zip(inputs, shapes.values()):
            weights[part] = random(len(weights), count, *shape)
        inputs = [x, *inputs[:3], lengths, inputs[3] if lengths else ""]
        return h.make_node(op, inputs, outputs, hidden_size=5, direction=direction, **attributes)
    weights = {}
    nodes = [
        layer("LSTM", "l", "x", 4, "bidirectional", ["ly", "lh", "lc"], "lengths"),
        layer("GRU", "g", "x", 3, "reverse", ["gy", "gh"], "lengths", linear_before_reset=1),
        layer("GRU", "m", "x", 3, "forward", ["my", "mh"], clip=0.7),
        layer("RNN", "r", "x", 1, "bidirectional", ["ry", "rh"]),
        layer("GRU", "f", "few", 3, "forward", ["fy", "fh"], "lengths", linear_before_reset=1),
    ]
    names = ["ly", "lh", "lc", "gy", "gh", "my", "mh", "ry", "rh", "fy", "fh"]
    inputs = [("x", FLOAT, ["steps", 3, 4]), ("few", FLOAT, [6, 3, 4]), ("lengths", INT32, [3])]
    model("recurrent_loops", nodes, inputs, [(n, FLOAT, None) for n in names], weights)
    record("recurrent_loops", random(90, 11, 3, 4), random(91, 6, 3, 4), np.array([5, 6, 2], np.int32))


@writes_models
def control():
    def graph(name, nodes, inputs, outputs, weights=()):
        info = lambda v: h.make_tensor_value_info(*v)
        weights = [tensor(n, v) for n, v in dict(weights).items()]
        return h.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs], weights)
    row = ("row", FLOAT, [2])
    step = graph("step", [h.make_node("Add", ["state", "row"], ["next"]), h.make_node("Mul", ["next", "scale"], ["shown"])],
                 [("state", FLOAT, [2]), row], [("next", FLOAT, [2]), ("shown", FLOAT, [2])])
    turn = graph("turn", [h.make_node("Mul", ["s", "scale"], ["t"]), h.make_node("Identity", ["go"], ["on"])],
                 [("i", INT64, []), ("go", BOOL, []), ("s", FLOAT, [2])], [("on", BOOL, []), ("t", FLOAT, [2])])
    then = graph("then", [h.make_node("Neg", ["sum"], ["negative"])], [], [("negative", FLOAT, [2])])
    other = graph("other", [h.make_node("Exp", ["sum"], ["grown"])], [], [("grown", FLOAT, [2])])
    nodes = [
        h.make_node("Scan", ["zeros", "x"], ["sum", "steps"], body=step, num_scan_inputs=1),
        h.make_node("Loop", ["three", "", "sum"], ["looped"], body=turn),
        h.make_node("If", ["condition"], ["chosen"], then_branch=then, else_branch=other),
    ]
    weights = {"zeros": np.zeros(2, np.float32), "scale": np.float32([2, -1]), "three": np.int64(3)}
    outputs = [(n, FLOAT, None) for n in ["sum", "steps", "looped", "chosen"]]
    model("control", nodes, [("x", FLOAT, [4, 2]), ("condition", BOOL, [])], outputs, weights)
    record("control", random(1, 4, 2), np.array(False))


@writes_models
def loops():
    """Loops and scans whose trip counts are only known at run time."""
    def graph(name, nodes, inputs, outputs, weights=()):
        info = lambda v: h.make_tensor_value_info(*v)
        weights = [tensor(n, v) for n, v in dict(weights).items()]
        return h.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs], weights)
    counters = [("i", INT64, []), ("go", BOOL, [])]
    on = h.make_node("Identity", ["go"], ["on"])
    double = graph("double", [on, h.make_node("Add", ["s", "s"], ["t"]), h.make_node("Mul", ["t", "x"], ["shown"])],
                   counters + [("s", FLOAT, [2])], [("on", BOOL, []), ("t", FLOAT, [2]), ("shown", FLOAT, ["rows", 2])])
    square = graph("square", [on, h.make_node("Mul", ["s", "s"], ["t"]), h.make_node("Neg", ["t"], ["shown"])],
                   counters + [("s", FLOAT, [2])], [("on", BOOL, []), ("t", FLOAT, [2]), ("shown", FLOAT, [2])])
    below = graph("below", [h.make_node("Mul", ["v", "scale"], ["w"]), h.make_node("Less", ["w", "limit"], ["on"])],
                  counters + [("v", FLOAT, [])], [("on", BOOL, []), ("w", FLOAT, [])])
    grow = graph("grow", [on, h.make_node("Cast", ["i"], ["f"], to=FLOAT), h.make_node("Add", ["x", "f"], ["more"]),
                          h.make_node("Concat", ["all", "more"], ["longer"], axis=0)],
                 counters + [("all", FLOAT, [None, 2])], [("on", BOOL, []), ("longer", FLOAT, [None, 2])])
    inner = graph("inner", [h.make_node("Identity", ["go_in"], ["on_in"]), h.make_node("Add", ["p", "i"], ["q"])],
                  [("j", INT64, []), ("go_in", BOOL, []), ("p", INT64, [])], [("on_in", BOOL, []), ("q", INT64, [])])
    nest = graph("nest", [on, h.make_node("Loop", ["i", "", "n"], ["m"], body=inner)],
                 counters + [("n", INT64, [])], [("on", BOOL, []), ("m", INT64, [])])
    step = graph("step", [h.make_node("Add", ["state", "row"], ["next"]), h.make_node("Mul", ["next", "row"], ["shown"])],
                 [("state", FLOAT, [2]), ("row", FLOAT, [2])], [("next", FLOAT, [2]), ("shown", FLOAT, [2])])
    nodes = [
        h.make_node("Loop", ["five", "yes", "start"], ["doubled", "all"], body=double),
        h.make_node("Loop", ["none", "", "start"], ["same", "empty"], body=square),
        h.make_node("Loop", ["five", "no", "start"], ["same_too", "unused"], body=double),
        h.make_node("Loop", ["", "", "one"], ["above"], body=below),
        h.make_node("Loop", ["two", "", "one"], ["stopped"], body=below),
        h.make_node("Loop", ["five", "", "x"], ["grown"], body=grow),
        h.make_node("Loop", ["five", "", "count"], ["nested"], body=nest),
        h.make_node("Scan", ["start", "x"], ["sums", "rows"], body=step, num_scan_inputs=1),
        h.make_node("Scan", ["start", "x"], ["last", "back"], body=step, num_scan_inputs=1, scan_input_directions=[1],
                    scan_output_directions=[1], scan_output_axes=[1]),
    ]
    weights = {"start": np.float32([1, -2]), "one": np.float32(1), "scale": np.float32(1.5), "count": np.int64(7)}
    names = ["doubled", "all", "same", "empty", "same_too", "above", "stopped", "grown", "nested", "sums", "rows", "back"]
    outputs = [(n, INT64 if n == "nested" else FLOAT, None) for n in names]
    sizes = [("x", FLOAT, ["rows", 2]), ("five", INT64, []), ("none", INT64, []), ("two", INT64, [1]), ("yes", BOOL, []),
             ("no", BOOL, []), ("limit", FLOAT, [])]
    model("loops", nodes, sizes, outputs, weights)
    record("loops", random(1, 11, 2), *map(np.array, [5, -1, [2], True, False]), np.array(9, np.float32))


@writes_models
def batch_scan():
    """The first version of `Scan`, over sequences of different lengths."""
    info = lambda name, *shape: h.make_tensor_value_info(name, FLOAT, shape)
    body = h.make_graph([h.make_node("Add", ["state", "row"], ["next"]), h.make_node("Mul", ["next", "row"], ["shown"])], "step",
                        [info("state", 3), info("row", 3)], [info("next", 3), info("shown", 3)])
    nodes = [h.make_node("Scan", ["lengths", "start", "x"], ["last", "all"], body=body, num_scan_inputs=1, directions=[1]),
             h.make_node("Scan", ["", "start", "x"], ["sum", "sums"], body=body, num_scan_inputs=1)]
    inputs = [("lengths", INT64, [2]), ("start", FLOAT, [2, 3]), ("x", FLOAT, [2, "steps", 3])]
    model("batch_scan", nodes, inputs, [(n, FLOAT, None) for n in ["last", "all", "sum", "sums"]], opset=8)
    record("batch_scan", np.array([10, 4]), random(1, 2, 3), random(2, 2, 10, 3))


@writes_models
def quantized():
    nodes = [
        h.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        h.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        h.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["wd"], axis=1),
        h.make_node("MatMul", ["xd", "wd"], ["y"]),
        h.make_node("QLinearMatMul", ["xq", "xs", "xz", "wq", "s1", "z1", "ys", "yz"], ["q"]),
        h.make_node("DynamicQuantizeLinear", ["x"], ["d", "ds", "dz"]),
        h.make_node("MatMulInteger", ["d", "wq", "dz"], ["m"]),
    ]
    rng = np.random.default_rng(1)
    weights = {
        "xs": np.float32(0.02), "xz": np.uint8(120), "wq": rng.integers(-90, 90, (4, 3)).astype(np.int8),
        "ws": np.float32([0.01, 0.02, 0.03]), "wz": np.int8([0, 0, 0]), "s1": np.float32(0.01), "z1": np.int8(2),
        "ys": np.float32(0.05), "yz": np.uint8(100),
    }
    outputs = [("y", FLOAT, None), ("q", TensorProto.UINT8, None), ("m", INT32, None)]
    model("quantized", nodes, [("x", FLOAT, [2, 4])], outputs, weights)
    record("quantized", random(2, 2, 4))


@writes_models
def fake_quantized():
    """A network as quantized by ONNX Runtime: convolutions padded with zero points, with per-channel scales, depthwise;
    concatenated, added and pooled; matmuls, one with zero points in both operands."""
    rng = np.random.default_rng(3)
    weights, nodes = {}, []

    def between(x, scale, zero, kind=np.uint8):
        """QDQ pair between two operators."""
        weights.update({f"{x}_s": np.float32(scale), f"{x}_z": kind(zero)})
        parameters = [f"{x}_s", f"{x}_z"]
        nodes.append(h.make_node("QuantizeLinear", [x, *parameters], [f"{x}_q"]))
        nodes.append(h.make_node("DequantizeLinear", [f"{x}_q", *parameters], [f"{x}_d"]))
        return f"{x}_d"

    def dequantized(name, values, scales, zero=0, axis=0):
        scales = np.float32(scales)
        weights.update({f"{name}_q": values, f"{name}_s": scales, f"{name}_z": np.full(scales.shape, zero, values.dtype)})
        nodes.append(h.make_node("DequantizeLinear", [f"{name}_q", f"{name}_s", f"{name}_z"], [name], axis=axis))
        return name

    def conv(x, x_scale, y, shape, **more):
        scales = rng.uniform(0.01, 0.03, shape[0])
        w = dequantized(f"{y}_w", rng.integers(-127, 128, shape).astype(np.int8), scales)
        b = dequantized(f"{y}_b", rng.integers(-999, 1000, shape[0]).astype(np.int32), scales * x_scale)
        nodes.append(h.make_node("Conv", [x, w, b], [y], **more))

    x = between("x", 0.02, 120)
    conv(x, 0.02, "a", (5, 3, 3, 3), pads=[1, 1, 1, 1])
    nodes.append(h.make_node("Relu", ["a"], ["r"]))
    r = between("r", 0.03, 0)
    conv(r, 0.03, "b", (5, 1, 3, 3), pads=[1, 1, 1, 1], group=5)
    b = between("b", 0.05, 100)
    nodes.append(h.make_node("Add", [b, r], ["c"]))
    c = between("c", 0.06, 90)
    nodes.append(h.make_node("MaxPool", [c], ["p"], kernel_shape=[2, 2], strides=[2, 2]))
    p = between("p", 0.06, 90)
    nodes.append(h.make_node("Concat", [p, p], ["j"], axis=1))
    j = between("j", 0.06, 90)
    nodes.append(h.make_node("Reshape", [j, "shape"], ["f"]))
    f = between("f", 0.06, 90)
    m = dequantized("m_w", rng.integers(0, 256, (90, 4)).astype(np.uint8), [0.01, 0.02, 0.01, 0.03], 120, axis=1)
    nodes.append(h.make_node("MatMul", [f, m], ["m"]))
    between("m", 2, 7, np.int8)
    weights["shape"] = [1, 90]
    outputs = [("m_d", FLOAT, [1, 4]), ("m_q", TensorProto.INT8, [1, 4])]
    model("fake_quantized", nodes, [("x", FLOAT, [1, 3, 6, 6])], outputs, weights)
    record("fake_quantized", random(4, 1, 3, 6, 6) * 4)


@writes_models
def losses():
    nodes = [
        h.make_node("SoftmaxCrossEntropyLoss", ["x", "t", "w"], ["a", "log"], ignore_index=1),
        h.make_node("NegativeLogLikelihoodLoss", ["log", "t"], ["b"], reduction="none"),
    ]
    outputs = [(n, FLOAT, None) for n in ["a", "log", "b"]]
    model("losses", nodes, [("x", FLOAT, [3, 4]), ("t", INT64, [3])], outputs, {"w": np.abs(random(1, 4))})
    record("losses", random(2, 3, 4), np.array([2, 1, 0]))


@writes_models
def attention():
    nodes = [
        h.make_node("RotaryEmbedding", ["q", "cos", "sin"], ["turned"]),
        h.make_node("Attention", ["turned", "k", "v", "mask", "pk", "pv"], ["y", "keys", "values"], is_causal=1, softcap=2.0),
    ]
    heads = lambda n, length: [1, n, length, 4]
    inputs = [("q", FLOAT, heads(4, 3)), ("k", FLOAT, heads(2, 3)), ("v", FLOAT, heads(2, 3)), ("mask", BOOL, [3, 5]),
              ("pk", FLOAT, heads(2, 2)), ("pv", FLOAT, heads(2, 2))]
    angles = np.arange(6, dtype=np.float32).reshape(1, 3, 2)
    outputs = [(n, FLOAT, None) for n in ["y", "keys", "values"]]
    model("attention", nodes, inputs, outputs, {"cos": np.cos(angles), "sin": np.sin(angles)}, opset=23)
    mask = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [1, 1, 0, 1, 1]], bool)
    record("attention", *[random(i, *heads(n, m)) for i, (n, m) in enumerate([(4, 3), (2, 3), (2, 3)])], mask,
           random(4, *heads(2, 2)), random(5, *heads(2, 2)))


@writes_models
def attention_groups():
    """Query heads that share keys and values, for one query and several, with and without a bias."""
    node = lambda inputs, outputs, **attributes: h.make_node("Attention", inputs.split(), outputs.split(), **attributes)
    nodes = [
        node("q k v", "plain"),
        node("q k v", "all none1 none2 scores", scale=0.3, softcap=1.5),
        node("q k v mask", "masked none3 none4 soft", qk_matmul_output_mode=3),
        node("one k v", "single"),
        node("flat_q flat_k flat_v", "flat", q_num_heads=6, kv_num_heads=2, is_causal=1),
    ]
    inputs = [("q", FLOAT, [2, 6, 3, 4]), ("k", FLOAT, [2, 2, 5, 4]), ("v", FLOAT, [2, 2, 5, 3]), ("mask", FLOAT, [2, 6, 3, 5]),
              ("one", FLOAT, [2, 6, 1, 4]), ("flat_q", FLOAT, [2, 3, 24]), ("flat_k", FLOAT, [2, 3, 8]), ("flat_v", FLOAT, [2, 3, 6])]
    outputs = [(name, FLOAT, None) for name in "plain all scores masked soft single flat".split()]
    model("attention_groups", nodes, inputs, outputs, opset=23)
    record("attention_groups", *[random(i, *shape) for i, (_, _, shape) in enumerate(inputs)])


@writes_models
def vision():
    nodes = [
        h.make_node("GridSample", ["x", "grid"], ["sampled"], padding_mode="border", align_corners=1),
        h.make_node("RoiAlign", ["x", "rois", "batch"], ["aligned"], output_height=2, output_width=2, sampling_ratio=2),
        h.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"]),
        h.make_node("Compress", ["x", "rows"], ["some"], axis=2),
        h.make_node("Hardmax", ["x"], ["largest"]),
        h.make_node("CenterCropPad", ["x", "wanted"], ["centre"], axes=[2, 3]),
        h.make_node("HannWindow", ["length"], ["window"]),
        h.make_node("DFT", ["signal"], ["spectrum"], axis=1, onesided=1),
    ]
    boxes = [[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 0, 1, 0.2]]]
    weights = {
        "rois": np.float32([[0, 0, 3, 3], [1, 1, 4, 3]]), "batch": [0, 0], "boxes": np.float32(boxes),
        "most": [2], "overlap": np.float32([0.5]), "least": np.float32([0.2]), "wanted": [3, 7],
        "rows": np.array([1, 0, 0, 1]), "length": np.int64(6),
    }
    weights["rows"] = weights["rows"].astype(bool)
    inputs = [("x", FLOAT, [1, 2, 4, 5]), ("grid", FLOAT, [1, 3, 2, 2]), ("scores", FLOAT, [1, 1, 4]), ("signal", FLOAT, [1, 8, 1])]
    names = ["sampled", "aligned", "some", "largest", "centre", "window", "spectrum"]
    model("vision", nodes, inputs, [(n, FLOAT, None) for n in names] + [("kept", INT64, None)], weights, opset=18)
    record("vision", random(1, 1, 2, 4, 5), 1.5 * random(2, 1, 3, 2, 2), np.float32([[[0.9, 0.8, 0.7, 0.1]]]), random(3, 1, 8, 1))


@writes_models
def functions():
    scaled = h.make_function(
        "own", "Scaled", ["a"], ["b"],
        [h.make_node("Constant", [], ["k"]), h.make_node("Mul", ["a", "k"], ["b"], "/times")],
        [h.make_opsetid("", 17)], ["factor"],
    )
    reference = scaled.node[0].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "factor", onnx.AttributeProto.FLOAT
    twice = h.make_function(
        "own", "Twice", ["a"], ["c"],
        [h.make_node("Scaled", ["a"], ["b"], domain="own", factor=3.0),
         h.make_node("Scaled", ["b"], ["c"], domain="own", factor=0.5)],
        [h.make_opsetid("", 17), h.make_opsetid("own", 1)],
    )
    nodes = [h.make_node("Twice", ["x"], ["t"], "/twice", domain="own"), h.make_node("Add", ["t", "x"], ["y"])]
    shape = [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]
    model("functions", nodes, *shape, functions=[scaled, twice], domains={"own": 1})
    record("functions", random(1, 4))


@writes_models
def external():
    nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])]
    weights = {"w": random(1, 3, 4), "b": random(2, 4)}
    model("external", nodes, [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 4])], weights, data="external.data")
    record("external", random(3, 2, 3))


@writes_models
def floats():
    """Corner cases of floating point, by the specification: computed in float64 and rounded once. ONNX Runtime does not
    propagate NaN everywhere, and rounds each step of float16."""
    nan, inf, half = np.nan, np.inf, TensorProto.FLOAT16
    x = np.float32([[1, nan, 3, -2, 0], [4, 5, inf, -inf, -1]])
    logs = np.float32([[-inf, -inf, -inf], [inf, 1, -inf], [-inf, 0, 1], [nan, inf, 0], [900, 900, 899]])
    short = np.float16([[300, -400, 0.5, 1000], [60000, -60000, 30000, 2]])
    wide = np.array([1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, -1 - 2**-11 - 2**-40, 65519.999, 1e300, nan])
    whole = np.array([(1 << 62) + (1 << 54) + 1, -(1 << 30) - (1 << 22) - 1, 5])
    quantized = np.float32([1, -2.7, 240, 500, -1e5, inf, nan, 1e-9])
    nodes, outputs, results = [], [], []

    def add(op, inputs, expected, more=(), **attrs):
        names = [f"y{len(results) + i}" for i in range(1 + len(more))]
        nodes.append(h.make_node(op, inputs, names, **attrs))
        for name, value in zip(names, [expected, *more]):
            value = np.asarray(value)
            outputs.append((name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape))
            results.append(value)

    def converted(op, inputs, expected, **attrs):
        """Through a dtype that numpy lacks."""
        nodes.append(h.make_node(op, inputs, [f"t{len(results)}"], **attrs))
        add("Cast", [f"t{len(results)}"], np.float32(expected), to=FLOAT)

    extremes = (np.max, np.min)
    add("Clip", ["x", "two", "one"], np.where(np.isnan(x), x, np.float32(1)))
    add("Clip", ["x", "high", "low"], np.where(np.isnan(x), x, np.float32(1)))
    for op, of in zip(("ReduceMax", "ReduceMin"), extremes):
        add(op, ["x", "last"], of(x, 1), keepdims=0)
        add(op, ["x", "first"], of(x, 0), keepdims=0)
    windows = np.stack([x[:, i : i + 2] for i in range(4)], 1)
    add("MaxPool", ["image"], np.max(windows, 2)[None], kernel_shape=[2])
    places = np.int64([[[1, 1, 2, 4], [6, 7, 7, 9]]])
    add("MaxPool", ["image"], np.max(windows, 2)[None], [places], kernel_shape=[2])
    add("GlobalMaxPool", ["image"], np.max(x, 1).reshape(1, 2, 1))
    for reduction, of in zip(("max", "min"), (np.maximum, np.minimum)):
        scattered = np.concatenate([of(x[0, :3], np.float32([7, 7, nan])), x[0, 3:]])
        add("ScatterElements", ["row", "places", "updates"], scattered, reduction=reduction)
    with np.errstate(all="ignore"):
        sums = np.float32([-inf, inf, np.log(1 + np.e), nan, 900 + np.log(2 + np.exp(-1))])
        add("ReduceLogSumExp", ["logs", "last"], sums, keepdims=0)
        add("ReduceLogSumExp", ["logs", "last"], sums[:, None], keepdims=1)
    below = np.where(np.isnan(x) | (x >= 0), x, -np.float32(inf))
    add("LeakyRelu", ["x"], below, alpha=inf)
    add("Elu", ["x"], below, alpha=inf)
    add("PRelu", ["x", "infinite"], below)
    add("Cast", ["wide"], np.float16([1 + 2**-10, 1 + 2**-8, -1 - 2**-10, 65504, inf, nan]), to=half)
    bfloats = [1, 1 + 2**-7, -1, 65536, inf, nan]
    converted("Cast", ["wide"], bfloats, to=TensorProto.BFLOAT16)
    converted("Cast", ["whole"], [2**62 + 2**55, -(2**30) - 2**23, 5], to=TensorProto.BFLOAT16)
    small = {
        TensorProto.FLOAT8E4M3FN: ([2, -5.5, nan, nan, nan, nan, nan, 0], [2, -5.5, 448, 448, -448, 448, nan, 0]),
        TensorProto.FLOAT8E5M2: ([2, -5, 512, 1024, -inf, inf, nan, 0], [2, -5, 512, 1024, -57344, 57344, nan, 0]),
        TensorProto.FLOAT8E4M3FNUZ: ([2, -5.5, nan, nan, nan, nan, nan, 0], [2, -5.5, 240, 240, -240, 240, nan, 0]),
        TensorProto.FLOAT8E5M2FNUZ: ([2, -5, 512, 1024, nan, nan, nan, 0], [2, -5, 512, 1024, -57344, 57344, nan, 0]),
    }
    for to, expected in small.items():
        for saturate in range(2):
            attrs = dict(output_dtype=to, saturate=saturate)
            converted("QuantizeLinear", ["quantized", "scale"], expected[saturate], **attrs)
            converted("Cast", ["doubled"], expected[saturate], to=to, saturate=saturate)
    s = short.astype(np.float64)
    over = dict(keepdims=0)
    rounded = lambda v: np.asarray(v).astype(np.float16)
    with np.errstate(all="ignore"):
        add("ReduceL1", ["short", "last"], rounded(np.abs(s).sum(1)), **over)
        add("ReduceL2", ["short", "last"], rounded(np.sqrt((s * s).sum(1))), **over)
        add("ReduceSumSquare", ["small", "last"], rounded((s * s / 2**20).sum(1)), **over)
        add("ReduceLogSum", ["positive", "last"], rounded(np.log(np.abs(s).sum(1))), **over)
        add("LpNormalization", ["short"], rounded(s / np.sqrt((s * s).sum(1, keepdims=True))), p=2, axis=1)
        add("LpNormalization", ["short"], rounded(s / np.abs(s).sum(1, keepdims=True)), p=1, axis=1)
        pairs = np.sqrt(s[:, :-1] ** 2 + s[:, 1:] ** 2).reshape(1, 2, 3)
        add("LpPool", ["strip"], rounded(pairs), kernel_shape=[2], p=2)
        add("GlobalLpPool", ["strip"], rounded(np.sqrt((s * s).sum(1)).reshape(1, 2, 1)), p=2)
        near = (s * s).sum(0, keepdims=True)
        add("LRN", ["strip"], rounded(s / (1 + 1e-4 / 3 * near) ** 0.75)[None], size=3)
        centred = s - s.mean(1, keepdims=True)
        variance = (centred**2).mean(1, keepdims=True)
        add("MeanVarianceNormalization", ["short"], rounded(centred / np.sqrt(variance)), axes=[1])
        inverse = 1 / np.sqrt(variance + 1e-5)
        statistics = [np.float32(s.mean(1, keepdims=True)), np.float32(inverse)]
        add("LayerNormalization", ["short", "ones"], rounded(centred * inverse), statistics)
        add("Gemm", ["short", "weights"], rounded(0.001 * s @ np.full((4, 2), 4.0)), alpha=0.001)
        add("Mean", ["short", "short", "short"], short)
        add("Sum", ["short", "short", "negative"], short)
        add("Det", ["square"], rounded(300 * 400 * 0.25))
        add("Det", ["rolled"], rounded(-19))
    inputs = {
        "x": x, "logs": logs, "short": short, "wide": wide, "whole": whole, "quantized": quantized,
        "high": np.float32(2), "low": np.float32(1), "image": x[None], "row": x[0], "doubled": quantized * 2,
        "updates": np.float32([7, 7, nan]), "small": short / np.float16(1024), "positive": np.abs(short),
        "strip": short[None], "negative": -short, "infinite": np.float32([inf]),
        "square": np.float16([[300, 0, 0], [0, 400, 0], [0, 0, 0.25]]),
        # A tridiagonal matrix of determinant n + 1, and an odd permutation of its rows.
        "rolled": np.roll(2 * np.eye(18) - np.eye(18, k=1) - np.eye(18, k=-1), 1, 0).astype(np.float16),
    }
    weights = {
        "one": np.float32(1), "two": np.float32(2), "last": np.int64([1]), "first": np.int64([0]),
        "places": np.int64([0, 1, 2]), "scale": np.float32(0.5), "ones": np.ones(4, np.float16),
        "weights": np.full((4, 2), 4, np.float16),
    }
    described = [(n, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    model("floats", nodes, described, outputs, weights, opset=21)
    np.savez("floats.inputs.npz", **{str(i): v for i, v in enumerate(inputs.values())})
    np.savez("floats.expected.npz", **{str(i): v for i, v in enumerate(results)})


@writes_models
def bad():
    x, y = [("x", FLOAT, [2, 3])], [("y", FLOAT, None)]
    add = [h.make_node("Add", ["x", "w"], ["y"], "/add")]
    model("bad/cycle", [h.make_node("Add", ["x", "b"], ["a"], "/first"), h.make_node("Relu", ["a"], ["b"], "/second"),
                        h.make_node("Relu", ["b"], ["y"])], x, y)
    model("bad/twice", [h.make_node("Relu", ["x"], ["y"], "/one"), h.make_node("Exp", ["x"], ["y"], "/other")], x, y)
    model("bad/no_value", [h.make_node("Add", ["x", "missing"], ["y"], "/add")], x, y)
    model("bad/no_output", [h.make_node("Relu", ["x"], ["z"])], x, y)
    model("bad/shapes", add, x, y, {"w": random(1, 4)})
    model("bad/axis", [h.make_node("Concat", ["x", "x"], ["y"], "/join", axis=5),
                       h.make_node("Softmax", ["x"], ["z"], axis=7)], x, y)
    model("bad/unsupported", [h.make_node("NoSuchOp", ["x"], ["a"], "/a"), h.make_node("NoSuchOp", ["a"], ["b"], "/b"),
                              h.make_node("Other", ["b"], ["y"], domain="com.example")], x, y, domains={"com.example": 1})
    model("bad/strings", [h.make_node("Add", ["x", "words"], ["y"], "/add")], x + [("words", TensorProto.STRING, [2])], y)
    construct, at = h.make_node("SequenceConstruct", ["x", "x", "x"], ["s"], "/construct"), {"at": np.array(5)}
    model("bad/sequence", [construct, h.make_node("Relu", ["s"], ["y"], "/relu")], x, y)
    model("bad/sequence_index", [construct, h.make_node("SequenceAt", ["s", "at"], ["y"], "/at")], x, y, at)
    model("bad/not_a_sequence", [h.make_node("SequenceAt", ["x", "at"], ["y"], "/at")], x, y, at)
    model("bad/sequence_type", [construct, h.make_node("SequenceInsert", ["s", "at"], ["t"], "/insert"),
                                h.make_node("SequenceAt", ["t", "at"], ["y"])], x, y, at)
    model("bad/sequence_shapes", [h.make_node("SequenceConstruct", ["x", "at"], ["s"]),
                                  h.make_node("ConcatFromSequence", ["s"], ["y"], "/join", axis=0)], x, y, {"at": random(1, 2, 2)})
    model("bad/sequence_output", [construct], x, [("s", FLOAT, [2, 3])])
    model("bad/no_element", [h.make_node("Optional", [], ["o"], type=h.make_tensor_type_proto(FLOAT, [2, 3])),
                             h.make_node("OptionalGetElement", ["o"], ["y"], "/get")], x, y)
    model("bad/recursive", [h.make_node("F", ["x"], ["y"], "/f", domain="own")], x, y, domains={"own": 1}, functions=[
        h.make_function("own", "F", ["a"], ["b"], [h.make_node("F", ["a"], ["b"], domain="own")],
                        [h.make_opsetid("own", 1)])])
    model("bad/many_sizes", [h.make_node("Reshape", ["x", "sizes"], ["y"], "/reshape")],
          x + [("sizes", TensorProto.INT64, [2**31])], y)
    model("bad/perm", [h.make_node("Shape", ["x"], ["s"]), h.make_node("Reshape", ["s", "two"], ["t"]),
                       h.make_node("Transpose", ["t"], ["u"], "/turn", perm=[1]), h.make_node("Cast", ["u"], ["y"], to=FLOAT)],
          x, y, {"two": np.array([1, 2])})
    model("bad/scatter", [h.make_node("TensorScatter", ["cache", "x"], ["y"], "/scatter", axis=2)],
          x + [("cache", FLOAT, [2, 3, 4, 5])], y, opset=24)
    model("bad/attribute", [h.make_node("MaxPool", ["image"], ["a"], "/pool", kernel_shape=[2], stride=[2]),
                            h.make_node("Clip", ["x"], ["b"], "/clip", min=0.0),
                            h.make_node("CumSum", ["x", "one"], ["c"], "/sums", direction="up"),
                            h.make_node("Relu", ["x"], ["y"], "/relu", alpha=0.1)],
          x + [("image", FLOAT, [1, 2, 4])], y, {"one": np.array(1)}, opset=13)
    model("bad/later", [h.make_node("MaxPool", ["image"], ["y"], "/pool", kernel_shape=[2], ceil_mode=1)],
          [("image", FLOAT, [1, 2, 5])], y, opset=9)
    model("bad/new_operators", [h.make_node("Relu", ["x"], ["y"])], x, y, opset=1000)
    newer = model("bad/new_format", [h.make_node("Relu", ["x"], ["y"])], x, y)
    newer.ir_version = 1000
    onnx.save(newer, "bad/new_format.onnx")
    relu = [h.make_node("Relu", ["x"], ["y"])]
    model("bad/declared_shape", relu, x, [("y", FLOAT, [2, 4])])
    model("bad/declared_rank", relu, x, [("y", FLOAT, [2, 3, 1])])
    model("bad/declared_dtype", relu, x, [("y", INT64, [2, 3])])
    model("bad/reflect", [h.make_node("Pad", ["x", "pads"], ["y"], "/pad", mode="reflect")], x, y,
          {"pads": np.array([0, 3, 0, 0])})
    model("bad/split", [h.make_node("Split", ["x", "sizes"], ["y", "z"], "/split")], x, y, {"sizes": np.array([2, 2])})
    model("bad/negative_k", [h.make_node("TopK", ["x", "k"], ["y", "at"], "/top")], x, y, {"k": np.array([-1])})
    model("bad/activation", [h.make_node("RNN", ["x", "w", "w"], ["y"], "/rnn", activations=["Cosine"], hidden_size=1)],
          [("x", FLOAT, [1, 1, 1])], y, {"w": np.float32([[[1]]])})
    sparse = model("bad/sparse", add, x, y)
    sparse.graph.sparse_initializer.append(
        h.make_sparse_tensor(tensor("w", np.float32([1, 2])), tensor("", np.array([0, 9])), [2, 3]))
    onnx.save(sparse, "bad/sparse.onnx")
    short = model("bad/short", add, x, y, {"w": random(1, 3)})
    short.graph.initializer[0].dims[0] = 300
    onnx.save(short, "bad/short.onnx")
    huge = model("bad/huge", add, x, y, {"w": random(1, 3)})
    huge.graph.initializer[0].dims[:] = [2**40, 2**40]
    onnx.save(huge, "bad/huge.onnx")
    for name, location in [("outside", "../external.data"), ("absent", "no_such.data"), ("beyond", "beyond.onnx")]:
        made = model(f"bad/{name}", add, x, y, {"w": random(1, 3)})
        data = made.graph.initializer[0]
        data.ClearField("raw_data")
        data.data_location = TensorProto.EXTERNAL
        for key, value in [("location", location), ("offset", "1000000" if name == "beyond" else "0")]:
            entry = data.external_data.add()
            entry.key, entry.value = key, value
        onnx.save(made, f"bad/{name}.onnx")

    info = lambda v: h.make_tensor_value_info(*v)
    graph = lambda name, nodes, inputs, outputs: h.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs])
    counters, on = [("i", INT64, []), ("go", BOOL, [])], h.make_node("Identity", ["go"], ["on"])
    state, results = counters + [("s", FLOAT, None)], [("on", BOOL, []), ("t", FLOAT, None)]
    loop = lambda step, inputs=state, outputs=results: h.make_node(
        "Loop", ["trips", "", "x"], ["y"], "/loop", body=graph("body", [on, step], inputs, outputs))
    trips = x + [("trips", INT64, [])]
    neg = h.make_node("Neg", ["x"], ["t"])
    model("bad/loop_inputs", [loop(neg, counters)], trips, y)
    model("bad/loop_results", [loop(neg, outputs=results[:1])], trips, y)
    model("bad/loop_rank", [loop(h.make_node("Unsqueeze", ["s", "zero"], ["t"], "/grow"))], trips, y, {"zero": np.array([0])})
    model("bad/loop_dtype", [loop(h.make_node("Cast", ["s"], ["t"], to=INT64))], trips, y)
    model("bad/loop_condition", [h.make_node("Loop", ["", "", "x"], ["y"], "/loop", body=graph(
        "body", [h.make_node("Neg", ["s"], ["t"])], state, [("s", FLOAT, None), ("t", FLOAT, None)]))], x, y)
    branch = lambda step: graph("branch", [step], [], [("t", FLOAT, None)])
    choose = lambda other: h.make_node("If", ["which"], ["y"], "/choose", then_branch=branch(neg), else_branch=branch(other))
    which = x + [("which", BOOL, [])]
    model("bad/if_ranks", [choose(h.make_node("Unsqueeze", ["x", "zero"], ["t"]))], which, y, {"zero": np.array([0])})
    model("bad/if_dtypes", [choose(h.make_node("Cast", ["x"], ["t"], to=INT64))], which, y)
    model("bad/if_results", [h.make_node("If", ["which"], ["y", "z"], "/choose", then_branch=branch(neg), else_branch=branch(neg))], which, y)
    step = graph("step", [h.make_node("Add", ["s", "row"], ["t"])], [("s", FLOAT, None)], [("t", FLOAT, None)])
    model("bad/scan_inputs", [h.make_node("Scan", ["x", "x"], ["y"], "/scan", body=step, num_scan_inputs=1)], x, y)


    model("bad/unranked", [h.make_node("Neg", ["x"], ["y"], "/neg")], [("x", FLOAT, None)], [("y", FLOAT, None)])
    padded = h.make_node("MaxPool", ["x"], ["y"], "/pool", kernel_shape=[2], auto_pad="SAME")
    model("bad/auto_pad", [padded], [("x", FLOAT, [1, 1, 4])], [("y", FLOAT, None)])
    added = h.make_node("Add", ["x", "b"], ["y"], "/add")
    model("bad/aligned", [added], [("x", FLOAT, [2, 3]), ("b", FLOAT, [3])], [("y", FLOAT, None)], opset=6)


@writes_models
def misfits():
    """Models of one node with dynamic inputs that may be invalid: `tests/onnx.rs` has the inputs and messages."""
    def one(name, op, inputs, outputs=1, opset=21, weights=(), **attributes):
        names = [i[0] if isinstance(i, tuple) else i for i in inputs]
        results = [f"y{i}" for i in range(outputs)]
        node = h.make_node(op, names, results, "/node", **attributes)
        dtype = attributes.get("to", FLOAT)
        given = [i for i in inputs if isinstance(i, tuple)]
        info = [(r, INT64 if op == "TopK" and r == "y1" else dtype, None) for r in results]
        model(f"misfits/{name}", [node], given, info, weights, opset)

    x, image = ("x", FLOAT, ["n", "m"]), ("x", FLOAT, ["n", 1, "h"])
    ints = lambda name, *shape: (name, INT64, list(shape))
    one("gather", "Gather", [x, ints("i", "k")], axis=1)
    one("gather_constant", "Gather", [x, "i"], axis=1, weights={"i": np.array([7])})
    one("gather_elements", "GatherElements", [x, ints("i", "n", "k")], axis=1)
    one("gather_nd", "GatherND", [x, ints("i", "k", 2)])
    one("scatter_elements", "ScatterElements", [x, ints("i", "k", "l"), ("u", FLOAT, ["k", "l"])], axis=1)
    one("scatter_nd", "ScatterND", [x, ints("i", "k", 1), ("u", FLOAT, ["k", "m"])], reduction="add")
    one("compress", "Compress", [x, ("c", BOOL, ["k"])], axis=1)
    one("reverse_sequence", "ReverseSequence", [x, ints("s", "m")])
    one("rnn", "RNN", [("x", FLOAT, [2, "b", 1]), "w", "r", "", ("s", INT32, ["b"])], hidden_size=1,
        weights={"w": np.ones((1, 1, 1), np.float32), "r": np.ones((1, 1, 1), np.float32)})
    one("roi_align", "RoiAlign", [("x", FLOAT, ["n", 1, 4, 4]), ("r", FLOAT, ["k", 4]), ints("b", "k")])
    one("reshape", "Reshape", [x, ints("s", 2)])
    one("reshape_constant", "Reshape", [x, "s"], weights={"s": np.array([-1, 5])})
    one("squeeze", "Squeeze", [x, "a"], weights={"a": np.array([0])})
    one("squeeze_at", "Squeeze", [x, ints("a", 1)])
    one("unsqueeze_at", "Unsqueeze", [x, ints("a", 1)])
    one("split", "Split", [x, "s"], outputs=2, axis=1, weights={"s": np.array([2, 2])})
    one("split_at", "Split", [x, ints("s", 2)], outputs=2, axis=1)
    one("topk", "TopK", [x, ints("k", 1)], outputs=2)
    one("cumsum", "CumSum", [x, ints("a")])
    one("slice_at", "Slice", [x, ints("s", 1), ints("e", 1), ints("a", 1)])
    one("tile", "Tile", [x, ints("r", 2)])
    one("pad", "Pad", [x, ints("p", 4)])
    for mode in ["reflect", "edge", "wrap"]:
        one(f"pad_{mode}", "Pad", [x, ints("p", 4)], mode=mode)
        one(f"pad_{mode}_constant", "Pad", [x, "p"], weights={"p": np.array([2, 0, 2, 0])}, mode=mode)
    one("loss", "NegativeLogLikelihoodLoss", [x, ints("t", "n")], ignore_index=-100)
    one("conv", "Conv", [image, "w"], weights={"w": np.ones((1, 1, 3), np.float32)})
    chosen = h.make_graph([h.make_node("SequenceAt", ["s", "i"], ["y"], "/node")], "sequence_at",
                          [h.make_tensor_sequence_value_info("s", FLOAT, ["n", "m"]), h.make_tensor_value_info(*ints("i"))], [h.make_tensor_value_info("y", FLOAT, None)])
    onnx.save(h.make_model(chosen, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="tests"), "misfits/sequence_at.onnx")
    given = [h.make_tensor_sequence_value_info("given", FLOAT, ["k", 2]), h.make_tensor_value_info("x", FLOAT, ["n", 2])]
    graph = h.make_graph([h.make_node("SequenceInsert", ["given", "x"], ["all"], "/node"), h.make_node("ConcatFromSequence", ["all"], ["y"], "/node", axis=0)],
                         "given", given, [h.make_tensor_value_info("y", FLOAT, [None, 2]), h.make_tensor_sequence_value_info("all", FLOAT, None)])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="tests"), "misfits/given.onnx")
    words = [("words", TensorProto.STRING, ["n"]), ("mark", TensorProto.STRING, []), ("parts", TensorProto.STRING, ["n", None]), ("counts", INT64, ["n"])]
    marked = [h.make_node("Constant", [], ["bang"], value_string="!"), h.make_node("StringConcat", ["words", "bang"], ["mark"], "/node"),
              h.make_node("StringSplit", ["words"], ["parts", "counts"])]
    model("misfits/words", marked, words[:1], [("mark", TensorProto.STRING, ["n"]), *words[2:]], opset=20)
    optional = h.make_value_info("x", h.make_optional_type_proto(h.make_tensor_type_proto(FLOAT, [2])))
    graph = h.make_graph([h.make_node("OptionalHasElement", ["x"], ["has"]), h.make_node("OptionalGetElement", ["x"], ["y"], "/node")], "optional",
                         [optional], [h.make_tensor_value_info("has", BOOL, []), h.make_tensor_value_info("y", FLOAT, [2])])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9, producer_name="tests"), "misfits/optional.onnx")
    split = h.make_node("SplitToSequence", ["x", "k"], ["s"], "/node", axis=1)
    model("misfits/sequence_split", [split, h.make_node("SequenceLength", ["s"], ["y"])], [x, ints("k", "l")], [("y", INT64, [])])
    value = h.make_tensor_value_info("s", FLOAT, [])
    endless = h.make_graph([h.make_node("Abs", ["s"], ["t"]), h.make_node("IsInf", ["t"], ["is"]), h.make_node("Not", ["is"], ["on"])], "endless",
                           [h.make_tensor_value_info("i", INT64, []), h.make_tensor_value_info("go", BOOL, []), value],
                           [h.make_tensor_value_info("on", BOOL, []), h.make_tensor_value_info("t", FLOAT, [])])
    model("misfits/endless", [h.make_node("Loop", ["", "", "x"], ["y"], "/node", body=endless)], [("x", FLOAT, [])], [("y", FLOAT, [])])
    model("misfits/declared", [h.make_node("Relu", ["x"], ["y"], "/node")], [x], [("y", FLOAT, [2, "m"])])


@writes_models
def slices():
    """Slices that select nothing, or reach as far as int64 does, along known and symbolic axes, and a split with an empty
    part."""
    least, most = -2**63, 2**63 - 1
    bounds = {
        "nothing": ([0], [5], [0], [-1]), "nothing_of_all": ([0], [most], [1], [-1]), "nothing_by_3": ([1], [3], [1], [-3]),
        "nothing_of_two": ([0, 1], [2, 4], [0, 1], [-1, -2]), "one_of_two": ([-1, 0], [least, 4], [1, 0], [-1, -1]),
        "far_step": ([1], [most], [0], [most]), "far_step_back": ([-1], [least], [1], [least + 1]),
        "farthest_step_back": ([3], [0], [1], [least]), "whole_back": ([most], [least], [0], [-1]),
        "nothing_forward": ([4], [2], [1], [2]),
    }
    nodes, weights, results = [], {}, []
    given = {"x": random(1, 3, 6), "y": random(2, 4, 7)}
    for name, lists in bounds.items():
        for x in ["x", "y"]:
            parts = [slice(None)] * 2
            for start, end, axis, step in zip(*lists):
                parts[axis] = slice(start, end, step)
            results.append(given[x][tuple(parts)])
            inputs = [f"{name}_{part}" for part in ("starts", "ends", "axes", "steps")]
            nodes.append(h.make_node("Slice", [x] + inputs, [f"{name}_of_{x}"]))
            weights.update(zip(inputs, lists))
    nodes.append(h.make_node("Split", ["x"], ["first", "second", "third", "fourth", "fifth"], num_outputs=5, axis=1))
    results += [given["x"][:, at:at + 2] for at in (0, 2, 4, 6, 8)]
    outputs = [(name, FLOAT, None) for node in nodes for name in node.output]
    model("slices", nodes, [("x", FLOAT, [3, 6]), ("y", FLOAT, ["n", "m"])], outputs, weights, opset=18)
    record_results("slices", given.values(), results)


@writes_models
def left_out():
    """Inputs that function calls omit, and a loop whose body shadows outer names."""
    bounded = h.make_function(
        "own", "Bounded", ["a", "low", "high"], ["b"], [h.make_node("Clip", ["a", "low", "high"], ["b"])],
        [h.make_opsetid("", 17)])
    upper = h.make_function(
        "own", "Upper", ["a", "high"], ["b"], [h.make_node("Bounded", ["a", "", "high"], ["b"], domain="own")],
        [h.make_opsetid("", 17), h.make_opsetid("own", 1)])
    info = h.make_tensor_value_info
    body = h.make_graph(
        [h.make_node("Identity", ["go"], ["on"]), h.make_node("Add", ["state", "x"], ["looped"])], "body",
        [info("i", INT64, []), info("go", BOOL, []), info("state", FLOAT, ["n"])],
        [info("on", BOOL, []), info("looped", FLOAT, ["n"])])
    nodes = [
        h.make_node("Bounded", ["x"], ["all"], domain="own"), h.make_node("Bounded", ["x", "low"], ["above"], domain="own"),
        h.make_node("Bounded", ["x", "", "high"], ["below"], domain="own"), h.make_node("Upper", ["x", "high"], ["upper"], domain="own"),
        h.make_node("Upper", ["x"], ["upper_of_all"], domain="own"), h.make_node("Loop", ["three", "", "x"], ["looped"], body=body),
    ]
    weights = {"low": np.float32(-0.1), "high": np.float32(0.2), "three": np.int64(3)}
    names = ["all", "above", "below", "upper", "upper_of_all", "looped"]
    model("left_out", nodes, [("x", FLOAT, ["n"])], [(n, FLOAT, ["n"]) for n in names], weights, functions=[bounded, upper], domains={"own": 1})
    record("left_out", random(1, 6))


@writes_models
def normalized():
    """Scales and biases that broadcast to the normalized axes, or also along others."""
    def node(op, inputs, axis):
        return h.make_node(op, inputs, ["_".join([op[:2], *inputs[1:], str(abs(axis))])], axis=axis)
    nodes = [
        node("LayerNormalization", ["x", "one", "one"], -1), node("LayerNormalization", ["x", "row", "last"], -1),
        node("LayerNormalization", ["x", "last", "one"], -2), node("LayerNormalization", ["x", "column", "both"], -2),
        node("LayerNormalization", ["x", "whole", "column"], -1), node("LayerNormalization", ["x", "both"], -1),
        node("RMSNormalization", ["x", "one"], -1), node("RMSNormalization", ["x", "column"], -2),
        node("RMSNormalization", ["x", "column"], -1), node("RMSNormalization", ["x", "row"], -1),
    ]
    weights = {
        "one": random(1, 1), "last": random(2, 4), "row": random(3, 1, 4), "column": random(4, 3, 1),
        "both": random(5, 3, 4), "whole": random(6, 2, 1, 4),
    }
    model("normalized", nodes, [("x", FLOAT, [2, 3, 4])], [(n.output[0], FLOAT, None) for n in nodes], weights, opset=23)
    record("normalized", random(7, 2, 3, 4))


@writes_models
def windows():
    """Padding that depends on dynamic sizes, and partial windows."""
    kernel = dict(kernel_shape=[3, 4], strides=[2, 3])
    upper, lower = [dict(auto_pad=mode, **kernel) for mode in ("SAME_UPPER", "SAME_LOWER")]
    nodes = [
        h.make_node("Conv", ["x", "w"], ["conv"], auto_pad="SAME_LOWER", strides=[2, 3]),
        h.make_node("ConvTranspose", ["x", "v"], ["transposed"], auto_pad="SAME_UPPER", strides=[2, 3]),
        h.make_node("AveragePool", ["x"], ["mean"], **lower),
        h.make_node("AveragePool", ["x"], ["whole_mean"], count_include_pad=1, **upper),
        h.make_node("MaxPool", ["x"], ["max"], **upper),
        h.make_node("LpPool", ["x"], ["norm"], **lower),
        h.make_node("LpPool", ["z"], ["norm_up"], ceil_mode=1, pads=[1, 0, 0, 2], **kernel),
        h.make_node("LpPool", ["z"], ["norm_beyond"], ceil_mode=1, p=1, kernel_shape=[2, 2], strides=[3, 4], pads=[1, 1, 1, 1]),
    ]
    inputs = [("x", FLOAT, ["n", 2, "h", "w_"]), ("z", FLOAT, [1, 1, 6, 8])]
    outputs = [(name, FLOAT, None) for node in nodes for name in node.output]
    model("windows", nodes, inputs, outputs, {"w": random(1, 3, 2, 3, 4), "v": random(2, 2, 3, 3, 4)}, opset=22)
    record("windows", random(3, 1, 2, 6, 7), random(4, 1, 1, 6, 8))


@writes_models
def edges():
    """Corner cases of operators."""
    nodes = [
        h.make_node("TopK", ["x", "none"], ["no_values", "no_places"]),
        h.make_node("Dropout", ["x", "", "training"], ["kept"]),
        h.make_node("MelWeightMatrix", ["filters", "length", "rate", "low", "high"], ["mel"]),
        h.make_node("MelWeightMatrix", ["filters_known", "length_known", "rate", "low", "high"], ["mel_known"]),
        h.make_node("RoiAlign", ["images", "rois", "batch"], ["aligned"], mode="max", output_height=2, output_width=2, sampling_ratio=2),
        h.make_node("MatMul", ["x", "sparse"], ["by_sparse"]), h.make_node("Constant", [], ["listed"]),
        h.make_node("Add", ["x", "listed"], ["plus_listed"]),
    ]
    for name, inputs, attributes in [("whole", ["signal"], {}), ("half", ["signal"], dict(onesided=1)), ("back", ["whole"], dict(inverse=1)),
                                     ("longer", ["signal", "nine"], {}), ("shorter", ["signal", "three"], dict(onesided=1)),
                                     ("wanted", ["signal", "length_wanted"], {})]:
        nodes.append(h.make_node("DFT", inputs + [""] * (2 - len(inputs)) + ["axis"], [name], **attributes))
    floats = [n for node in nodes for n in node.output if n not in ("no_places", "listed")]
    single = lambda *names: [(name, INT64, []) for name in names]
    inputs = [("x", FLOAT, [2, 3]), ("training", BOOL, [])] + single("filters", "length", "rate")
    inputs += [("low", FLOAT, []), ("high", FLOAT, []), ("images", FLOAT, [1, 2, 6, 6]), ("signal", FLOAT, ["n", "t", 1]), *single("length_wanted")]
    weights = {
        "none": [0], "axis": np.int64(1), "nine": np.int64(9), "three": np.int64(3), "filters_known": np.int64(4), "length_known": np.int64(16),
        "rois": np.float32([[0, 0, 4, 4], [1.5, 0.5, 5, 3]]), "batch": [0, 0],
    }
    made = model("edges", nodes, inputs, [(n, FLOAT, None) for n in floats] + [("no_places", INT64, None)], weights, opset=20)
    sparse = h.make_sparse_tensor(tensor("sparse", np.float32([2, -3, 4])), tensor("sparse_at", [[0, 1], [2, 0], [2, 3]]), [3, 4])
    made.graph.sparse_initializer.append(sparse)
    listed = h.make_sparse_tensor(tensor("", np.float32([5, 7])), tensor("", [1, 5]), [2, 3])
    made.graph.node[6].attribute.append(h.make_attribute("sparse_value", listed))
    onnx.save(made, "edges.onnx")
    given = [np.array(False), *[np.int64(v) for v in (8, 32, 8192)], np.float32(0), np.float32(4096)]
    record("edges", random(1, 2, 3), *[np.asarray(v) for v in given], random(3, 1, 2, 6, 6), random(4, 2, 5, 1), np.array(7))


@writes_models
def fourier():
    """Fast Fourier transforms by several passes and by Bluestein's algorithm, of real signals and of half spectra."""
    lengths = {"prime": 509, "even": 150, "odd": 99}
    dft = lambda name, signal, length, axis, **attributes: h.make_node("DFT", [signal, length, axis], [name], **attributes)
    nodes = [
        dft("passes", "z", "", "last"), dft("by_bluestein", "z", "prime", "last"), dft("back", "z", "even", "last", inverse=1),
        dft("half", "x", "", "first", onesided=1), dft("whole", "x", "", "first"), dft("whole_back", "x", "odd", "first", inverse=1),
        dft("signal", "z", "even", "last", inverse=1, onesided=1), dft("odd_signal", "z", "odd", "last", inverse=1, onesided=1),
        h.make_node("STFT", ["long", "hop", "window"], ["frames"]), h.make_node("STFT", ["z", "hop", "window"], ["pairs"], onesided=0),
        dft("half_of_axis", "x", "", "axis", onesided=1), dft("cropped_axis", "x", "odd", "axis"),
    ]
    inputs = [("z", FLOAT, [1, 1024, 2]), ("x", FLOAT, [150, 2, 1]), ("long", FLOAT, [1, "t", 1]), ("axis", INT64, [])]
    window = np.hanning(100).astype(np.float32)
    weights = {**{k: np.int64(v) for k, v in lengths.items()}, "first": np.int64(0), "last": np.int64(-2), "hop": np.int64(300), "window": window}
    model("fourier", nodes, inputs, [(o, FLOAT, None) for node in nodes for o in node.output], weights, opset=20)
    given = [random(1, 1, 1024, 2), random(2, 150, 2, 1), random(3, 1, 800, 1), np.array(-3)]
    z, x = given[0][..., 0] + 1j * np.float64(given[0][..., 1]), np.float64(given[1][..., 0])
    frames = lambda signal: np.stack([signal[:, at : at + 100] * window for at in range(0, signal.shape[1] - 99, 300)], 1)
    spectra = [
        np.fft.fft(z), np.fft.fft(z, 509), np.fft.ifft(z, 150), np.fft.rfft(x, axis=0), np.fft.fft(x, axis=0), np.fft.ifft(x, 99, axis=0),
        np.fft.irfft(z, 150), np.fft.irfft(z, 99), np.fft.rfft(frames(given[2][..., 0])), np.fft.fft(frames(z)),
        np.fft.rfft(x, axis=0), np.fft.fft(x, 99, axis=0),
    ]
    parts = lambda y: np.stack([y.real, y.imag], -1) if np.iscomplexobj(y) else y[..., None]
    # ONNX Runtime has no transform of half spectra to signals.
    record_results("fourier", given, [parts(y).astype(np.float32) for y in spectra])


@writes_models
def activations():
    """Recurrent networks with other activations, with their coefficients and clipping."""
    nodes = [
        h.make_node("LSTM", ["x", "lw", "lr", "lb"], ["ly", "lh", "lc"], hidden_size=3, direction="bidirectional",
                    activations=["HardSigmoid", "LeakyRelu", "ScaledTanh", "Sigmoid", "Softsign", "ThresholdedRelu"],
                    activation_alpha=[0.2, 0.3, 1.5, 0.1], activation_beta=[0.5, 0.6]),
        h.make_node("LSTM", ["x", "cw", "cr", "cb"], ["cy", "ch", "cc"], hidden_size=3, clip=0.4),
        h.make_node("LSTM", ["x", "cw", "cr", "cb"], ["fy", "fh", "fc"], hidden_size=3, input_forget=1),
        h.make_node("GRU", ["x", "gw", "gr", "gb"], ["gy", "gh"], hidden_size=3, clip=0.5, linear_before_reset=1),
        h.make_node("RNN", ["x", "rw", "rr"], ["ry", "rh"], hidden_size=3, activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1], clip=0.3),
        h.make_node("RNN", ["x", "rw", "rr"], ["ey", "eh"], hidden_size=3, activations=["Elu"], activation_alpha=[0.5]),
    ]
    weights = {
        "lw": random(1, 2, 12, 4), "lr": random(2, 2, 12, 3), "lb": random(3, 2, 24), "gw": random(5, 1, 9, 4), "gr": random(6, 1, 9, 3),
        "gb": random(7, 1, 18), "rw": random(8, 1, 3, 4), "rr": random(9, 1, 3, 3), "cw": random(11, 1, 12, 4), "cr": random(12, 1, 12, 3), "cb": random(13, 1, 24),
    }
    names = [name for node in nodes for name in node.output]
    model("activations", nodes, [("x", FLOAT, [3, 2, 4])], [(n, FLOAT, None) for n in names], weights, opset=22)
    record("activations", 3 * random(10, 3, 2, 4))


@writes_models
def names():
    """Weights named like symbolic sizes, Python keywords and TVMScript names, and names that differ in punctuation."""
    weights = ["n", "Module", "class", "a.b", "a_b", "a_b_1", "main", "R", "TypeVar", "1", "print", "lv", "s", "x_0", "float"]
    nodes, last = [], "x"
    for at, name in enumerate(weights):
        nodes += [h.make_node("MatMul", [last, name], [f"product{at}"]), h.make_node("Tanh", [f"product{at}"], [f"tanh{at}"])]
        last = f"tanh{at}"
    nodes += [h.make_node("NonZero", [last], ["found"]), h.make_node("Add", [last, "m"], ["sum"])]
    inputs = [("x", FLOAT, ["n", 4]), ("m", FLOAT, ["a_b", "m"])]
    matrices = {name: 2 * random(at, 4, 4) for at, name in enumerate(weights)}
    model("names", nodes, inputs, [("sum", FLOAT, None), ("found", INT64, None)], matrices)
    record("names", random(20, 2, 4), random(21, 2, 4))


@writes_models
def contrib():
    """What ONNX Runtime's optimizations fuse."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs, outputs, domain="com.microsoft", **attributes)
    nodes = [
        node("Gelu", ["x"], ["gelu"]), node("BiasGelu", ["x", "bias"], ["bias_gelu"]), node("QuickGelu", ["x"], ["quick"], alpha=1.5),
        node("FastGelu", ["x"], ["fast"]), node("FastGelu", ["x", "bias"], ["fast_bias"]),
        node("SkipLayerNormalization", ["x", "skip", "scale", "shift", "bias"], ["layer", "", "", "layer_sum"], epsilon=1e-5),
        node("SkipLayerNormalization", ["x", "row", "scale"], ["layer_row"]),
        node("SkipSimplifiedLayerNormalization", ["x", "skip", "scale", "bias"], ["simple", "", "", "simple_sum"], epsilon=1e-5),
        h.make_node("SimplifiedLayerNormalization", ["x", "scale"], ["plain"], axis=-1, epsilon=1e-5, stash_type=1),
        node("EmbedLayerNormalization", ["ids", "segments", "words", "places", "kinds", "scale", "shift", "mask"], ["embedded", "visible", "embedded_sum"], epsilon=1e-5),
        node("FusedMatMul", ["x", "skip"], ["scores"], alpha=0.5, transB=1),
        node("FusedMatMul", ["heads", "heads"], ["by_batch"], transBatchA=1, transBatchB=1, transA=1),
        node("FusedGemm", ["m", "w", "c"], ["gemm"], activation="LeakyRelu", activation_alpha=0.3, transB=1, alpha=2.0, beta=0.5),
        node("FusedConv", ["image", "kernel", "channel", "residual"], ["conv"], activation="Relu", pads=[1, 1, 1, 1]),
        node("FusedConv", ["image", "kernel"], ["clipped"], activation="Clip", activation_params=[-0.2, 0.3], strides=[2, 2]),
        node("FusedConv", ["image", "kernel", "channel"], ["hard"], activation="HardSigmoid", activation_params=[0.3, 0.4]),
    ]
    inputs = [("x", FLOAT, ["n", 3, 8]), ("skip", FLOAT, ["n", 3, 8]), ("ids", INT32, ["n", 3]), ("segments", INT32, ["n", 3]),
              ("mask", INT32, ["n", 3]), ("m", FLOAT, [3, 4]), ("image", FLOAT, [1, 2, 5, 5]), ("residual", FLOAT, [1, 3, 5, 5])]
    weights = {
        "bias": random(1, 8), "scale": 1 + random(2, 8), "shift": random(3, 8), "row": random(4, 3, 8), "words": random(5, 9, 8),
        "places": random(6, 4, 8), "kinds": random(7, 2, 8), "heads": random(8, 2, 3, 4, 4), "w": random(9, 5, 4), "c": random(10, 5),
        "kernel": random(11, 3, 2, 3, 3), "channel": random(12, 3),
    }
    kinds = {"visible": INT32}
    outputs = [(name, kinds.get(name, FLOAT), None) for node in nodes for name in node.output if name]
    model("contrib", nodes, inputs, outputs, weights, domains={"com.microsoft": 1})
    ids = np.int32([[1, 8, 0], [3, 3, 2]])
    record("contrib", random(20, 2, 3, 8), random(21, 2, 3, 8), ids, ids % 2, np.int32([[1, 1, 0], [1, 1, 1]]), random(22, 3, 4),
           random(23, 1, 2, 5, 5), random(24, 1, 3, 5, 5))


@writes_models
def contrib_attention():
    """Attention as ONNX Runtime fuses it."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs, outputs, domain="com.microsoft", num_heads=2, **attributes)
    nodes = [
        node("Attention", ["x", "w", "b", "mask"], ["plain"]),
        node("Attention", ["x", "w", "b", "lengths"], ["by_length"], scale=0.3),
        node("Attention", ["x", "w", "b", "", "past"], ["causal", "present"], unidirectional=1),
        node("Attention", ["x", "v", "", "", "", "shift"], ["narrow"], qkv_hidden_sizes=[8, 8, 4]),
        node("MultiHeadAttention", ["x", "y", "y", "b"], ["crossed"]),
        node("MultiHeadAttention", ["x", "x", "x", "", "mask", "shift", "past_key", "past_value"], ["appended", "keys", "values"]),
        node("MultiHeadAttention", ["x", "past_key", "past_value"], ["of_past"]),
    ]
    inputs = [("x", FLOAT, ["n", 3, 8]), ("y", FLOAT, ["n", "m", 8]), ("mask", INT32, ["n", 3]), ("lengths", INT32, ["n"]),
              ("past", FLOAT, [2, "n", 2, "p", 4]), ("shift", FLOAT, [1, 2, 3, 3]), ("past_key", FLOAT, ["n", 2, "q", 4]), ("past_value", FLOAT, ["n", 2, "q", 4])]
    nodes[5].input[4] = nodes[5].input[5] = ""
    outputs = [(name, FLOAT, None) for node in nodes for name in node.output]
    weights = {"w": random(1, 8, 24), "b": random(2, 24), "v": random(3, 8, 20)}
    model("contrib_attention", nodes, inputs, outputs, weights, domains={"com.microsoft": 1})
    record("contrib_attention", random(20, 2, 3, 8), random(21, 2, 5, 8), np.int32([[1, 1, 0], [1, 1, 1]]), np.int32([2, 3]),
           random(22, 2, 2, 2, 2, 4), random(23, 1, 2, 3, 3), random(24, 2, 2, 4, 4), random(25, 2, 2, 4, 4))


@writes_models
def contrib_quantized():
    """Operators on 8-bit integers with scales and zero points."""
    def node(op, inputs, outputs, **attributes):
        return h.make_node(op, inputs.split(), [outputs], domain="com.microsoft", **attributes)
    nodes = [
        node("QuantizeLinear", "x s z", "q"), node("QuantizeLinear", "y t i", "r"), node("DequantizeLinear", "q s z", "back"),
        node("QLinearAdd", "q s z q t z u z", "sum"), node("QLinearMul", "q s z q s z t z", "product"),
        node("QLinearConcat", "u z q s z sum u z", "joined", axis=1), node("QLinearSigmoid", "q s z small zero", "gate"),
        node("QLinearLeakyRelu", "q s z t z", "leaky", alpha=0.2), node("MatMulIntegerToFloat", "q w s columns z", "floats"),
        node("MatMulIntegerToFloat", "q w s columns z columns_zero bias", "biased"), node("DynamicQuantizeMatMul", "x w columns columns_zero bias", "dynamic"),
        node("QGemm", "q s z v columns columns_zero c u z", "gemm", transB=1, alpha=0.5), node("QGemm", "q s z w columns columns_zero", "gemm_floats"),
    ]
    uint8 = np.uint8
    weights = {
        "s": np.float32(0.02), "t": np.float32(0.03), "u": np.float32(0.05), "small": np.float32(1 / 255), "z": uint8(120), "zero": uint8(0), "i": np.int8(-3),
        "w": np.arange(12).reshape(4, 3).astype(uint8) * 20, "v": np.arange(12).reshape(3, 4).astype(uint8) * 21,
        "columns": np.float32([0.01, 0.02, 0.03]), "columns_zero": np.uint8([100, 120, 140]), "bias": random(1, 3), "c": np.int32([50, -300, 1000]),
    }
    kinds = {name: TensorProto.UINT8 for name in ("q", "sum", "product", "joined", "gate", "leaky", "gemm")} | {"r": TensorProto.INT8}
    outputs = [(name, kinds.get(name, FLOAT), None) for node in nodes for name in node.output]
    model("contrib_quantized", nodes, [("x", FLOAT, ["n", 4]), ("y", FLOAT, ["n", 4])], outputs, weights, domains={"com.microsoft": 1})
    record("contrib_quantized", 2 * random(20, 3, 4), random(21, 3, 4))


def contrib_node(op, inputs, outputs, **attributes):
    """A node of ONNX Runtime's domain; names are separated by spaces, and `-` is an omitted one."""
    names = lambda text: ["" if name == "-" else name for name in text.split()]
    return h.make_node(op, names(inputs), names(outputs), f"/{outputs.split()[0]}", domain="com.microsoft", **attributes)


def contrib_model(name, nodes, inputs, given, weights, kinds={}, opset=17):
    """Writes and records a model of contrib nodes; inputs are (name, shape), and all results are outputs."""
    types = [(key, h.np_dtype_to_tensor_dtype(x.dtype), shape) for (key, shape), x in zip(inputs, given)]
    outputs = [(out, kinds.get(out, FLOAT), None) for node in nodes for out in node.output if out]
    model(name, nodes, types, outputs, weights, opset=opset, domains=["com.microsoft"])
    record(name, *given)


@writes_models
def contrib_packed():
    """Weights of 2, 4 and 8 bits, packed in bytes; the last ones are inputs."""
    bits = np.random.default_rng(1)
    byte = lambda *shape: bits.integers(0, 256, shape).astype(np.uint8)
    attributes = dict(K=40, N=3, block_size=16)
    node = contrib_node
    nodes = [
        node("MatMulNBits", "x b2 s", "two", bits=2, **attributes), node("MatMulNBits", "x b2 s z2", "two_shifted", bits=2, **attributes),
        node("MatMulNBits", "x b4 s - - bias", "four", accuracy_level=1, **attributes), node("MatMulNBits", "x b4 s z4", "four_shifted", **attributes),
        node("MatMulNBits", "x b4 s eights", "four_default", **attributes), node("MatMulNBits", "x b4 s zf", "four_floats", **attributes),
        node("MatMulNBits", "x b4 s - groups", "four_grouped", **attributes), node("MatMulNBits", "x b4 s - rows", "four_rows", **attributes),
        node("MatMulNBits", "x b8 s", "eight", bits=8, **attributes), node("MatMulNBits", "x b8 s z8", "eight_shifted", bits=8, **attributes),
        node("MatMulNBits", "wide large large_s", "wide_four", K=256, N=80, block_size=32),
        node("MatMulNBits", "wide large large_s large_z", "wide_shifted", K=256, N=80, block_size=32),
        node("GatherBlockQuantized", "b4_rows ids s_rows", "rows_four", block_size=16, bits=4),
        node("GatherBlockQuantized", "b8_rows ids s_rows z8_rows", "rows_eight", block_size=16, bits=8),
        node("MatMulBnb4", "x codes absmax", "fp4", K=40, N=3, block_size=16, quant_type=0),
        node("MatMulBnb4", "x codes absmax", "nf4", K=40, N=3, block_size=16, quant_type=1),
        node("MatMulNBits", "x dynamic s z4", "dynamic_four", **attributes), node("MatMulNBits", "x dynamic dynamic_s", "dynamic_scaled", **attributes),
    ]
    scales = lambda seed, *shape: np.abs(random(seed, *shape)) / 8
    weights = {
        "b2": byte(3, 3, 4), "b4": byte(3, 3, 8), "b8": byte(3, 3, 16), "s": scales(1, 3, 3), "z2": byte(3, 1), "z4": byte(3, 2),
        "z8": byte(3, 3), "zf": 8 + random(2, 3, 3), "eights": np.full((3, 2), 0x88, np.uint8), "bias": random(3, 3),
        "groups": np.int32([2, 0, 1, 0] * 10), "rows": np.int32(np.arange(40) // 16), "large": byte(80, 8, 16), "large_s": scales(4, 80, 8),
        "large_z": byte(80, 4), "b4_rows": byte(5, 16), "b8_rows": byte(5, 32), "s_rows": scales(5, 5, 2), "z8_rows": byte(5, 2),
        "codes": byte(60), "absmax": scales(6, 8),
    }
    inputs = [("x", ["n", 2, 40]), ("wide", ["n", 256]), ("ids", ["n", 2]), ("dynamic", [3, 3, 8]), ("dynamic_s", [3, 3])]
    given = [random(20, 2, 2, 40), random(21, 2, 256), np.int64([[4, 0], [-1, 2]]), byte(3, 3, 8), scales(22, 3, 3)]
    contrib_model("contrib_packed", nodes, inputs, given, weights)


@writes_models
def dequantized_weights():
    """Matmuls by constant matrices of 4 and 8 bits, with parameters for blocks of rows, for columns and for all elements,
    and matrices whose parameters are for rows."""
    K, N = 190, 96
    dequantize = lambda name, zero, **attributes: h.make_node(
        "DequantizeLinear", [f"{name}_q", f"{name}_s"] + [f"{name}_z"] * zero, [f"{name}_d"], **attributes)
    nodes, weights = [], {}
    for seed, (name, kind, zero, shape, attributes) in enumerate([
        ("blocks", "int4", 0, (6, N), dict(axis=0, block_size=32)), ("shifted", "uint4", 1, (6, N), dict(axis=0, block_size=32)),
        ("bytes", "int8", 0, (12, N), dict(axis=0, block_size=16)), ("unsigned", "uint8", 1, (6, N), dict(axis=0, block_size=32)),
        ("rows", "int4", 0, (K, 3), dict(axis=1, block_size=32)), ("columns", "int8", 0, (N,), dict(axis=1)),
        ("narrow", "int4", 0, (N,), dict(axis=1)), ("zeros", "uint8", 1, (N,), dict(axis=1)), ("all", "int8", 1, (), dict()),
        ("each", "int8", 0, (K,), dict(axis=0)), ("flipped", "int8", 1, (N,), dict(axis=0)), ("narrow_flipped", "uint4", 0, (), dict()),
    ]):
        draw, bits = np.random.default_rng(seed), int(kind[-1])
        low, high = (0, 2**bits) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        of_kind = lambda *sizes: draw.integers(low, high, sizes).astype(h.tensor_dtype_to_np_dtype(getattr(TensorProto, kind.upper())))
        is_flipped = "flipped" in name
        weights |= {f"{name}_q": of_kind(*((N, K) if is_flipped else (K, N))), f"{name}_s": np.abs(random(seed, *shape)) / 2**bits}
        if zero:
            weights[f"{name}_z"] = of_kind(*shape)
        nodes.append(dequantize(name, zero, **attributes))
        nodes.append(h.make_node("Gemm", ["x", f"{name}_d"], [name], transB=1) if is_flipped else h.make_node("MatMul", ["x", f"{name}_d"], [name]))
    # Elements of a dequantized matrix itself.
    nodes.append(h.make_node("Gather", ["blocks_d", "i"], ["gathered"]))
    outputs = [(node.output[0], FLOAT, None) for node in nodes if node.op_type != "DequantizeLinear"]
    model("dequantized_weights", nodes, [("x", FLOAT, ["n", K]), ("i", INT64, [2])], outputs, weights, opset=21)
    record("dequantized_weights", random(40, 5, K), np.int64([3, 189]))


@writes_models
def contrib_rotary():
    """Rotary embeddings with positions, or the first position, and attention whose query heads share keys and values."""
    node = contrib_node
    attributes = dict(num_heads=4, kv_num_heads=2)
    rotated = dict(do_rotary=1, **attributes)
    nodes = [
        node("RotaryEmbedding", "x first cos sin", "flat"), node("RotaryEmbedding", "x ids cos sin", "adjacent", interleaved=1),
        node("RotaryEmbedding", "x ids cos_half sin_half", "part", num_heads=2, rotary_embedding_dim=16),
        node("RotaryEmbedding", "y ids cos sin", "split", interleaved=1), node("RotaryEmbedding", "y first cos_half sin_half", "split_part", num_heads=2, rotary_embedding_dim=16),
        node("GroupQueryAttention", "q k v - - last three", "prompt prompt_k prompt_v", **attributes),
        node("GroupQueryAttention", "packed - - - - last three cos_half sin_half", "packed_prompt packed_k packed_v", rotary_interleaved=1, **rotated),
        node("GroupQueryAttention", "one one_k one_v pk pv ends seven cos_half sin_half", "step step_k step_v", **rotated),
        node("GroupQueryAttention", "one one_k one_v buffer_k buffer_v ends total cos_half sin_half ids_one", "shared shared_k shared_v", local_window_size=3, **rotated),
        node("GroupQueryAttention", "one one_k one_v pk pv ends seven - - - bias", "biased biased_k biased_v", softcap=1.5, scale=0.4, **attributes),
        node("GroupQueryAttention", "one one_k one_v pk pv ends seven - - - - sinks", "sunk sunk_k sunk_v", **attributes),
        node("GroupQueryAttention", "one one_k one_v pk pv ends seven", "smooth smooth_k smooth_v", smooth_softmax=1, **attributes),
    ]
    weights = {
        "cos": random(1, 9, 16), "sin": random(2, 9, 16), "cos_half": random(3, 9, 8), "sin_half": random(4, 9, 8), "three": np.int32(3),
        "seven": np.int32([7]), "sinks": random(5, 4),
    }
    inputs = [("x", ["n", 3, 64]), ("y", ["n", 2, 3, 32]), ("first", [1]), ("ids", ["n", 3]), ("q", ["n", 3, 64]), ("k", ["n", 3, 32]), ("v", ["n", 3, 32]),
              ("packed", ["n", 3, 128]), ("last", ["n"]), ("one", ["n", 1, 64]), ("one_k", ["n", 1, 32]), ("one_v", ["n", 1, 32]),
              ("pk", ["n", 2, 6, 16]), ("pv", ["n", 2, 6, 16]), ("ends", ["n"]), ("buffer_k", ["n", 2, "most", 16]), ("buffer_v", ["n", 2, "most", 16]),
              ("total", [1]), ("ids_one", ["n", 1]), ("bias", [1, 4, 1, 7])]
    # ONNX Runtime zeroes the rows of buffers that no sequence has reached.
    used = np.float32(np.arange(10) < 6).reshape(10, 1)
    given = [random(20, 2, 3, 64), random(21, 2, 2, 3, 32), np.int64([5]), np.int64([[0, 1, 2], [4, 8, 3]]), random(22, 2, 3, 64), random(23, 2, 3, 32),
             random(24, 2, 3, 32), random(25, 2, 3, 128), np.int32([2, 2]), random(26, 2, 1, 64), random(27, 2, 1, 32), random(28, 2, 1, 32),
             random(29, 2, 2, 6, 16), random(30, 2, 2, 6, 16), np.int32([6, 6]), used * random(31, 2, 2, 10, 16), used * random(32, 2, 2, 10, 16), np.int32([7]),
             np.int64([[6], [6]]), random(33, 1, 4, 1, 7)]
    contrib_model("contrib_rotary", nodes, inputs, given, weights)


@writes_models
def contrib_buffers():
    """Attention with past keys and values in buffers of maximum length, and sequences of different lengths."""
    node = contrib_node
    nodes = [
        node("MultiHeadAttention", "x x x - - - pk pv length", "rows rows_k rows_v", num_heads=2),
        node("DecoderMaskedMultiHeadAttention", "one one one mask shift pk pv length - - bias", "step step_k step_v", num_heads=2, past_present_share_buffer=1),
        node("DecoderMaskedMultiHeadAttention", "one pk pv", "crossed", num_heads=2),
        node("Attention", "x w bias bounds", "padded", num_heads=2),
        node("GroupQueryAttention", "x x x wide_k wide_v ends total", "ragged ragged_k ragged_v", num_heads=1, kv_num_heads=1),
    ]
    weights = {"w": random(1, 8, 24), "bias": random(2, 24), "length": np.int32(4)}
    inputs = [("x", [1, 3, 8]), ("one", [1, 1, 8]), ("pk", [1, 2, 9, 4]), ("pv", [1, 2, 9, 4]), ("mask", [1, 5]), ("shift", [1, 2, 1, 5]),
              ("bounds", [2]), ("ends", [1]), ("total", [1]), ("wide_k", [1, 1, 6, 8]), ("wide_v", [1, 1, 6, 8])]
    given = [random(20, 1, 3, 8), random(21, 1, 1, 8), random(22, 1, 2, 9, 4), random(23, 1, 2, 9, 4), np.int32([[1, 0, 1, 1, 1]]), random(24, 1, 2, 1, 5),
             np.int32([3, 1]), np.int32([5]), np.int32([6]), random(26, 1, 1, 6, 8), random(27, 1, 1, 6, 8)]
    contrib_model("contrib_buffers", nodes, inputs, given, weights)


@writes_models
def contrib_windows():
    """Poolings, convolutions and reductions of 8-bit integers, with channels in either place, and attention on integers."""
    node = contrib_node
    pool = dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    nodes = [
        node("QLinearAveragePool", "x s z t u", "mean", **pool), node("QLinearAveragePool", "y s z t u", "mean_last", channels_last=1, count_include_pad=1, **pool),
        node("QLinearGlobalAveragePool", "x s z t u", "whole"), node("QLinearGlobalAveragePool", "y s z t u", "whole_last", channels_last=1),
        node("NhwcMaxPool", "y", "highest", **pool), node("QLinearConv", "x s z w ws wz v u b", "conv", pads=[1, 1, 1, 1]),
        node("QLinearConv", "y s z w ws wz v u b", "conv_last", channels_last=1, strides=[2, 2]), node("QLinearSoftmax", "x s z soft zero", "soft_last", axis=-1, opset=13),
        node("QLinearSoftmax", "x s z soft zero", "soft_flat", axis=2, opset=11), node("QLinearWhere", "c x s z x t u t z", "chosen"),
        node("MatMulInteger16", "short other", "wide"), node("QAttention", "rows p pb s ws1 ends z pz", "attended", num_heads=2),
        node("QAttention", "rows p pb s ws1 - z pz past", "causal present", num_heads=2, unidirectional=1),
        node("Trilu", "pb2 k", "lower", upper=0), node("ExpandDims", "pb2 axis", "expanded"), node("GatherND", "pb2 at", "gathered"),
        node("Pad", "pb2 pads", "padded"), node("CDist", "pb2 pb3", "distances", metric="euclidean"),
    ]
    some = np.random.default_rng(1)
    byte, signed = lambda *shape: some.integers(0, 256, shape).astype(np.uint8), lambda *shape: some.integers(-128, 128, shape).astype(np.int8)
    f = np.float32
    weights = {
        "s": f(0.0313), "z": np.uint8(7), "t": f(0.0217), "u": np.uint8(3), "v": f(0.91), "w": signed(6, 4, 3, 3), "ws": np.abs(random(1, 6)) / 50,
        "wz": np.zeros(6, np.int8), "b": some.integers(-999, 999, 6).astype(np.int32), "soft": f(1 / 256), "zero": np.uint8(0), "p": signed(8, 24), "pb": random(2, 24),
        "ws1": f(0.011), "pz": np.int8(2), "pb2": random(3, 4, 6), "pb3": random(7, 3, 6), "k": np.int64(1), "axis": np.int32(1), "at": np.int64([[0, 1], [2, 3]]), "pads": np.int64([0, 1, 1, 0]),
        "other": some.integers(-300, 300, (4, 5)).astype(np.int16),
    }
    kinds = {name: TensorProto.UINT8 for name in "mean mean_last whole whole_last highest conv conv_last soft_last soft_flat chosen".split()}
    kinds.update(wide=INT32)
    inputs = [("x", [2, 4, 9, 7]), ("y", [2, 9, 7, 4]), ("c", [2, 1, 9, 1]), ("short", [3, 4]), ("rows", [2, 5, 8]), ("ends", [2]), ("past", [2, 2, 2, 3, 4])]
    given = [byte(2, 4, 9, 7), byte(2, 9, 7, 4), some.random((2, 1, 9, 1)) > 0.5, some.integers(-300, 300, (3, 4)).astype(np.int16), byte(2, 5, 8), np.int32([5, 3]),
             random(20, 2, 2, 2, 3, 4)]
    contrib_model("contrib_windows", nodes, inputs, given, weights, kinds)


@writes_models
def contrib_gpu():
    """Operators that ONNX Runtime has for GPUs only; the results are numpy's."""
    node = contrib_node
    nodes = [
        node("GroupNorm", "x scale shift", "normal", groups=2, activation=1), node("SkipGroupNorm", "x scale shift skip bias", "skipped skipped_sum", groups=4, activation=0),
        node("GroupNorm", "y scale shift", "second", groups=2, activation=0, channels_last=0, epsilon=0.01), node("BiasSplitGelu", "rows bias", "gated"),
        node("BiasAdd", "rows bias rows", "added"), node("BiasSoftmax", "y mask", "soft", axis=3, is_inner_broadcast=1), node("BiasSoftmax", "y mask", "flat", axis=2, is_inner_broadcast=1),
        node("GemmFastGelu", "rows w bias", "gemm"), node("ComplexMul", "c d", "product"), node("ComplexMulConj", "c d", "conjugated"),
        node("NhwcFusedConv", "x k bias3 residual", "conv", activation="Relu", strides=[2, 1]), node("MulInteger", "i z i -", "squares"),
        node("QLinearReduceMean", "i s z t z", "mean", axes=[1], keepdims=0), node("ReduceSumInteger", "i", "sums", axes=[0], keepdims=1),
        node("MultiHeadAttention", "packed", "all", num_heads=2), node("MultiHeadAttention", "queries pairs", "keyed", num_heads=2),
    ]
    scale, shift, bias = 1 + random(1, 8), random(2, 8), random(3, 8)
    w, k, bias3, z = random(4, 8, 8), random(5, 3, 8, 2, 2), random(6, 3), np.uint8(9)
    weights = {"scale": scale, "shift": shift, "bias": bias, "w": w, "k": k, "bias3": bias3, "z": z, "s": np.float32(0.03), "t": np.float32(0.017)}
    x, y, rows, skip, mask = random(20, 2, 3, 4, 8), random(21, 2, 8, 3, 4), random(22, 2, 3, 8), random(23, 2, 8), random(24, 2, 1, 1, 4)
    c, d, residual = random(25, 3, 2), random(26, 3, 2), random(27, 2, 1, 3, 3)
    i = np.random.default_rng(1).integers(0, 256, (3, 5)).astype(np.uint8)
    packed, queries, pairs = random(28, 2, 3, 2, 3, 4), random(29, 2, 3, 8), random(30, 2, 5, 2, 2, 4)
    erf = np.vectorize(__import__("math").erf)
    silu, gelu = lambda v: v / (1 + np.exp(-v)), lambda v: v * (1 + erf(v / 2**0.5)) / 2
    softmax = lambda v: np.exp(v - v.max(-1, keepdims=True)) / np.exp(v - v.max(-1, keepdims=True)).sum(-1, keepdims=True)

    def normal(v, groups, epsilon):
        parts = v.reshape(*v.shape[:3], groups, -1)
        parts = (parts - parts.mean((1, 2, 4), keepdims=True)) / np.sqrt(parts.var((1, 2, 4), keepdims=True) + epsilon)
        return parts.reshape(v.shape) * scale + shift

    def attention(q, k, v):
        q, k, v = (part.transpose(0, 2, 1, 3) for part in (q, k, v))
        scores = softmax(q @ k.transpose(0, 1, 3, 2) / 2)
        return (scores @ v).transpose(0, 2, 1, 3).reshape(2, 3, 8)

    summed, halves, gemm = x + skip[:, None, None] + bias, rows + bias, rows @ w + bias
    complex_ = lambda v: v[:, 0] + 1j * v[:, 1]
    pair = lambda v: np.stack([v.real, v.imag], -1)
    conv = sum(np.einsum("nhwc,oc->nhwo", x[:, a : a + 2 : 2, b : b + 3], k[:, :, a, b]) for a in range(2) for b in range(2)) + bias3
    results = [
        silu(normal(x, 2, 1e-5)), normal(summed, 4, 1e-5), summed, normal(y.transpose(0, 2, 3, 1), 2, 0.01).transpose(0, 3, 1, 2),
        halves[..., :4] * gelu(halves[..., 4:]), rows + bias + rows, softmax(y + mask), softmax((y + mask).reshape(16, 12)).reshape(y.shape),
        gemm * (1 + np.tanh(0.7978845608 * (gemm + 0.044715 * gemm**3))) / 2, pair(complex_(c) * complex_(d)), pair(complex_(c) * complex_(d).conj()),
        np.maximum(conv + residual, 0), (i.astype(np.int32) - 9) * i,
        np.clip(np.round((i.astype(np.float64) - 9).mean(1) * 0.03 / 0.017) + 9, 0, 255).astype(np.uint8), i.sum(0, keepdims=True, dtype=np.uint32),
        attention(packed[:, :, :, 0], packed[:, :, :, 1], packed[:, :, :, 2]), attention(queries.reshape(2, 3, 2, 4), pairs[:, :, :, 0], pairs[:, :, :, 1]),
    ]
    kinds = {"squares": INT32, "mean": TensorProto.UINT8, "sums": TensorProto.UINT32}
    given = {"x": x, "y": y, "rows": rows, "skip": skip, "mask": mask, "c": c, "d": d, "residual": residual, "i": i, "packed": packed, "queries": queries, "pairs": pairs}
    types = [(key, h.np_dtype_to_tensor_dtype(v.dtype), list(v.shape)) for key, v in given.items()]
    outputs = [(out, kinds.get(out, FLOAT), None) for node in nodes for out in node.output if out]
    model("contrib_gpu", nodes, types, outputs, weights, domains=["com.microsoft"])
    record_results("contrib_gpu", given.values(), [v.astype(np.float32) if v.dtype == np.float64 else v for v in results])


@writes_models
def nhwc():
    """Operators of ONNX Runtime's domain for channels last, whose versions are the standard ones."""
    domain = "com.ms.internal.nhwc"
    node = lambda op, inputs, output, **attributes: h.make_node(op, inputs.split(), [output], domain=domain, **attributes)
    nodes = [
        node("Conv", "x w b", "conv", pads=[1, 1, 1, 1]), node("MaxPool", "x", "highest", kernel_shape=[2, 2], strides=[2, 1]),
        node("AveragePool", "x", "mean", kernel_shape=[2, 2]), node("GlobalAveragePool", "x", "whole"), node("DepthToSpace", "x", "wide", blocksize=2),
    ]
    x, w, b = random(20, 2, 4, 4, 4), random(1, 3, 4, 3, 3), random(2, 3)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [[x[:, a : a + 3, c : c + 3] for c in range(2)] for a in range(2)]
    results = [
        sum(np.einsum("nhwc,oc->nhwo", padded[:, a : a + 4, c : c + 4], w[:, :, a, c]) for a in range(3) for c in range(3)) + b,
        np.max(shifted, (0, 1))[:, ::2], np.mean(shifted, (0, 1)), x.mean((1, 2), keepdims=True),
        x.reshape(2, 4, 4, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 8, 8, 1),
    ]
    outputs = [(node.output[0], FLOAT, None) for node in nodes]
    made = model("nhwc", nodes, [("x", FLOAT, [2, 4, 4, 4])], outputs, {"w": w, "b": b}, domains=[domain])
    made.opset_import[1].version = 17
    onnx.save(made, "nhwc.onnx")
    record_results("nhwc", [x], results)


@writes_models
def sparse():
    """Sparse initializers with indices of narrow dtypes, as ONNX Runtime writes them."""
    nodes = [h.make_node("Add", ["x", name], [f"with_{name}"]) for name in ("bytes", "shorts", "ints")]
    outputs = [(node.output[0], FLOAT, [3, 4]) for node in nodes]
    made = model("sparse", nodes, [("x", FLOAT, [3, 4])], outputs)
    for name, kind, indices in [("bytes", np.int8, [1, 7]), ("shorts", np.int16, [[0, 1], [2, 3]]), ("ints", np.int32, [11])]:
        values = random(len(indices), len(indices))
        made.graph.sparse_initializer.append(h.make_sparse_tensor(tensor(name, values), tensor(f"{name}_at", np.array(indices, kind)), [3, 4]))
    onnx.save(made, "sparse.onnx")
    x, two, one = random(20, 3, 4), random(2, 2), random(1, 1)
    dense = lambda where, values: np.bincount(where, values, 12).reshape(3, 4).astype(np.float32)
    record_results("sparse", [x], [x + dense([1, 7], two), x + dense([1, 11], two), x + dense([11], one)])


@writes_models
def bad_contrib():
    """Invalid nodes of ONNX Runtime's domain."""
    zeros = lambda *shape, dtype=np.float32: np.zeros(shape, dtype)
    attributes = dict(K=40, N=3, block_size=16)
    node = contrib_node
    nodes = [
        node("MatMulNBits", "x b s", "block", **{**attributes, "block_size": 24}), node("MatMulNBits", "x b s", "bits", bits=3, **attributes),
        node("MatMulNBits", "x b s", "bytes", bits=8, **attributes), node("MatMulNBits", "x b short", "scales", **attributes),
        node("MatMulNBits", "x b s b", "zeros", **attributes), node("MatMulNBits", "x b s", "columns", K=40, block_size=16),
        node("MatMulNBits", "y b s", "rows", **attributes), node("GatherBlockQuantized", "b ids s", "axis", quantize_axis=2, gather_axis=2),
        node("RotaryEmbedding", "heads ids - sin", "cosines"), node("RotaryEmbedding", "heads ids sin sin", "pairs", num_heads=2, rotary_embedding_dim=3),
        node("GroupQueryAttention", "heads heads heads - - last total", "rotary", num_heads=2, kv_num_heads=2, do_rotary=1),
        node("GroupQueryAttention", "heads heads heads - - last total", "groups", num_heads=2, kv_num_heads=3),
        node("GroupQueryAttention", "heads heads heads past past last total", "cache", num_heads=2, kv_num_heads=2),
        node("GroupQueryAttention", "heads heads heads - - last total", "narrow", num_heads=2, kv_num_heads=2, k_quant_type="PER_TENSOR"),
        node("MultiHeadAttention", "heads heads heads - - - past past last last", "beams", num_heads=2),
        node("GroupNorm", "past s s", "groupless", activation=0), node("ComplexMul", "heads heads", "complex"), node("CDist", "x x", "metric", metric="dice"),
        node("MatMulBnb4", "x b s", "codes", quant_type=1, **attributes), node("MatMulBnb4", "x code scale", "kind", K=1, N=1, block_size=16, quant_type=2),
    ]
    weights = {"b": zeros(3, 3, 8, dtype=np.uint8), "s": zeros(3, 3), "code": zeros(1, dtype=np.uint8), "scale": zeros(1), "short": zeros(3, 2), "ids": np.int64([0]), "heads": zeros(1, 3, 8), "sin": zeros(4, 2), "last": np.int32([2]),
               "total": np.int32([3]), "past": zeros(1, 1, 2, 4)}
    outputs = [(node.output[0], FLOAT, None) for node in nodes]
    model("bad/contrib", nodes, [("x", FLOAT, [2, 40]), ("y", FLOAT, [2, 39])], outputs, weights, domains=["com.microsoft"])
    blocked = h.make_node("ReorderInput", ["x"], ["y"], "/reorder", domain="com.microsoft.nchwc")
    model("bad/nchwc", [blocked], [("x", FLOAT, [1, 16, 2, 2])], [("y", FLOAT, None)], domains=["com.microsoft.nchwc"])

ML = "ai.onnx.ml"
FEATURES, ROWS = 4, 12
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def tree_rows(kind=np.float32):
    """Features on and around the thresholds of random_trees, with NaN."""
    rows = np.random.default_rng(7).integers(-4, 5, (ROWS, FEATURES)) / 2
    rows[::3, 1], rows[1::4, 2] = np.nan, -0.0
    return rows.astype(kind)


def random_trees(seed, prefix, trees, depth, targets, modes=MODES, missing=True, sparse=False):
    """Attributes of versions 1 and 3."""
    rng = np.random.default_rng(seed)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    weights = {key: [] for key in ("ids", "treeids", "nodeids", "weights")}

    def grow(tree, depth):
        at = len(nodes["nodeids"]) - first
        is_leaf = depth == 0 or rng.random() < 0.15
        entry = [tree, at, rng.integers(FEATURES), "LEAF" if is_leaf else modes[rng.integers(len(modes))], rng.integers(-3, 4) / 2, 0, 0, rng.integers(2)]
        for key, value in zip(nodes, entry):
            nodes[key].append(value if isinstance(value, str) else float(value) if key == "values" else int(value))
        if is_leaf:
            for target in [rng.integers(targets)] if sparse else range(targets):
                for key, value in zip(weights, [int(target), tree, at, float(rng.normal())]):
                    weights[key].append(value)
            return at
        for child in ("truenodeids", "falsenodeids"):
            nodes[child][first + at] = grow(tree, depth - 1)
        return at

    for tree in range(trees):
        first = len(nodes["nodeids"])
        grow(tree, depth)
    if not missing:
        del nodes["missing_value_tracks_true"]
    return {f"nodes_{key}": value for key, value in nodes.items()} | {f"{prefix}_{key}": value for key, value in weights.items()}


def as_doubles(attributes, *names):
    """Replaces lists of floats by tensors of doubles."""
    doubles = {f"{name}_as_tensor": tensor(name, np.float64(attributes[name])) for name in names}
    return {key: value for key, value in attributes.items() if key not in names} | doubles


@writes_models
def trees():
    """Ensembles of decision trees, of versions 1 and 3."""
    def regressor(x, y, seed, trees=3, depth=3, targets=1, more={}, **attributes):
        trees = random_trees(seed, "target", trees, depth, targets, **more)
        return h.make_node("TreeEnsembleRegressor", [x], [y], domain=ML, n_targets=targets, **trees, **attributes)

    def classifier(x, y, labels, attributes, **more):
        return h.make_node("TreeEnsembleClassifier", [x], [f"{y}_label", y], domain=ML, classlabels_int64s=labels, **attributes, **more)

    one_class = random_trees(20, "class", 5, 3, 1, modes=MODES[:1], missing=False)
    votes = one_class | {"class_weights": [abs(weight) / 10 for weight in one_class["class_weights"]]}
    doubles = as_doubles(random_trees(9, "target", 9, 3, 2), "nodes_values", "target_weights")
    nodes = [
        regressor("x", "all_modes", 1, trees=11, depth=4),
        regressor("x", "leaf", 2, trees=1, depth=0, base_values=[0.5]),
        regressor("x", "average", 3, targets=3, aggregate_function="AVERAGE", base_values=[0.1, 0.2, 0.3]),
        regressor("x", "minimum", 4, targets=5, trees=4, more={"sparse": True}, aggregate_function="MIN"),
        regressor("x", "maximum", 5, targets=2, aggregate_function="MAX", post_transform="SOFTMAX"),
        regressor("x", "sparse", 6, targets=7, trees=9, more={"sparse": True}, post_transform="SOFTMAX_ZERO"),
        regressor("wide", "of_doubles", 8, targets=2),
        h.make_node("TreeEnsembleRegressor", ["wide"], ["doubles"], domain=ML, n_targets=2, **doubles),
        classifier("x", "classes", [3, 1, 2], random_trees(10, "class", 8, 3, 3), base_values=[0.1, 0.0, -0.1], post_transform="LOGISTIC"),
        classifier("x", "scores", [5, 6], one_class),
        classifier("x", "logistic", [5, 6], one_class, base_values=[0.2], post_transform="LOGISTIC"),
        classifier("x", "votes", [0, 1], votes),
    ]
    inputs = [("x", FLOAT, ["n", FEATURES]), ("wide", TensorProto.DOUBLE, ["n", FEATURES])]
    outputs = [(name, INT64 if "label" in name else FLOAT, None) for node in nodes for name in node.output]
    model("trees", nodes, inputs, outputs, domains={ML: 3})
    record("trees", tree_rows(), tree_rows(np.float64))


@writes_models
def indexed_trees():
    """Ensembles of decision trees of version 5. The first one is the example of the reference."""
    def ensemble(x, y, targets, kind=np.float32, **attributes):
        for name in ("nodes_splits", "leaf_weights", "membership_values"):
            if name in attributes:
                attributes[name] = tensor(name, kind(attributes[name]))
        attributes["nodes_modes"] = tensor("nodes_modes", np.uint8(attributes["nodes_modes"]))
        return h.make_node("TreeEnsemble", [x], [y], domain=ML, n_targets=targets, **attributes)

    members = dict(
        leaf_targetids=[0, 1, 2, 3], leaf_weights=[1, 10, 1000, 100], membership_values=[1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan],
        nodes_falseleafs=[1, 0, 1], nodes_falsenodeids=[2, 2, 3], nodes_featureids=[0, 0, 0], nodes_modes=[0, 6, 6], nodes_splits=[11, 232344, np.nan],
        nodes_trueleafs=[0, 1, 1], nodes_truenodeids=[1, 0, 1], tree_roots=[0])
    chain = dict(
        leaf_targetids=[0] * 6, leaf_weights=[1, 2, 4, 8, 16, 32], nodes_featureids=[0, 0, 0, 0, 0], nodes_modes=[1, 2, 3, 4, 5], nodes_splits=[1.2, 9, 12, 3.7, 7],
        nodes_trueleafs=[1] * 5, nodes_truenodeids=[0, 1, 2, 3, 4], nodes_falseleafs=[0, 0, 0, 0, 1], nodes_falsenodeids=[1, 2, 3, 4, 5], tree_roots=[0, 2])
    nodes = [
        ensemble("x", "members", 4, **members),
        ensemble("x", "average", 4, aggregate_function=0, post_transform=3, **members),
        ensemble("x", "modes", 1, nodes_missing_value_tracks_true=[0, 1, 0, 1, 0], **chain),
        ensemble("x", "minimum", 1, aggregate_function=2, **chain),
        ensemble("wide", "doubles", 1, np.float64, aggregate_function=3, **chain),
    ]
    inputs = [("x", FLOAT, ["n", 1]), ("wide", TensorProto.DOUBLE, ["n", 1])]
    outputs = [(node.output[0], TensorProto.DOUBLE if node.output[0] == "doubles" else FLOAT, None) for node in nodes]
    model("indexed_trees", nodes, inputs, outputs, domains={ML: 5})
    rows = np.array([[1.2, 3.4, -0.12, np.nan, 12, 7, 9, 3.7, 8, 11, 12.5]]).T
    record("indexed_trees", rows.astype(np.float32), rows)


@writes_models
def classical():
    """Linear models, support vector machines, preprocessing."""
    def node(op, x, outputs, **attributes):
        return h.make_node(op, x.split(), outputs.split(), domain=ML, **attributes)

    floats = lambda seed, count: [float(v) for v in random(seed, count)]
    machine = dict(support_vectors=floats(1, 20), kernel_params=[0.3, 0.2, 3.0])
    three = dict(classlabels_ints=[4, 7, 1], coefficients=floats(2, 10), rho=floats(3, 3), vectors_per_class=[2, 1, 2], **machine)
    two = dict(classlabels_ints=[4, 7], coefficients=floats(4, 5), rho=[0.1], vectors_per_class=[2, 3], **machine)
    regression = dict(coefficients=floats(5, 5), rho=[0.2], n_supports=5, **machine)
    nan = float("nan")
    nodes = [
        node("LinearRegressor", "x", "line", coefficients=floats(6, 4)),
        node("LinearRegressor", "x", "lines", coefficients=floats(7, 12), intercepts=floats(8, 3), targets=3, post_transform="SOFTMAX"),
        node("LinearClassifier", "x", "l1 p1", coefficients=floats(9, 12), intercepts=floats(10, 3), classlabels_ints=[4, 7, 1], post_transform="LOGISTIC"),
        node("LinearClassifier", "i", "l2 p2", coefficients=floats(11, 4), intercepts=[0.1], classlabels_ints=[4, 7], post_transform="LOGISTIC"),
        node("LinearClassifier", "x", "l3 p3", coefficients=floats(11, 4), intercepts=[0.1], classlabels_ints=[4, 7]),
        node("SVMRegressor", "x", "support", kernel_type="POLY", **regression),
        node("SVMRegressor", "x", "inliers", kernel_type="RBF", one_class=1, **regression),
        node("SVMRegressor", "x", "no_vectors", coefficients=floats(12, 4), rho=[0.1], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0]),
        node("SVMClassifier", "x", "l4 p4", kernel_type="SIGMOID", **three),
        node("SVMClassifier", "x", "l5 p5", kernel_type="RBF", prob_a=floats(13, 3), prob_b=floats(14, 3), **three),
        node("SVMClassifier", "x", "l6 p6", kernel_type="LINEAR", **two),
        node("SVMClassifier", "i", "l7 p7", kernel_type="RBF", post_transform="LOGISTIC", **two),
        node("SVMClassifier", "x", "l8 p8", kernel_type="RBF", prob_a=[-1.5], prob_b=[0.1], **two),
        node("Scaler", "x", "scaled", offset=floats(15, 4), scale=floats(16, 4)), node("Scaler", "i", "scaled_integers", offset=[1.0], scale=[0.5]),
        *[node("Normalizer", "rows", norm, norm=norm) for norm in ("MAX", "L1", "L2")],
        node("Binarizer", "x", "binary", threshold=0.25), node("FeatureVectorizer", "x rows", "joined", inputdimensions=[3, 5]),
        node("Imputer", "holes", "imputed", imputed_value_floats=floats(17, 4), replaced_value_float=nan),
        node("Imputer", "i", "imputed_integers", imputed_value_int64s=[9], replaced_value_int64=2),
        node("OneHotEncoder", "i", "one_hot", cats_int64s=[1, 2, -3]), node("ArrayFeatureExtractor", "x columns", "extracted"),
        node("LabelEncoder", "i", "encoded", keys_int64s=[2, -3, 0], values_int64s=[10, 20, 30], default_int64=-2),
        node("LabelEncoder", "i", "encoded_floats", keys_int64s=[2, -3, 0], values_floats=[0.1, 0.2, 0.3]),
        node("LabelEncoder", "binary", "decoded", keys_floats=[1.0], values_int64s=[7]),
    ]
    inputs = [("x", FLOAT, ["n", 4]), ("i", INT64, ["n", 4]), ("rows", FLOAT, ["n", 4]), ("holes", FLOAT, ["n", 4])]
    integers = {"imputed_integers", "encoded", "decoded"}
    outputs = [(name, INT64 if name in integers or name[0] == "l" and name[1].isdigit() else FLOAT, None) for node in nodes for name in node.output]
    model("classical", nodes, inputs, outputs, {"columns": np.array([[2, 0]])}, domains={ML: 2})
    x = 2 * random(20, ROWS, 4)
    integers = np.random.default_rng(21).integers(-4, 5, (ROWS, 4))
    record("classical", x, integers, x * (np.arange(ROWS) % 4 > 0)[:, None], np.where(x > 0.8, np.float32(np.nan), x))


@writes_models
def pipeline():
    """A pipeline as skl2onnx writes it: scaler, logistic regression, maps from labels to probabilities."""
    nodes = [
        h.make_node("Scaler", ["x"], ["scaled"], domain=ML, offset=[5.8, 3.1, 3.8, 1.2], scale=[1.2, 2.3, 0.6, 1.3]),
        h.make_node("LinearClassifier", ["scaled"], ["label", "scores"], domain=ML, classlabels_ints=[10, 20, 30], post_transform="LOGISTIC",
                    coefficients=[float(v) for v in random(1, 12)], intercepts=[-0.2, 0.3, 0.1]),
        h.make_node("Normalizer", ["scores"], ["probabilities"], domain=ML, norm="L1"),
        h.make_node("ZipMap", ["probabilities"], ["maps"], domain=ML, classlabels_int64s=[10, 20, 30]),
    ]
    made = model("pipeline", nodes, [("x", FLOAT, ["n", 4])], [("label", INT64, ["n"])], domains={ML: 1})
    made.graph.output.append(h.make_value_info("maps", h.make_sequence_type_proto(h.make_map_type_proto(INT64, h.make_tensor_type_proto(FLOAT, [])))))
    onnx.save(made, "pipeline.onnx")
    x = random(2, 5, 4) + np.float32([5.8, 3.1, 3.8, 1.2])
    label, maps = onnxruntime.InferenceSession("pipeline.onnx").run(None, {"x": x})
    np.savez("pipeline.inputs.npz", **{"0": x})
    np.savez("pipeline.expected.npz", **{"0": label, "1.0": np.array(list(maps[0])), "1.1": np.float32([list(row.values()) for row in maps])})


@writes_models
def string_labels():
    """Labels, keys and categories that are strings; what is computed of them is mapped to numbers."""
    def node(op, x, outputs, **attributes):
        return h.make_node(op, x.split(), outputs.split(), domain=ML, **attributes)

    colours, french, names = ["red", "green", "blue"], ["rouge", "vert", "bleu"], ["zero", "one", "two"]
    classifier = dict(coefficients=[float(v) for v in random(1, 12)], intercepts=[0.1, 0.0, -0.1], classlabels_strings=colours)
    nodes = [
        node("LabelEncoder", "i", "words", keys_int64s=[0, 1, 2], values_strings=colours, default_string="none"),
        node("LabelEncoder", "words", "numbers", keys_strings=["blue", "red"], values_int64s=[5, 6], default_int64=-7),
        node("LabelEncoder", "words", "floats", keys_strings=["blue", "red"], values_floats=[0.5, 1.5]),
        node("LabelEncoder", "words", "french", keys_strings=colours, values_strings=french),
        node("LabelEncoder", "french", "of_french", keys_strings=[*french, "_Unused"], values_int64s=[1, 2, 3, 4]),
        node("CategoryMapper", "words", "mapped", cats_strings=colours, cats_int64s=[3, 4, 5], default_int64=9),
        node("CategoryMapper", "mapped", "back", cats_strings=colours, cats_int64s=[3, 4, 5], default_string="?"),
        node("LabelEncoder", "back", "of_back", keys_strings=[*colours, "?"], values_int64s=[1, 2, 3, 4]),
        node("OneHotEncoder", "words", "one_hot", cats_strings=["green", "red", "grey"]),
        node("LinearClassifier", "x", "label scores", **classifier),
        node("LabelEncoder", "label", "of_label", keys_strings=colours, values_int64s=[1, 2, 3]),
        h.make_node("ArgMax", ["x"], ["largest"], axis=1), node("ArrayFeatureExtractor", "names largest", "named"),
        node("LabelEncoder", "named", "of_named", keys_strings=names, values_int64s=[1, 2, 3]),
    ]
    kinds = {"numbers": INT64, "floats": FLOAT, "of_french": INT64, "mapped": INT64, "of_back": INT64, "one_hot": FLOAT, "scores": FLOAT, "of_label": INT64, "of_named": INT64}
    inputs = [("i", INT64, ["n", 2]), ("x", FLOAT, ["n", 4])]
    made = model("string_labels", nodes, inputs, [(name, kind, None) for name, kind in kinds.items()], domains={ML: 2})
    made.graph.initializer.append(tensor("names", np.array(names, object)))
    onnx.save(made, "string_labels.onnx")
    x = random(2, 4, 4)
    x[:, 3] = -9
    record("string_labels", np.array([[0, 1], [2, 3], [1, 1], [2, 0]]), x)
    maps = [node("LinearClassifier", "x", "label scores", **classifier), node("ZipMap", "scores", "maps", classlabels_strings=colours)]
    made = model("misfits/maps", maps, inputs[1:], [("label", TensorProto.STRING, None)], domains={ML: 1})
    of_maps = h.make_map_type_proto(TensorProto.STRING, h.make_tensor_type_proto(FLOAT, []))
    made.graph.output.append(h.make_value_info("maps", h.make_sequence_type_proto(of_maps)))
    onnx.save(made, "misfits/maps.onnx")


@writes_models
def gathered_experts():
    """Matmuls by matrices that indices select: the experts of tokens, one or two each, or by indices into two axes."""
    node = lambda op, inputs, output, **attributes: h.make_node(op, inputs.split(), [output], f"/{output}", **attributes)
    weights = {"w": random(40, 5, 24, 20), "layers": random(41, 2, 5, 24, 20), "row": np.int64([1]), "column": np.int64([1, 2])}
    nodes = [
        node("Unsqueeze", "x row", "x_row"),
        node("Gather", "w expert", "w_one"), node("MatMul", "x_row w_one", "one"),
        node("Unsqueeze", "x column", "x_rows"),
        node("Gather", "w experts", "w_two"), node("MatMul", "x_rows w_two", "two"), node("Relu", "two", "two_relu"),
        node("GatherND", "layers pairs", "w_pairs"), node("MatMul", "x_row w_pairs", "of_pairs"),
        node("Gather", "v expert", "v_one"), node("MatMul", "x_row v_one", "of_input"),
        node("Gather", "w expert", "w_sum"), node("Einsum", "x w_sum", "einsum", equation="tk,tkn->tn"),
    ]
    inputs = [("x", FLOAT, ["t", 24]), ("expert", INT64, ["t"]), ("experts", INT64, ["t", 2]), ("pairs", INT64, ["t", 2]),
              ("v", FLOAT, [5, 24, 20])]
    outputs = [(name, FLOAT, None) for name in ["one", "two_relu", "of_pairs", "of_input", "einsum"]]
    model("gathered_experts", nodes, inputs, outputs, weights, opset=18)
    record("gathered_experts", random(42, 3, 24), np.int64([4, -2, 0]), np.int64([[1, 1], [0, -5], [4, 2]]),
           np.int64([[1, 4], [0, 0], [1, 2]]), random(43, 5, 24, 20))


@writes_models
def bad_trees():
    """Invalid nodes of trees."""
    good = random_trees(30, "target", 2, 2, 1, modes=MODES[:1], missing=False) | {"n_targets": 1}
    branch = good["nodes_modes"].index("BRANCH_LEQ")

    def one(name, key, value, at=branch):
        attributes = {key: list(value) if isinstance(value, (list, tuple)) else value for key, value in good.items()}
        if at is None:
            attributes[key] = value
        else:
            attributes[key][at] = value
        node = h.make_node("TreeEnsembleRegressor", ["x"], ["y"], "/trees", domain=ML, **attributes)
        model(f"bad/trees_{name}", [node], [("x", FLOAT, ["n", FEATURES])], [("y", FLOAT, None)], domains={ML: 1})

    one("child", "nodes_truenodeids", 99)
    one("cycle", "nodes_truenodeids", good["nodes_nodeids"][branch])
    one("feature", "nodes_featureids", FEATURES)
    one("negative_feature", "nodes_featureids", -1)
    one("length", "nodes_values", good["nodes_values"][1:], None)
    one("mode", "nodes_modes", "BRANCH_LIKE")
    one("node_twice", "nodes_nodeids", good["nodes_nodeids"][branch + 1])
    one("target", "target_ids", 3, 0)
    one("weight", "target_nodeids", 77, 0)
    one("base_values", "base_values", [1.0, 2.0], None)
    one("n_targets", "n_targets", 0, None)

for make in MODELS:
    if not sys.argv[1:] or make.__name__ in sys.argv[1:]:
        make()
