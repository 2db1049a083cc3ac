"""TRC files of marker positions."""

import numpy as np
import pytest

from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError
from mocpack.io import write_bytes
from mocpack.testing.motions import walk
from naming import naming
from reading import read_bytes
from takes import markers


def table(rows, *, units="mm", rate="100", separator="\t", count=None):
    lines = [
        ["PathFileType", "4", "(X/Y/Z)", "x.trc"],
        ["DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units"],
        [rate, rate, str(len(rows) if count is None else count), "2", units],
        ["Frame#", "Time", "hip", "", "", "knee", "", ""],
        ["", "", "X1", "Y1", "Z1", "X2", "Y2", "Z2"],
        [""],
        *rows,
    ]
    return "\r\n".join(separator.join(map(str, line)) for line in lines).encode()


ROWS = [
    [1, 0.00, 1, 2, 3, 4, 5, 6],
    [2, 0.01, 1, 2, 3, "", "", ""],
    [3, 0.02, 1, 2, 4, 4, 5, 8],
]


@pytest.mark.parametrize("separator", ["\t", ","])
def test_markers_gaps_and_units_are_read(separator):
    clip = read_bytes(table(ROWS, separator=separator))
    assert clip.skeleton.names == ("hip", "knee")
    assert (clip.frame_rate, clip.unit) == (100, 0.001)
    np.testing.assert_allclose(clip.points()[0], [[0.001, 0.002, 0.003], [0.004, 0.005, 0.006]])
    np.testing.assert_array_equal(clip.valid, [[1, 1], [1, 0], [1, 1]])


def test_cells_that_are_left_out_at_the_end_or_are_no_number_are_gaps():
    rows = [ROWS[0], [2, 0.01, 1, 2, 3], [3, 0.02, "nan", 2, 4, 4, 5, 8]]
    np.testing.assert_array_equal(read_bytes(table(rows)).valid, [[1, 1], [1, 0], [0, 1]])


def test_times_that_are_not_even_are_kept_and_rounded_ones_are_even():
    uneven = [[1, 0.0, *ROWS[0][2:]], [2, 0.01, *ROWS[0][2:]], [3, 0.5, *ROWS[0][2:]]]
    np.testing.assert_allclose(read_bytes(table(uneven)).times, [0, 0.01, 0.5])
    rounded = [[n + 1, round(2 + n / 60, 3), *ROWS[0][2:]] for n in range(50)]
    clip = read_bytes(table(rounded, rate="60"))
    assert (clip.take_data.times, clip.start_time, clip.frame_rate) == (None, 2, 60)


def test_a_count_of_frames_that_is_wrong_is_noted():
    clip = read_bytes(table(ROWS, count=652))
    assert clip.frame_count == 3
    assert clip.metadata["declared_frames"] == "652"


def test_written_numbers_are_read_back_exactly():
    clip = markers()
    back = read_bytes(write_bytes(clip, ".trc"))
    assert back.skeleton.names == clip.skeleton.names
    np.testing.assert_array_equal(back.valid, clip.valid)
    np.testing.assert_allclose(back.points(), clip.points(), rtol=0, atol=1e-12)
    again = read_bytes(write_bytes(back, ".trc"))
    np.testing.assert_array_equal(again.points(), back.points())
    with pytest.raises(UnsupportedClipError, match=naming("TRC")):
        write_bytes(walk(0.1), ".trc")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (table([]), "TRC frames"),
        (table(ROWS, units="parsec"), "Units 'parsec'"),
        (b"PathFileType\t4\n\n", "TRC 3"),
        (b"PathFileType\n\n\n\n\n\n1\t2", "line 4"),
        (table([[1, "", 1, 2, 3, 4, 5, 6]]), "x.trc time"),
        (table([[*ROWS[0], 7]]), "frame 1 8"),
        (table([[1, 0.0, 1e300, 2, 3, 4, 5, 6]]), "translations"),
        (table([ROWS[1], ROWS[0]]), "times 0.01 0.0"),
    ],
)
def test_errors_are_sentences(data, named):
    with pytest.raises((CorruptionError, FormatError), match=naming(named)):
        read_bytes(data, name="x.trc")
