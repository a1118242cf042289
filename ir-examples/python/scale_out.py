"""Run a model over many files with Ray Data, and serve it with Ray Serve, in two processes each.

Each process loads the model once. Files above 64 MiB are mapped, so processes of a machine share the memory of weights.
It needs `pip install "ray[data,serve]"`.
"""

# %% Compile once, to a file. Processes load that: they need no compiler, and hammock-runtime is enough for them.
import asyncio
import json
import os
import socket
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import ray
import ray.data
import ray.serve

import hammock

DIGITS = Path(__file__).resolve().parents[1] / "digits"
work = tempfile.TemporaryDirectory(prefix="hammock-")
library = os.path.join(work.name, "digits.so")
hammock.compile(DIGITS / "model.py", params=DIGITS / "weights.safetensors").save(library)

# %% Many files to run it on.
test = np.load(DIGITS / "test.npz")
images, labels = test["images"], test["labels"]
files = os.path.join(work.name, "images")
os.mkdir(files)
for number, part in enumerate(np.array_split(images, 12)):
    np.save(os.path.join(files, f"{number:02}.npy"), part)


# %% An actor: it loads the model when it starts, and classifies one batch after the other. With one process per core,
# one thread each is the fastest.
class Classifier:
    def __init__(self, path: str) -> None:
        hammock.set_threads(1)
        self.model = hammock.load(path)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        guesses = self.model.classify(batch["data"])
        return {"guess": guesses, "process": np.full(len(guesses), os.getpid())}


# %% Batch inference: Ray Data reads the files and gives the actors their batches.
ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
context = ray.data.DataContext.get_current()
context.enable_progress_bars = False
context.wait_for_min_actors_s = 60
context.execution_options.preserve_order = True
workers = ray.data.ActorPoolStrategy(size=2)
results = (
    ray.data.read_numpy(files)
    .map_batches(Classifier, fn_constructor_args=(library,), batch_size=30, compute=workers)
    .take_all()
)
guesses = np.array([row["guess"] for row in results])
print(len(guesses), "images, accuracy", np.mean(guesses == labels))
print(len({int(row["process"]) for row in results}), "processes")


# %% A served model: two replicas behind one address. A call runs on another thread, so the replica takes further
# requests meanwhile: Python's other threads run while a model does.
@ray.serve.deployment(num_replicas=2, ray_actor_options={"num_cpus": 1})
class Server:
    def __init__(self, path: str) -> None:
        hammock.set_threads(1)
        self.model = hammock.load(path)

    async def __call__(self, request) -> dict[str, Any]:
        batch = np.asarray(await request.json(), "float32")
        guesses = await asyncio.to_thread(self.model.classify, batch)
        return {"digits": guesses.tolist(), "process": os.getpid()}


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
ray.serve.start(http_options={"host": "127.0.0.1", "port": port})
ray.serve.run(Server.bind(library), name="digits")


# %% Ask it, from several threads at once.
def ask(batch: np.ndarray) -> dict[str, Any]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", json.dumps(batch.tolist()).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


with ThreadPoolExecutor(4) as pool:
    answers = list(pool.map(ask, np.array_split(images, 24)))
served = np.concatenate([answer["digits"] for answer in answers])
assert np.array_equal(served, guesses)
print(len({answer["process"] for answer in answers}), "replicas gave the same digits")

# %% Stop: Ray ends the actors and the replicas.
ray.shutdown()
work.cleanup()
