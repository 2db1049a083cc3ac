"""Ctrl-C and exceptions of progress callbacks stop a long encode at once."""

import signal
import time

import pytest

from mocpack import progress
from mocpack.codecs.keysine import Keysine
from mocpack.testing import walk


@pytest.fixture
def alarm():
    """Return a function that interrupts this process after that many seconds of CPU time."""
    interrupted = []

    def interrupt(number, frame):
        interrupted.append(time.process_time())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, interrupt)

    def set_alarm(seconds):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        return interrupted

    yield set_alarm
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("after", [0.05, 0.4, 1.2])
@pytest.mark.parametrize(
    "codec",
    [
        Keysine(max_error="0.1mm", effort="best", threads=1),
        Keysine(max_error="2mm", effort="best", group_seconds=20, threads=2),
        Keysine(mean_error="1mm", effort="best", threads=1),
    ],
    ids=["grid", "threads", "mean"],
)
def test_an_interrupt_ends_an_encode_within_half_a_second(codec, after, alarm):
    clip = walk(40.0, frame_rate=120)
    interrupted = alarm(after)
    with pytest.raises(KeyboardInterrupt):
        codec.encode(clip)
    assert time.process_time() - interrupted[0] < 0.5 * max(codec.threads, 1)


def test_an_exception_in_a_progress_callback_ends_the_encode():
    shares = []

    def listen(share):
        shares.append(share)
        if len(shares) == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), progress.report_to(listen):
        Keysine(threads=2).encode(walk(8.0))
    assert len(shares) == 3


def test_progress_ends_at_the_whole():
    shares = []
    with progress.report_to(shares.append):
        Keysine(max_error="0.4mm").encode(walk(2.0))
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1
