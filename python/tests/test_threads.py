"""Calls from several threads at once, and calls within calls."""

import concurrent.futures
from typing import Any

import numpy as np

import models


def test_threads_share_a_model() -> None:
    zoo = models.zoo()

    def work(seed: int) -> int:
        draw = np.random.default_rng(seed)
        for number in range(100):
            x = draw.random((1 + number % 7, 4), np.float32)
            w = draw.random(4, np.float32)
            np.testing.assert_array_equal(zoo(x, w), x + w)
        return seed

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == list(range(16))


def test_arguments_may_call_the_model() -> None:
    zoo = models.zoo()
    ones, row = np.ones((3, 4), np.float32), np.ones(4, np.float32)

    class Computed:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            return zoo(ones, row)

    np.testing.assert_array_equal(zoo(Computed(), row), ones + 2)
