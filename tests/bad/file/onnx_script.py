import onnx

model = onnx.load("model.onnx")
print(model.graph)
