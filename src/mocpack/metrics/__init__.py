"""Metrics of the difference between two motions."""

from mocpack.metrics.comparison import Comparison, Worst
from mocpack.metrics.contacts import foot_skate_excess, has_foot_skate
from mocpack.metrics.spectrum import has_jitter, jitter
from mocpack.metrics.table import METRICS, Metric, compare, measure

__all__ = [
    "METRICS",
    "Comparison",
    "Metric",
    "Worst",
    "compare",
    "foot_skate_excess",
    "has_foot_skate",
    "has_jitter",
    "jitter",
    "measure",
]
