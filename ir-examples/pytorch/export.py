#!/usr/bin/env python3
"""Exports a PyTorch model to Hammock in both ways: as an ONNX file, and as text with weights through TVM's importer.

    pip install torch onnx onnxscript safetensors && python export.py
    pip install apache-tvm && python export.py --tvm

The model is a small convolutional network with random weights (seed 0), exported by torch.export with a batch of any
size. The first command writes model.onnx, the second model.py and weights.safetensors, and both write four images of
16 x 16 pixels, images.npy (4, 1, 16, 16), and the scores that PyTorch computes for them, scores.npz (4, 10).
"""
import sys

import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.SiLU(), torch.nn.AdaptiveAvgPool2d(2),
        )
        self.scores = torch.nn.Linear(64, 10)

    def forward(self, images):
        return self.scores(self.features(images).flatten(1))


def to_onnx(model, images, sizes):
    import onnx

    torch.onnx.export(model, (images,), "model.onnx", input_names=["images"], output_names=["scores"],
                      dynamo=True, dynamic_shapes=sizes, external_data=False, verbose=False)
    # The exporter notes where in whose sources each node comes from.
    exported = onnx.load("model.onnx")
    for noted in [exported, exported.graph, *exported.graph.node, *exported.graph.value_info, *exported.graph.input,
                  *exported.graph.output, *exported.graph.initializer]:
        noted.ClearField("metadata_props")
    onnx.save(exported, "model.onnx")


def to_text(model, images, sizes):
    from safetensors.numpy import save_file
    from tvm.relax.frontend import detach_params
    from tvm.relax.frontend.torch import from_exported_program

    exported = torch.export.export(model, (images,), dynamic_shapes=sizes)
    module, params = detach_params(from_exported_program(exported, keep_params_as_input=True))
    weights = params["main"]
    names = [param.name for param in module["main"].params[-len(weights):]]
    with open("model.py", "w") as file:
        file.write(module.script(show_meta=True))
    save_file({name: weight.numpy() for name, weight in zip(names, weights)}, "weights.safetensors")


torch.manual_seed(0)
model = Net().eval()
images = torch.rand(4, 1, 16, 16)
sizes = {"images": {0: torch.export.Dim("batch")}}
np.save("images.npy", images.numpy())
np.savez("scores.npz", **{"0": model(images).detach().numpy()})
(to_text if "--tvm" in sys.argv else to_onnx)(model, images, sizes)
