# Recognizes handwritten digits: three dense layers, 64 -> 128 -> 64 -> 10, trained by train.py.
# Its weights are named parameters (weights.safetensors); the batch size is symbolic.
#
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def accuracy(images: R.Tensor((n, 64), dtype="float32"), labels: R.Tensor((n,), dtype="int64"), w1: R.Tensor((64, 128), dtype="float32"), b1: R.Tensor((128,), dtype="float32"), w2: R.Tensor((128, 64), dtype="float32"), b2: R.Tensor((64,), dtype="float32"), w3: R.Tensor((64, 10), dtype="float32"), b3: R.Tensor((10,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        cls = Module
        guesses: R.Tensor((n,), dtype="int64") = cls.classify(images, w1, b1, w2, b2, w3, b3)
        with R.dataflow():
            right: R.Tensor((n,), dtype="bool") = R.equal(guesses, labels)
            ones: R.Tensor((n,), dtype="float32") = R.astype(right, dtype="float32")
            share: R.Tensor((), dtype="float32") = R.mean(ones, axis=None, keepdims=False)
            R.output(share)
        return share

    @R.function
    def classify(images: R.Tensor((n, 64), dtype="float32"), w1: R.Tensor((64, 128), dtype="float32"), b1: R.Tensor((128,), dtype="float32"), w2: R.Tensor((128, 64), dtype="float32"), b2: R.Tensor((64,), dtype="float32"), w3: R.Tensor((64, 10), dtype="float32"), b3: R.Tensor((10,), dtype="float32")) -> R.Tensor((n,), dtype="int64"):
        cls = Module
        logits: R.Tensor((n, 10), dtype="float32") = cls.main(images, w1, b1, w2, b2, w3, b3)
        with R.dataflow():
            guesses: R.Tensor((n,), dtype="int64") = R.argmax(logits, axis=1, keepdims=False)
            R.output(guesses)
        return guesses

    @R.function
    def main(images: R.Tensor((n, 64), dtype="float32"), w1: R.Tensor((64, 128), dtype="float32"), b1: R.Tensor((128,), dtype="float32"), w2: R.Tensor((128, 64), dtype="float32"), b2: R.Tensor((64,), dtype="float32"), w3: R.Tensor((64, 10), dtype="float32"), b3: R.Tensor((10,), dtype="float32")) -> R.Tensor((n, 10), dtype="float32"):
        with R.dataflow():
            scaled: R.Tensor((n, 64), dtype="float32") = R.divide(images, R.const(16.0, "float32"))
            h1: R.Tensor((n, 128), dtype="float32") = R.matmul(scaled, w1)
            h1_biased: R.Tensor((n, 128), dtype="float32") = R.add(h1, b1)
            h1_active: R.Tensor((n, 128), dtype="float32") = R.nn.relu(h1_biased)
            h2: R.Tensor((n, 64), dtype="float32") = R.matmul(h1_active, w2)
            h2_biased: R.Tensor((n, 64), dtype="float32") = R.add(h2, b2)
            h2_active: R.Tensor((n, 64), dtype="float32") = R.nn.relu(h2_biased)
            h3: R.Tensor((n, 10), dtype="float32") = R.matmul(h2_active, w3)
            logits: R.Tensor((n, 10), dtype="float32") = R.add(h3, b3)
            R.output(logits)
        return logits
