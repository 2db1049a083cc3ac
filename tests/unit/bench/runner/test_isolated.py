"""Work in processes of its own: what dies or takes too long is a result, and the rest goes on."""

import os
import signal
import time

from mocpack.bench.runner.isolated import Limits, run_apart
from mocpack.workers import LostJob
from naming import names


def act(subject, items):
    for item in items:
        if item == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if item == "hang":
            time.sleep(60)
        if item == "hoard":
            bytearray(3 << 30)
        while item == "toil":
            pass
        yield f"{subject} {item}"


def lost(result):
    assert isinstance(result, LostJob)
    return result.reason


def outcome(jobs, **settings):
    return {(s, i): result for s, i, result in run_apart(act, jobs, **settings)}


def test_results_come_from_every_subject():
    found = outcome([("a", [1, 2]), ("b", [3]), ("c", [])], workers=2)
    assert found == {("a", 1): "a 1", ("a", 2): "a 2", ("b", 3): "b 3"}


def test_an_item_that_kills_its_process_is_lost_and_the_next_is_done():
    found = outcome([("a", [1, "die", 2])])
    assert names(lost(found["a", "die"]), "11")
    assert found["a", 2] == "a 2"


def test_an_item_that_takes_too_long_is_lost_and_the_next_is_done():
    found = outcome([("a", ["hang", 2])], limits=Limits(seconds=1.0))
    assert names(lost(found["a", "hang"]), "1 s")
    assert found["a", 2] == "a 2"


def test_an_item_that_wants_too_much_memory_is_lost():
    found = outcome([("a", ["hoard"])], limits=Limits(megabytes=2048))
    assert names(lost(found["a", "hoard"]), "1")


def test_an_item_that_wants_too_much_of_the_processor_is_lost():
    found = outcome([("a", ["toil"])], limits=Limits(processor_seconds=2))
    assert names(lost(found["a", "toil"]), "2 s processor")
