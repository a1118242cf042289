"""Modules: reading, looking inside, comparing, changing."""

import copy
import pickle

import numpy
import pytest

import hammock

TEXT = """from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                v_i = T.axis.spatial(T.int64(4), i)
                B[v_i] = A[v_i] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z

    @R.function(private=True)
    def other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), "float32"))
        return y
"""


@pytest.fixture
def module():
    return hammock.parse(TEXT, name="mine.py")


def test_functions_can_be_read(module):
    assert list(module) == ["twice", "other", "main"] and len(module) == 3 and "main" in module
    main = module["main"]
    assert (main.name, main.kind, main.is_private, main.result) == ("main", "relax", False, "z")
    assert [(p.name, p.type) for p in main.params] == [
        ("x", 'R.Tensor((n, 4), dtype="float32")'),
        ("w", 'R.Tensor((4, 4), dtype="float32")'),
    ]
    assert main.ret_type == 'R.Tensor((n, 4), dtype="float32")'
    assert dict(main.attrs) == {"global_symbol": "main", "num_input": 1}
    assert [(b.var, b.value, b.dataflow) for b in main.bindings] == [
        ("y", "R.matmul(x, w, out_dtype=None)", True),
        ("z", "R.nn.relu(y)", True),
    ]
    assert main.bindings[0].type == 'R.Tensor((n, 4), dtype="float32")'
    assert module["twice"].kind == "tir" and module["twice"].is_private
    assert module["twice"].params[0].type == 'T.Buffer((4,), "float32")'
    assert "R.call_tir(cls.twice, (x,)" in module["other"].bindings[0].value


def test_spans_point_into_the_source(module):
    span = module["main"].bindings[1].span
    line = module.source.splitlines()[span.line - 1]
    assert span.file == module.file == "mine.py"
    assert "R.nn.relu(y)" in line[span.column - 1 : span.end_column - 1]
    assert TEXT.splitlines()[module["main"].span.line - 1].lstrip().startswith("def main")
    assert TEXT.splitlines()[module["main"].params[0].span.line - 1].lstrip().startswith("def main(x")


def test_a_missing_function_is_a_key_error(module):
    with pytest.raises(KeyError, match="did you mean `main`"):
        module["mian"]


def test_text_reads_back_as_the_same_module(module):
    again = hammock.parse(module.script())
    assert hammock.structural_equal(module, again)
    assert hammock.structural_hash(module) == hammock.structural_hash(again)
    assert again.script() == module.script() == str(module)


def test_text_of_a_function_reads_back_with_what_passes_add():
    function = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    y = R.exp(x)\n    return y\n'
    alone = hammock.parse(function)
    assert "class" not in alone.script() and hammock.structural_equal(alone, hammock.parse(alone.script()))
    lowered = hammock.opt(alone, "LegalizeOps")
    assert set(lowered) == {"tir_exp", "main"}
    assert hammock.structural_equal(lowered, pickle.loads(pickle.dumps(lowered)))
    assert set(alone.with_functions(function.replace("main", "more"))) == {"main", "more"}


def test_branches_and_nested_functions_are_values():
    module = hammock.parse("""@R.function
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
    @R.function
    def f(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z = R.add(y, y)
        return z
    if c:
        a = f(x)
        r = R.negative(a)
    else:
        r = x
    return r
""")
    f, r = module["main"].bindings
    assert f.var == "f" and "def f(y" in f.value and "z: " in f.value
    assert r.value.startswith("if c:\n    a: ") and r.value.endswith("= x")


def test_equality_ignores_names_and_finds_differences(module):
    renamed = hammock.parse(TEXT.replace("y = R.matmul", "product = R.matmul").replace("relu(y)", "relu(product)"))
    assert hammock.structural_equal(module, renamed)
    changed = hammock.parse(TEXT.replace("R.nn.relu(y)", "R.nn.gelu(y)"))
    assert not hammock.structural_equal(module, changed)
    assert hammock.structural_hash(module) != hammock.structural_hash(changed)
    with pytest.raises(AssertionError, match="main.*relu.*gelu"):
        hammock.assert_structural_equal(module, changed)
    with pytest.raises(TypeError, match="hammock.parse"):
        hammock.structural_equal(module, TEXT)


def test_modules_are_pickled_and_copied(module):
    again = pickle.loads(pickle.dumps(module))
    assert hammock.structural_equal(module, again)
    assert copy.copy(module) is module and copy.deepcopy([module])[0] is module


def with_constant(value):
    """A module that adds a large constant."""
    text = """@R.function
def main(x: R.Tensor((64,), "float32"), w: R.Tensor((64,), "float32")):
    y = R.add(x, w)
    return y
"""
    return hammock.parse(text, params={"w": value})


def test_constants_are_weights():
    value = numpy.arange(64, dtype="float32")
    module = with_constant(value)
    assert [p.name for p in module["main"].params] == ["x"]
    assert numpy.array_equal(module.constants[0], value)
    brief = module.script(show_meta=False)
    assert len(brief) < len(module.script())
    again = hammock.parse(brief, constants=module.constants)
    assert hammock.structural_equal(module, again)
    assert hammock.structural_equal(module, pickle.loads(pickle.dumps(module)))
    assert not hammock.structural_equal(module, with_constant(value + 1))
    with pytest.raises(hammock.CompileError):
        hammock.parse(brief)


def test_functions_can_be_replaced_and_added(module):
    changed = module.with_functions("""
        @R.function
        def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
            y = R.exp(x)
            return y

        @R.function
        def more(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Module
            y: R.Tensor((4,), "float32") = cls.other(x)
            return y
    """)
    assert set(changed) == {"twice", "other", "main", "more"}
    assert changed["main"].bindings[0].value == "R.exp(x)"
    assert changed["other"].text == module["other"].text
    x = numpy.arange(4, dtype="float32")
    assert numpy.array_equal(hammock.compile(changed)["more"](x), x * 2)
    kept = with_constant(numpy.arange(64, dtype="float32"))
    extra = '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.exp(x)\n    return y\n'
    assert numpy.array_equal(kept.with_functions(extra).constants[0], kept.constants[0])
    with pytest.raises(ValueError, match="@R.function"):
        module.with_functions("x = 1")
    with pytest.raises(hammock.CompileError):
        module.with_functions("@R.function\ndef main(x: R.Tensor((4,))):\n    y = R.nothing(x)\n    return y\n")


def test_html_is_escaped(module):
    text = TEXT.replace("R.nn.relu(y)", "R.where(R.less(y, y), y, y)")
    page = hammock.parse(text)._repr_html_()
    assert "R.less" in page and "<script" not in page and page.startswith("<pre") and page.endswith("</pre>")
    assert "&quot;float32&quot;" in module["main"]._repr_html_()


def test_files_are_read_by_path(tmp_path, module):
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    assert hammock.structural_equal(hammock.parse(path), module)
    assert hammock.parse(str(path)).file == str(path)
    two = tmp_path / "two.py"
    two.write_text(TEXT + TEXT.replace("class Module", "class Second").replace("cls = Module", "cls = Second"))
    assert len(hammock.parse(two, module="Second")) == 3
    with pytest.raises(hammock.CompileError):
        hammock.parse(two, module="Third")
    for missing in [tmp_path / "missing.py", "missing", "", "x = R.add(x, x)"]:
        with pytest.raises(FileNotFoundError, match="the text of a model has several lines"):
            hammock.parse(missing)
    with pytest.raises(hammock.CompileError, match="folder"):
        hammock.parse(tmp_path)
    with pytest.raises(ValueError, match="device"):
        hammock.parse("/dev/zero")


def test_texts_without_line_breaks_are_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in ["@R.function", "  @I.ir_module class Module: pass", "def main(x): return x"]:
        with pytest.raises(hammock.CompileError, match="<text>:1"):
            hammock.parse(text)
        with pytest.raises(hammock.CompileError, match="mine:1"):
            hammock.parse(text, name="mine")
    for name in ["@model.py", "def model.py"]:
        (tmp_path / name).write_text(TEXT)
        assert hammock.parse(name).file == name


def test_wrong_arguments_are_named():
    for value in [None, 3, 2.5, object(), ["a"], {"a": 1}]:
        with pytest.raises(TypeError, match="`model`"):
            hammock.parse(value)
    for options, match in [
        ({"module": 3}, "`module`"),
        ({"name": b"x"}, "`name`"),
        ({"params": 3}, "`params`"),
        ({"params": {3: numpy.zeros(1)}}, "`params`"),
        ({"timeout": "1"}, "`timeout`"),
        ({"progress": 1}, "`progress`"),
    ]:
        with pytest.raises(TypeError, match=match):
            hammock.parse(TEXT, **options)
    for timeout in [0, -1, float("nan")]:
        with pytest.raises(ValueError, match="`timeout`"):
            hammock.parse(TEXT, timeout=timeout)
    with pytest.raises(TypeError, match="hammock.parse"):
        hammock.Module(TEXT)


def test_deep_expressions_do_not_overflow_the_stack():
    deep = "n" + " + n // 2" * 2_000
    text = f"""@R.function
def main(s: R.Shape(["n"])) -> R.Shape(ndim=1):
    n = T.int64()
    y = R.shape([{deep}])
    return y
"""
    for program in [text, text.replace(deep, "(" * 2_000 + "n" + ")" * 2_000)]:
        try:
            module = hammock.parse(program)
        except hammock.CompileError as error:
            assert error.diagnostics
        else:
            assert hammock.structural_equal(module, hammock.parse(module.script()))
