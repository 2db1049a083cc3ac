"""How far one motion is from another: every metric of the field, each by its formula."""

from mocpack.metrics.comparison import Comparison, Worst
from mocpack.metrics.contacts import slip, slips
from mocpack.metrics.spectrum import tremble, trembles
from mocpack.metrics.table import METRICS, Metric, compare, measure

__all__ = [
    "METRICS",
    "Comparison",
    "Metric",
    "Worst",
    "compare",
    "measure",
    "slip",
    "slips",
    "tremble",
    "trembles",
]
