"""Compile a torch module, and call it with torch tensors."""

# %% A module, in evaluation mode. It needs `pip install torch onnx onnxscript`.
import os
import tempfile

import torch

import hammock.torch

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3, padding=1),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(8 * 8 * 8, 10),
).eval()
images = torch.rand(4, 1, 16, 16)

# %% Compile. The example inputs give the shapes, and `dynamic_shapes` the sizes that stay open.
fast = hammock.torch.compile(net, (images,), ({0: torch.export.Dim("batch")},))
print(fast.model)

# %% Run: tensors in and out, without copies.
for batch in (1, 4, 7):
    images = torch.rand(batch, 1, 16, 16)
    with torch.no_grad():
        expected = net(images)
    torch.testing.assert_close(fast(images), expected, rtol=1e-4, atol=1e-5)
print("the same as torch")

# %% Save: the file runs where there is no torch.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.so")
    fast.model.save(path)
    scores = hammock.load(path)(images.numpy())
assert abs(scores - expected.numpy()).max() < 1e-4

# %% As a backend of torch.compile, for code that calls the module itself.
compiled = torch.compile(net, backend="hammock")
with torch.no_grad():
    torch.testing.assert_close(compiled(images), expected, rtol=1e-4, atol=1e-5)
print("torch.compile gives the same")

# %% Time both. Kernels run on hammock.threads() threads.
timing = fast.model.bench(images, min_time=0.2)
print(timing)
