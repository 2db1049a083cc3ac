"""Weights of metrics that are the root of a weighted mean of squared distances.

A search with a quadratic model of distances can minimize these metrics directly.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.metrics.papers import bones
from mocpack.model.skeleton import Skeleton

QUADRATIC = ("eps_x_cm", "eps_x_center_cm", "rms_mm")


def point_weights(skeleton: Skeleton, key: str) -> F64:
    """Return the weight (J + E,) of each joint and each end site in the metric of that key.

    If all bones have length 0, all joints get the same weight.
    """
    joints, ends = len(skeleton), len(skeleton.end_site_joints)
    weights = np.zeros(joints + ends)
    lengths, drivers = bones(skeleton)
    if key == "eps_x_cm":
        weights[1:] = lengths
    elif key == "eps_x_center_cm":
        np.add.at(weights, drivers, lengths)
    if not weights.any():
        weights[:joints] = 1.0
    return np.asarray(weights / weights.sum())
