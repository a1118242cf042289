#!/usr/bin/env python3
"""Trains the network of model.py on the UCI handwritten digits and writes weights.safetensors and test.npz.

    pip install scikit-learn safetensors && python train.py

The 1797 images of 8 x 8 pixels (values 0 to 16) come with scikit-learn. 360 of them, 36 of each digit or nearly so,
are held out: test.npz has their `images` (360, 64) and `labels` (360,). The network is 64 -> 128 -> 64 -> 10 with
ReLU; it is trained by Adam on cross-entropy with small random shifts of the images.
"""
import pathlib

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SIZES = [64, 128, 64, 10]
EPOCHS, BATCH, RATE, DECAY = 120, 64, 2e-3, 1e-2


def shifted(images, rng):
    """Moves each image by up to one pixel in either direction."""
    out = np.zeros_like(images)
    for image, target in zip(images.reshape(-1, 8, 8), out.reshape(-1, 8, 8)):
        dy, dx = rng.integers(-1, 2, size=2)
        target[max(dy, 0):8 + min(dy, 0), max(dx, 0):8 + min(dx, 0)] = \
            image[max(-dy, 0):8 + min(-dy, 0), max(-dx, 0):8 + min(-dx, 0)]
    return out


def forward(params, x):
    """Activations of every layer; the last are the logits."""
    acts = [x / 16]
    for i in range(0, len(params), 2):
        x = acts[-1] @ params[i] + params[i + 1]
        acts.append(np.maximum(x, 0) if i + 2 < len(params) else x)
    return acts


def gradients(params, acts, labels):
    """Gradients of the mean cross-entropy by backpropagation."""
    logits = acts[-1] - acts[-1].max(axis=1, keepdims=True)
    delta = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1
    delta /= len(labels)
    grads = [None] * len(params)
    for i in reversed(range(0, len(params), 2)):
        grads[i], grads[i + 1] = acts[i // 2].T @ delta, delta.sum(axis=0)
        delta = (delta @ params[i].T) * (acts[i // 2] > 0)
    return grads


def main():
    here = pathlib.Path(__file__).parent
    rng = np.random.default_rng(7)
    images, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(images, labels, test_size=360, random_state=1, stratify=labels)
    params = []
    for m, n in zip(SIZES, SIZES[1:]):
        params += [rng.normal(0, np.sqrt(2 / m), (m, n)), np.zeros(n)]
    mean, square, step = [0.0] * len(params), [0.0] * len(params), 0
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            pick, step = order[start:start + BATCH], step + 1
            batch = shifted(x[pick], rng) if epoch % 2 and epoch < EPOCHS - 20 else x[pick]
            for i, g in enumerate(gradients(params, forward(params, batch), y[pick])):
                mean[i] = 0.9 * mean[i] + 0.1 * g
                square[i] = 0.999 * square[i] + 0.001 * g * g
                scale = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                params[i] = params[i] * (1 - rate * DECAY) - rate * scale * mean[i] / (np.sqrt(square[i]) + 1e-8)
    right = forward(params, x_test)[-1].argmax(axis=1) == y_test
    print(f"accuracy on {len(y_test)} held-out images: {right.mean():.4f}")
    names = [f"{kind}{i}" for i in range(1, len(SIZES)) for kind in ("w", "b")]
    save_file({n: np.ascontiguousarray(p, dtype="float32") for n, p in zip(names, params)}, here / "weights.safetensors")
    np.savez(here / "test.npz", images=x_test.astype("float32"), labels=y_test.astype("int64"))


if __name__ == "__main__":
    main()
