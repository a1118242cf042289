"""`Model.bench` and `Model.profile`."""

import json
import pathlib
import signal
import threading
import time
import xml.etree.ElementTree

import numpy as np
import pytest

import models

ARGS = (np.ones((3, 4), np.float32), np.ones(4, np.float32))


def test_bench_measures_calls() -> None:
    begin = time.perf_counter()
    timing = models.zoo().bench(*ARGS, min_time=0.05)
    assert 0.05 <= time.perf_counter() - begin < 30
    assert 0 < timing.min <= timing.median <= timing.p90 <= timing.max < 1
    assert timing.quantile(0.5) == timing.median and timing.samples >= 1 and timing.threads >= 1
    assert timing.peak_bytes > 0
    assert json.loads(timing.json())["median_ns"] == pytest.approx(timing.median * 1e9, abs=0.1)
    assert str(timing).startswith("median ") and "<table>" in timing._repr_html_()
    assert models.zoo().bench(3, f=0.5, func="numbers", min_time=0.01).median > 0


def test_bench_rejects_bad_arguments() -> None:
    for min_time in (0.0, -1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(ValueError, match="min_time"):
            models.zoo().bench(*ARGS, min_time=min_time)
    with pytest.raises(ValueError, match="main\\(\\), parameter `w`"):
        models.zoo().bench(ARGS[0], np.ones(5, np.float32), min_time=0.01)
    with pytest.raises(KeyError):
        models.zoo().bench(*ARGS, func="nothing")
    with pytest.raises(ValueError, match="share"):
        models.zoo().bench(*ARGS, min_time=0.01).quantile(2.0)


def test_bench_can_be_interrupted() -> None:
    class Interrupted(Exception):
        pass

    def handler(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    try:
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(Interrupted):
            models.zoo().bench(*ARGS, min_time=60.0)
        assert time.perf_counter() - begin < 30
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_profile_shows_where_the_time_goes(tmp_path: pathlib.Path) -> None:
    profile = models.zoo().profile(*ARGS, number=7)
    (kernel,) = (row for row in profile.rows if row.kind == "kernel" and row.name == "add")
    assert kernel.count == 7
    assert 0 < kernel.min <= kernel.mean <= kernel.max and kernel.own <= kernel.total <= profile.total
    assert kernel.bytes == 7 * 4 * (12 + 4 + 12)
    assert [row.own for row in profile.rows] == sorted((row.own for row in profile.rows), reverse=True)
    assert sum(row.share for row in profile.rows) == pytest.approx(1, abs=1e-6)
    assert str(profile) == profile.table() and kernel.name in profile.table()
    assert {row["name"] for row in json.loads(profile.json())["rows"]} == {row.name for row in profile.rows}
    trace = json.loads(profile.trace())["traceEvents"]
    assert sum(event["name"] == kernel.name for event in trace) == 7
    page = profile._repr_html_()
    assert "<table>" in page and "<svg" in page

    svg = profile.flame_graph()._repr_svg_()
    assert xml.etree.ElementTree.fromstring(svg).tag.endswith("svg") and kernel.name in svg
    for name, start in (("x.svg", "<svg"), ("x.trace.json", '{"displayTimeUnit"'), ("x.json", "{"), ("x.txt", "name")):
        profile.save(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(start)
    with pytest.raises(OSError):
        profile.save(tmp_path / "missing" / "x.svg")


def test_profile_rejects_bad_arguments() -> None:
    with pytest.raises(ValueError, match="number"):
        models.zoo().profile(*ARGS, number=0)
    with pytest.raises(TypeError, match="main\\(\\) is missing"):
        models.zoo().profile()
    np.testing.assert_array_equal(models.zoo()(*ARGS), ARGS[0] + ARGS[1])
