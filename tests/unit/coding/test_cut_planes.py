import numpy as np
import pytest

from mocpack.coding.planes import decode_cut_plane, decode_plane, encode_plane


def plane(seed=0):
    rng = np.random.default_rng(seed)
    return np.rint(rng.laplace(0, 2, (60, 7))).astype(int)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_every_row_of_a_cut_plane_is_right(share):
    values = plane()
    data = encode_plane(values)
    rows = decode_cut_plane(data[: int(share * len(data))], 60, 7)
    np.testing.assert_array_equal(rows, values[: len(rows)])
    assert len(rows) >= 60 * share - 4


def test_more_bytes_never_give_fewer_rows():
    data = encode_plane(plane(1))
    counts = [len(decode_cut_plane(data[:end], 60, 7)) for end in range(len(data) + 1)]
    assert counts == sorted(counts)


def test_a_whole_plane_is_still_decoded_strictly():
    values = plane(2)
    np.testing.assert_array_equal(decode_plane(encode_plane(values), 60, 7), values)
