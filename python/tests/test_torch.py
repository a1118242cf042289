"""torch modules: compiled through `torch.export`, and as a backend of `torch.compile`."""

import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import hammock  # noqa: E402
import hammock.torch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
        )

    def forward(self, x):
        return self.layers(x)


@pytest.fixture(scope="module")
def net():
    return Net().eval()


def close(a, b):
    torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)


def test_a_module_is_compiled_for_open_sizes(net):
    fast = hammock.torch.compile(net, (torch.randn(2, 8),), ({0: torch.export.Dim("batch")},))
    for batch in (2, 5):
        x = torch.randn(batch, 8)
        result = fast(x)
        assert isinstance(result, torch.Tensor) and not result.requires_grad
        close(result, net(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(x)
    x = torch.randn(8, 3).t().requires_grad_()
    close(fast(x), net(x))
    with pytest.raises(TypeError, match="structure"):
        fast(x, x)
    with pytest.raises(TypeError, match="named arguments"):
        fast(x=x)
    with pytest.raises(Exception, match="x"):
        fast(torch.randn(2, 7))


def test_the_structure_of_arguments_and_results_is_kept():
    class Structured(torch.nn.Module):
        def forward(self, pair, scale, *, bias=None):
            a, b = pair["a"], pair["b"]
            return {"sum": a + b * scale, "none": None, "both": (a, [b + bias])}

    module = Structured().eval()
    pair = {"a": torch.randn(3), "b": torch.randn(3)}
    fast = hammock.torch.compile(module, (pair, 2), example_kwargs={"bias": torch.ones(3)})
    result, expected = fast(pair, 2, bias=torch.ones(3)), module(pair, 2, bias=torch.ones(3))
    assert result["none"] is None
    close(result["sum"], expected["sum"])
    close(result["both"][0], expected["both"][0])
    close(result["both"][1][0], expected["both"][1][0])
    with pytest.raises(ValueError, match="was 2 when the module was exported"):
        fast(pair, 3, bias=torch.ones(3))


def test_an_exported_program_is_a_module(net):
    program = torch.export.export(net, (torch.randn(2, 8),))
    module = hammock.torch.from_exported_program(program)
    assert isinstance(module, hammock.Module) and len(module["main"].params) == 1
    x = torch.randn(2, 8)
    close(hammock.torch.compile(program, opt_level=3)(x), net(x))


def test_large_models_pass_through_a_file(net, monkeypatch):
    monkeypatch.setattr(hammock.torch, "_MAX_IN_MEMORY", 0)
    x = torch.randn(2, 8)
    close(hammock.torch.compile(net, (x,))(x), net(x))


def test_wrong_uses_are_explained(net):
    x = torch.randn(2, 8)
    for args, match in [((net,), "example_inputs"), ((net, x), "tuple"), ((3, (x,)), "torch.nn.Module")]:
        with pytest.raises(TypeError, match=match):
            hammock.torch.compile(*args)
    with pytest.raises(TypeError, match="returns"):
        hammock.torch.compile(net, (x,), returns="numpy")
    with pytest.raises(TypeError, match="hammock.torch.compile"):
        hammock.compile(net)
    with pytest.raises(TypeError, match="ExportedProgram"):
        hammock.torch.from_exported_program(net)
    norm = torch.nn.BatchNorm1d(8).train()
    with pytest.raises(ValueError, match="changes running_mean"):
        hammock.torch.compile(norm, (x,))
    fast = hammock.torch.compile(net, (x,))
    with pytest.raises(ValueError, match="`x` is on the device meta"):
        fast(torch.empty(2, 8, device="meta"))


def test_a_backend_of_torch_compile(net):
    assert "hammock" in torch._dynamo.list_backends()
    fast = torch.compile(net, backend="hammock", options={"opt_level": 1})
    with torch.no_grad():
        for batch in (2, 3, 7):
            x = torch.randn(batch, 8)
            close(fast(x), net(x))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no_grad"):
        torch.compile(net, backend="hammock")(torch.randn(2, 8))
