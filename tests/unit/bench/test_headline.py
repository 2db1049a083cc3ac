"""The figures on generated pages are those of the committed tables."""

import importlib.util
import subprocess
import sys

import pytest

from mocpack.bench.datasets import CHECKOUT
from naming import names

SCRIPTS = CHECKOUT / "benchmarks"


def script(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def headline():
    return script("headline")


def row(codec, clip, size, target="max_error=1mm", failure=""):
    return {
        "codec": codec,
        "clip": clip,
        "target": target,
        "failure": failure,
        "frames": "100",
        "payload_bytes": str(size - 10),
        "file_bytes": str(size),
        "ratio_float32": "4",
        "mean_mm": "0.5",
        "velocity_cm_s": "2",
        "commit": "abc",
    }


def test_docs_and_readme_are_generated_from_the_committed_tables(headline):
    assert headline.PAGE.read_text() == headline.page()
    readme = headline.README.read_text()
    assert readme == headline.with_table(readme)


def test_the_page_of_growth_is_generated_from_its_table():
    growth = script("growth")
    assert (growth.DOCS / "growth.md").read_text() == growth.page()


def test_every_clip_of_the_table_is_measured_at_every_bound_or_says_why_not(headline):
    _, rows = headline.load(headline.SIZES)
    clips = {r["clip"] for r in rows}
    for codec in {r["codec"] for r in rows}:
        for bound in headline.BOUNDS:
            mine = headline.at_bound(rows, codec, bound)
            assert {r["clip"] for r in mine} == clips
            allowed = float(bound.removesuffix("mm"))
            assert all(r["failure"] or float(r["max_error_mm"]) <= allowed for r in mine)


def test_codecs_are_compared_on_the_clips_that_both_manage(headline):
    rows = [row("keysine", "a", 100), row("keysine", "b", 300)]
    rows += [row("rd-pca", "a", 200), row("rd-pca", "b", 0, failure="it cannot")]
    rows += [row("sz3", "a", 400), row("sz3", "b", 800)]
    lines = headline.size_table(rows, "1mm")[2:]
    assert lines[0].startswith("| keysine |")
    assert "| 380 | 400 | 4.0 | 1.00 | 0.500" in lines[0]
    assert "| 1,180 | 1,200 | 4.0 | 3.00 |" in lines[1]
    assert "1 of 2 | | | 2.00 |" in lines[2]
    assert names(lines[-1], "- rd-pca b: it cannot")


def test_a_codec_without_a_quality_parameter_has_rows_at_every_bound(headline):
    rows = [row("keysine", "a", 100), row("lossless", "a", 500, target="")]
    assert headline.at_bound(rows, "lossless", "10mm") == headline.at_bound(rows, "lossless", "1mm")
    assert headline.at_bound(rows, "keysine", "10mm") == []


@pytest.mark.parametrize(
    ("work", "signal"), [("bytearray(3 << 30)", "1"), ("while True: pass", "24")]
)
def test_a_point_that_exceeds_its_memory_or_cpu_time_ends_its_process(work, signal):
    limits = "growth.MAX_CPU_SECONDS, growth.MAX_MEGABYTES = 3, 2048"
    code = f"import growth\n{limits}\ngrowth.limit_process()\n{work}"
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, stderr=subprocess.DEVNULL)
    assert str(abs(done.returncode)) == signal


def test_a_size_that_a_limit_stopped_is_a_row_and_larger_ones_are_not_tried(monkeypatch):
    growth = script("growth")
    tried = []

    def measured(_, jobs, **__):
        ((_, size, _),) = jobs
        tried.append(size)
        cost = {"encode_seconds": size / 1000, "decode_seconds": 0.0}
        yield 0, cost if size < 5000 else growth.LostJob("out of time")

    monkeypatch.setattr(growth, "run_each", measured)
    rows = list(growth.climb("joints", "raw", (10, 9_000, 20_000)))
    assert tried == [10, 9_000]
    assert [r["failure"] for r in rows[:2]] == [None, "out of time"]
    assert names(rows[2]["failure"], "9,000 joints")
    slow = growth.outlook({"size": 100, "encode_seconds": 50.0, "decode_seconds": 0.0}, "frames")
    assert names(slow, "100 50 s")
