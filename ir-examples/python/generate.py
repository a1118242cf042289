"""Stream text from a small language model: `tiny-lm/model.py`, trained on "Alice's Adventures in Wonderland"."""

# %% Compile. The model has functions for the prompt, `prefill`, and for one more byte, `decode`.
import codecs
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hammock

FOLDER = Path(__file__).resolve().parents[1] / "tiny-lm"
model = hammock.compile(FOLDER / "model.py", params=FOLDER / "weights.safetensors")
sample = hammock.get_global_func("vm.builtin.sample_top_p_from_logits")
uniform = hammock.get_global_func("hammock.random.uniform")


# %% A generator that yields text as it comes. `prefill` returns KV caches, which `decode` extends.
def generate(
    prompt: str, count: int, temperature: float = 0.7, top_k: int = 40, top_p: float = 0.95, seed: int = 0
) -> Iterator[str]:
    """Yields up to `count` bytes that follow a prompt. Temperature 0 takes the likeliest byte."""
    if not prompt:
        raise ValueError("the prompt must not be empty")
    tokens = np.frombuffer(prompt.encode(), np.uint8).astype(np.int64)
    logits, caches = model.prefill(tokens)
    text = codecs.getincrementaldecoder("utf-8")("replace")
    for position in range(len(tokens), len(tokens) + count):
        token = sample(logits[-1:], temperature, top_p, uniform(seed, position), top_k)
        yield text.decode(bytes([token]))
        logits = model.decode(np.array([token]), position, caches)
    yield text.decode(b"", final=True)


# %% Print each piece when it is there.
print("Alice was", end="")
for piece in generate("Alice was", 80, seed=7):
    print(piece, end="", flush=True)
print()

# %% The same seed gives the same text, and whoever has enough stops.
first = "".join(generate("Alice", 40, seed=1))
assert "".join(generate("Alice", 40, seed=1)) == first
sentence = ""
for piece in generate("The Queen said", 200, seed=3):
    sentence += piece
    if piece in ".!?":
        break
print("The Queen said" + sentence)

# %% Temperature 0 is what the trained network says.
expected = np.load(FOLDER / "expected.npz")
prompt, greedy = (bytes(expected[name].astype(np.uint8)).decode() for name in ("prompt", "greedy"))
assert "".join(generate(prompt, len(greedy), temperature=0.0)) == greedy
print("the same as the trained network")
