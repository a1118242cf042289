#!/usr/bin/env python3
"""Trains the language model of model.py on text.txt, and writes weights.safetensors and expected.npz.

    pip install torch safetensors && python train.py          # about ten minutes

text.txt is "Alice's Adventures in Wonderland" by Lewis Carroll (1865, in the public domain), as Project Gutenberg's
edition of 1991 has it, without the title and with fewer empty lines and spaces.

A token is a byte. The network is a decoder of three layers, each of attention (four heads of queries share two of keys
and values, positions are rotations, a token sees the last 64) and a gated network (SwiGLU), both after RMSNorm; the
embedding is tied to the output projection. Weights of a kind are stacked for all layers. They are trained by AdamW on
windows of 128 bytes; the last twentieth of the text is held out to measure.

expected.npz has the bytes of a `prompt`, the `logits` for the token after each of them (computed in float64), and the bytes that
follow when the likeliest is taken each time, `greedy`.
"""
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

LAYERS, DIM, HEADS, KV_HEADS, HEAD, HIDDEN, VOCABULARY, WINDOW = 3, 128, 4, 2, 32, 256, 256, 64
CONTEXT, BATCH, STEPS, RATE, DECAY, DROPOUT = 128, 16, 1700, 3e-3, 0.1, 0.15
PROMPT = "Alice was not a bit hurt, and she jumped up"


def weights():
    """Random ones to start from; rows are inputs, columns outputs."""
    def normal(*shape):
        return torch.randn(LAYERS, *shape) * shape[0] ** -0.5
    params = {
        "embedding": torch.randn(VOCABULARY, DIM) * 0.02,
        "attention_norm": torch.ones(LAYERS, DIM),
        "wq": normal(DIM, HEADS * HEAD),
        "wk": normal(DIM, KV_HEADS * HEAD),
        "wv": normal(DIM, KV_HEADS * HEAD),
        "wo": normal(HEADS * HEAD, DIM) * (2 * LAYERS) ** -0.5,
        "mlp_norm": torch.ones(LAYERS, DIM),
        "gate": normal(DIM, HIDDEN),
        "up": normal(DIM, HIDDEN),
        "down": normal(HIDDEN, DIM) * (2 * LAYERS) ** -0.5,
        "norm": torch.ones(DIM),
    }
    return {name: w.requires_grad_() for name, w in params.items()}


def rms_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


def rotated(x):
    """Rotates the pairs (i, i + HEAD / 2) of each head (axes: batch, position, head, element) by an angle proportional to
    the position: position * 10000^(-2i / HEAD)."""
    half = HEAD // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    angles = torch.outer(torch.arange(x.shape[1], dtype=x.dtype), rates)[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def forward(params, tokens, dropout=0.0):
    """Logits (batch, position, token)."""
    batch, n = tokens.shape
    at = torch.arange(n)
    ahead = at[None, :] - at[:, None]
    seen = (ahead <= 0) & (ahead > -WINDOW)
    x = params["embedding"][tokens] * DIM ** 0.5
    for i in range(LAYERS):
        w = {name: value[i] for name, value in params.items() if value.shape[0] == LAYERS}
        h = rms_norm(x, w["attention_norm"])
        q = rotated((h @ w["wq"]).view(batch, n, HEADS, HEAD))
        k = rotated((h @ w["wk"]).view(batch, n, KV_HEADS, HEAD)).repeat_interleave(HEADS // KV_HEADS, 2)
        v = (h @ w["wv"]).view(batch, n, KV_HEADS, HEAD).repeat_interleave(HEADS // KV_HEADS, 2)
        mixed = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), attn_mask=seen)
        x = x + F.dropout(mixed.transpose(1, 2).reshape(batch, n, -1) @ w["wo"], dropout)
        h = rms_norm(x, w["mlp_norm"])
        x = x + F.dropout((F.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"], dropout)
    return rms_norm(x, params["norm"]) @ params["embedding"].T


def loss(params, windows, dropout=0.0):
    logits = forward(params, windows[:, :-1], dropout)
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


def train(text):
    learnt, held_out = text[:len(text) * 19 // 20], text[len(text) * 19 // 20:]
    test = torch.stack([held_out[at:at + CONTEXT + 1] for at in range(0, len(held_out) - CONTEXT - 1, CONTEXT)])
    params = weights()
    matrices = [w for w in params.values() if w.dim() == 3]
    others = [w for w in params.values() if w.dim() < 3]
    adam = torch.optim.AdamW([{"params": matrices}, {"params": others, "weight_decay": 0.0}],
                             lr=RATE, weight_decay=DECAY, betas=(0.9, 0.98))
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = RATE * min((step + 1) / 100, 0.01 + 0.5 * (1 + math.cos(math.pi * step / STEPS)))
        starts = torch.randint(len(learnt) - CONTEXT - 1, (BATCH,))
        value = loss(params, torch.stack([learnt[at:at + CONTEXT + 1] for at in starts]), DROPOUT)
        adam.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(params.values(), 1.0)
        adam.step()
        if step % 100 == 0 or step == STEPS - 1:
            with torch.no_grad():
                print(f"step {step}: {value:.3f} nats a byte, held out {loss(params, test):.3f}", flush=True)
    return params


def record(params, file):
    """What model.py must compute, from the same weights in float64."""
    params = {name: w.detach().double() for name, w in params.items()}
    prompt = torch.tensor(list(PROMPT.encode()))
    tokens = prompt
    with torch.no_grad():
        for _ in range(150):
            tokens = torch.cat([tokens, forward(params, tokens[None])[0, -1].argmax()[None]])
        logits = forward(params, prompt[None])[0]
    greedy = tokens[len(prompt):]
    print(PROMPT + bytes(greedy.tolist()).decode(errors="replace"))
    np.savez(file, prompt=prompt.numpy(), logits=logits.float().numpy(), greedy=greedy.numpy())


def main():
    here = pathlib.Path(__file__).parent
    torch.manual_seed(1)
    text = torch.tensor(list((here / "text.txt").read_bytes()))
    params = train(text)
    save_file({name: w.detach().numpy() for name, w in params.items()}, here / "weights.safetensors")
    record(params, here / "expected.npz")


if __name__ == "__main__":
    main()
