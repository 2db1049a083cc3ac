import numpy as np
import pytest

from mocpack.papers.li.tables.curves import column_entropy


def test_four_equal_symbols_cost_two_bits():
    assert column_entropy(np.arange(4)[:, np.newaxis]).tolist() == [2.0]


def test_a_rare_symbol_costs_little():
    column = np.array([0] * 7 + [1])[:, np.newaxis]
    assert column_entropy(column)[0] == pytest.approx(-(7 / 8) * np.log2(7 / 8) + 3 / 8)


def test_no_rows_cost_nothing():
    assert column_entropy(np.zeros((0, 3), int)).tolist() == [0.0, 0.0, 0.0]
