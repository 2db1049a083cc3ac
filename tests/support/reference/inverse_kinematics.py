"""Equations (14) to (20) of Li, Okuda and Takahashi (2008), as they print them.

The native core runs the same sums in its loop (`core/src/papers/li/ik_predict.cpp`). This form is
for reading, and a test compares the two. A chain has N links of length L_j. θ, shape (N, 2), holds
the angles φ_j and ϕ_j of each.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64


def end_position(theta: F64, lengths: F64) -> F64:
    """Return the end of a chain (3,) relative to its base: equations (17) and (18)."""
    phi, varphi = theta.T
    f1 = np.sum(lengths * np.sin(phi) * np.cos(varphi))
    f2 = np.sum(lengths * np.sin(phi) * np.sin(varphi))
    f3 = np.sum(lengths * np.cos(phi))
    return np.array([f1, f2, f3])


def jacobian(theta: F64, lengths: F64) -> F64:
    """Return J (3, 2N), the change of the end by each angle: equations (19) and (20).

    Columns are φ_1, ϕ_1, φ_2, ϕ_2 and so on. The paper prints the six derivatives of a link in one
    row; they are the two columns of that link.
    """
    phi, varphi = theta.T
    by_phi = [np.cos(phi) * np.cos(varphi), np.cos(phi) * np.sin(varphi), -np.sin(phi)]
    by_varphi = [-np.sin(phi) * np.sin(varphi), np.sin(phi) * np.cos(varphi), np.zeros(len(phi))]
    columns = lengths * np.array([by_phi, by_varphi])  # (2, 3, N)
    return np.asarray(columns.transpose(1, 2, 0).reshape(3, -1))


def pseudo_inverse(j: F64) -> F64:
    """Return J* (2N, 3): equation (14)."""
    return np.asarray(j.T @ np.linalg.inv(j @ j.T))


def predict_change(theta: F64, last_change: F64, end_change: F64, lengths: F64, k: float) -> F64:
    """Return the predicted change (N, 2) of the angles of a chain: equation (15).

    Step (4) of the algorithm prints J* in place of the inner J, which does not have the dimensions.

    Parameters
    ----------
    theta, last_change : arrays, shape (N, 2)
        Angles of the last frame, and their change to it from the frame before.
    end_change : array, shape (3,)
        Δp, the movement of the end: equation (16).
    k : float
        Weight of the last change.
    """
    j = jacobian(theta, lengths)
    theta_0 = k * last_change.ravel()
    change = theta_0 + pseudo_inverse(j) @ (end_change - j @ theta_0)
    return np.asarray(change).reshape(-1, 2)
