"""Progress reports of long work, and silence without a callback."""

import numpy as np
import pytest

import mocpack
from mocpack import progress
from mocpack.testing import walk


def shares_of(work):
    shares = []
    with progress.report_to(shares.append):
        work()
    return shares


def test_units_within_units_add_up():
    def inner():
        progress.expect(2)
        for _ in range(2):
            with progress.stage():
                pass

    def outer():
        progress.expect(4)
        with progress.stage(1):
            inner()
        with progress.stage(3):
            inner()

    assert shares_of(outer) == [0.125, 0.25, 0.25, 0.625, 1.0, 1.0]


def test_work_that_was_not_expected_makes_the_share_fall():
    def again():
        progress.expect(1)
        for _ in range(2):
            with progress.stage():
                pass

    assert shares_of(again) == [1.0, 1.0]
    assert shares_of(lambda: retry_once()) == [0.5, 1.0, 0.75, 1.0]


def retry_once():
    progress.expect(1)
    for _ in range(2):
        with progress.stage():
            progress.reporter()(1, 2)


def test_nothing_is_reported_without_a_listener():
    assert progress.reporter() is None
    progress.expect(3)
    with progress.stage():
        assert progress.reporter() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        {"max_error": "1mm"},
        {"max_error": "0.3mm"},  # also on a grid
        {"max_error": "3mm", "effort": "best"},
        {"mean_error": "2mm"},
        {"size": 6000},
        {"codec": "wavelet", "max_error": "20mm"},
    ],
)
def test_an_encode_reports_progress_from_start_to_end(target):
    clip = walk(8)
    shares = shares_of(lambda: mocpack.encode(clip, **target))
    assert len(shares) > 2
    assert 0 <= min(shares) <= 0.2
    assert max(shares) <= 1
    assert shares[-1] > 0.4  # fewer tries than usual may have been enough


def test_listening_changes_no_byte():
    clip = walk(5)
    heard = []
    with progress.report_to(heard.append):
        told = mocpack.encode(clip, max_error="1mm")
    assert heard
    assert told == mocpack.encode(clip, max_error="1mm")


def test_a_listener_that_raises_ends_the_encode():
    clip = walk(36)  # long enough for several threads

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.report_to(stop):
        mocpack.encode(clip, "keysine:threads=4", max_error="1mm")
    assert np.isfinite(mocpack.decode(mocpack.encode(clip, max_error="9mm")).rotations).all()
