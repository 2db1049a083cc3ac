"""Rotations as arrays of unit quaternions (x, y, z, w), with any leading shape.

Euler angles are in radians and intrinsic: order "ZYX" rotates about z, then about the rotated y,
then about the rotated x, so its matrix is Rz @ Ry @ Rx. BVH lists its channels in this order.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64, I64

IDENTITY: F64 = np.array([0.0, 0.0, 0.0, 1.0])
IDENTITY.setflags(write=False)
POLE_TOLERANCE = 1e-12  # components of a unit quaternion below this are rounding
GRID = 2**31  # of rest rotations
_AXES = {"X": 0, "Y": 1, "Z": 2}


def multiply(a: F64, b: F64) -> F64:
    """Return the product a · b, which rotates by `b` first; shapes (..., 4)."""
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    product: F64 = np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )
    return product


def conjugate(q: F64) -> F64:
    """Return the inverse rotation; w keeps its sign."""
    return np.asarray(q * np.array([-1.0, -1.0, -1.0, 1.0]))


def rotate(q: F64, v: F64) -> F64:
    """Rotate vectors `v` (..., 3) by rotations `q` (..., 4)."""
    xyz, w = q[..., :3], q[..., 3:]
    t = 2.0 * cross(xyz, v)
    return v + w * t + cross(xyz, t)


def to_grid(q: F64) -> tuple[I64, I64]:
    """Return unit quaternions (N, 4) as integers, which `from_grid` turns back into quaternions.

    Returns
    -------
    omitted : array, shape (N,)
        The component that follows from the others, plus 4 if it is negative.
    others : array, shape (N, 3)
        The other components in units of 1 / GRID, in order.
    """
    largest = np.abs(q).argmax(-1)
    omitted, others = _omit(normalize(q), largest)
    # a quaternion on the grid stays what it is, even if rounding has changed its largest component
    for component in (0, 1, 2, 3, largest):
        choice = _omit(q, np.broadcast_to(component, len(q)))
        exact = (from_grid(*choice) == q).all(-1)
        omitted, others = (
            np.where(exact, choice[0], omitted),
            np.where(exact[:, np.newaxis], choice[1], others),
        )
    return omitted, others


def from_grid(omitted: I64, others: I64) -> F64:
    """Return the unit quaternions (N, 4) of integers from `to_grid`."""
    q = np.zeros((len(omitted), 4))
    kept = np.arange(4) != omitted[:, np.newaxis] % 4
    q[kept] = (others / GRID).ravel()
    square = np.maximum(GRID**2 - (others * others).sum(-1), 0)  # exact, equal on every machine
    q[~kept] = np.where(omitted < 4, 1, -1) * np.sqrt(square) / GRID
    return q


def _omit(q: F64, component: I64) -> tuple[I64, I64]:
    omitted = component[:, np.newaxis]
    negative = np.take_along_axis(q, omitted, 1)[:, 0] < 0
    others = q[np.arange(4) != omitted].reshape(-1, 3)
    return component + 4 * negative, np.rint(others * GRID).astype(np.int64)


def cross(a: F64, b: F64) -> F64:
    """Return the cross product of vectors (..., 3); several times faster than `numpy.cross`."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def normalize(q: F64) -> F64:
    """Scale to unit length; the zero quaternion becomes the identity."""
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(norm > 1e-12, q / np.maximum(norm, 1e-12), IDENTITY)


def from_euler(angles: F64, order: str) -> F64:
    """Return rotations from intrinsic Euler angles.

    Parameters
    ----------
    angles : array, shape (..., len(order))
        Radians, in the sequence of `order`.
    order : str
        Up to three of "X", "Y", "Z", for example "ZYX"; fewer for joints with fewer axes.
    """
    result = np.broadcast_to(IDENTITY, (*angles.shape[:-1], 4))
    for k, letter in enumerate(order):
        half = 0.5 * angles[..., k]
        turn = np.zeros((*angles.shape[:-1], 4))
        turn[..., _AXES[letter]] = np.sin(half)
        turn[..., 3] = np.cos(half)
        result = multiply(result, turn) if k else turn
    return np.ascontiguousarray(result)


def as_euler(q: F64, order: str) -> F64:
    """Return intrinsic Euler angles (..., len(order)) in radians, each in [-π, π].

    Parameters
    ----------
    order : str
        Up to three different axes. With three, the middle angle lies in [-π/2, π/2]; at gimbal
        lock the last angle is 0. With fewer, the rotation must be about these axes only.
    """
    by_count = (_one_angle, _two_angles, _three_angles)
    return by_count[len(order) - 1](q, [_AXES[letter] for letter in order])


def _one_angle(q: F64, axes: list[int]) -> F64:
    angles = 2 * np.arctan2(q[..., axes], q[..., 3:])
    return _nearest_turn(angles, np.zeros(1))


def _two_angles(q: F64, axes: list[int]) -> F64:
    i, j = axes
    k, sign = 3 - i - j, _handedness(i, j)
    m = as_matrix(q)
    # the first rotation leaves its own axis unchanged, the second its own
    first = np.arctan2(sign * m[..., k, j], m[..., j, j])
    second = np.arctan2(sign * m[..., i, k], m[..., i, i])
    return np.stack([first, second], axis=-1)


def _three_angles(q: F64, axes: list[int]) -> F64:
    i, j, k = axes
    sign = _handedness(i, j)
    x, y, z, w = q[..., i], q[..., j], sign * q[..., k], q[..., 3]
    # Half the sum and half the difference of the outer angles. Each is undefined at one pole, where
    # any value gives the same rotation.
    up, down = np.hypot(x + z, w + y), np.hypot(x - z, w - y)
    plus, minus = np.arctan2(x + z, w + y), np.arctan2(x - z, w - y)
    minus = np.where(down < POLE_TOLERANCE, plus, minus)
    plus = np.where(up < POLE_TOLERANCE, minus, plus)
    middle = np.pi / 2 - 2 * np.arctan2(down, up)
    angles = np.stack([plus + minus, middle, sign * (plus - minus)], axis=-1)
    return _nearest_turn(angles, np.zeros(3))


def _handedness(i: int, j: int) -> float:
    """Return 1 if axes i, j and the third are a cyclic permutation of x, y, z; else -1."""
    return 1.0 if (j - i) % 3 == 1 else -1.0


def unwrap_euler(angles: F64) -> F64:
    """Unwrap Euler angles (T, ..., n) over time.

    Each frame takes the equivalent angles nearest to the frame before. (a, b, c) is equivalent to
    (a + π, π - b, c + π); all angles are equivalent modulo full turns. The first frame does not
    change.
    """
    if angles.shape[-1] < 3:
        return np.unwrap(angles, axis=0)
    before, after = angles[:-1], angles[1:]
    flips = _squared_distance(_flip_euler(after), before) < _squared_distance(after, before)
    # flipping two triples keeps their distance, so a flip lasts until the next one
    flipped = np.zeros((*angles.shape[:-1], 1), bool)
    flipped[1:, ..., 0] = np.logical_xor.accumulate(flips, axis=0)
    return np.unwrap(np.where(flipped, _flip_euler(angles), angles), axis=0)


def align_euler(angles: F64, others: F64) -> F64:
    """Return the equivalents of Euler angles (..., n) that are nearest to `others`.

    Fewer than three angles are equivalent up to full turns only.
    """
    best = _nearest_turn(angles, others)
    if angles.shape[-1] < 3:
        return best
    flip = _nearest_turn(_flip_euler(angles), others)
    nearer = np.sum((flip - others) ** 2, -1) < np.sum((best - others) ** 2, -1)
    return np.where(nearer[..., np.newaxis], flip, best)


def _flip_euler(angles: F64) -> F64:
    a, b, c = np.moveaxis(angles, -1, 0)
    return np.stack([a + np.pi, np.pi - b, c + np.pi], axis=-1)


def _squared_distance(angles: F64, others: F64) -> F64:
    """Return the squared distance between angles (..., 3), modulo full turns."""
    return np.asarray(np.sum((_nearest_turn(angles, others) - others) ** 2, axis=-1))


def _nearest_turn(angles: F64, others: F64) -> F64:
    return angles + 2 * np.pi * np.round((others - angles) / (2 * np.pi))


def as_matrix(q: F64) -> F64:
    """Return rotation matrices (..., 3, 3)."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    m = np.empty((*q.shape[:-1], 3, 3))
    m[..., 0, 0] = 1 - 2 * (y * y + z * z)
    m[..., 0, 1] = 2 * (x * y - z * w)
    m[..., 0, 2] = 2 * (x * z + y * w)
    m[..., 1, 0] = 2 * (x * y + z * w)
    m[..., 1, 1] = 1 - 2 * (x * x + z * z)
    m[..., 1, 2] = 2 * (y * z - x * w)
    m[..., 2, 0] = 2 * (x * z - y * w)
    m[..., 2, 1] = 2 * (y * z + x * w)
    m[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return m


def as_6d(q: F64) -> F64:
    """Return the first two columns (..., 6) of the rotation matrices.

    The continuous form of Zhou et al. 2019 ("On the continuity of rotation representations").
    """
    columns = np.swapaxes(as_matrix(q)[..., :2], -1, -2)
    return np.ascontiguousarray(columns).reshape(*q.shape[:-1], 6)


def from_6d(columns: F64) -> F64:
    """Return rotations from two matrix columns (..., 6), which are orthonormalized."""
    a, b = columns[..., :3], columns[..., 3:]
    x = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b - np.sum(x * b, axis=-1, keepdims=True) * x
    y = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return from_matrix(np.stack([x, y, cross(x, y)], axis=-1))


def from_matrix(m: F64) -> F64:
    """Return rotations from matrices (..., 3, 3) by Shepperd's method, stable for every angle."""
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz], -1)
    up, down = m, np.swapaxes(m, -1, -2)
    less, more = up - down, up + down
    yz, zx, xy = less[..., 2, 1], less[..., 0, 2], less[..., 1, 0]
    sxy, sxz, syz = more[..., 0, 1], more[..., 0, 2], more[..., 1, 2]
    rows = np.stack(
        [
            np.stack([squares[..., 0], sxy, sxz, yz], -1),
            np.stack([sxy, squares[..., 1], syz, zx], -1),
            np.stack([sxz, syz, squares[..., 2], xy], -1),
            np.stack([yz, zx, xy, squares[..., 3]], -1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)[..., np.newaxis, np.newaxis]
    return normalize(np.take_along_axis(rows, best, axis=-2)[..., 0, :])


def from_rotvec(v: F64) -> F64:
    """Return rotations from rotation vectors (..., 3): axis times angle in radians."""
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * v, np.cos(half)], axis=-1)


def as_rotvec(q: F64) -> F64:
    """Return rotation vectors (..., 3) of angle at most π."""
    q = np.where(q[..., 3:] < 0, -q, q)
    norm = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(norm, q[..., 3:])
    return np.where(norm > 1e-12, angle / np.maximum(norm, 1e-12), 2.0) * q[..., :3]


def between(a: F64, b: F64) -> F64:
    """Return the shortest rotations (..., 4) from directions `a` to directions `b` (..., 3).

    Opposite directions turn about an axis at right angles to `a`; a zero vector gives the identity.
    """
    a, b = (v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300) for v in (a, b))
    xyz, w = cross(a, b), 1 + np.sum(a * b, axis=-1, keepdims=True)
    beside = cross(a, np.eye(3)[np.argmin(np.abs(a), axis=-1)])
    return normalize(np.concatenate([np.where(w < 1e-12, beside, xyz), w], axis=-1))


def angle_between(a: F64, b: F64) -> F64:
    """Return the angle in radians between rotations, 0 to π."""
    d = multiply(conjugate(a), b)
    return np.asarray(2 * np.arctan2(np.linalg.norm(d[..., :3], axis=-1), np.abs(d[..., 3])))


def angular_velocities(q: F64, times: F64) -> F64:
    """Return angular velocities (T, ..., 3) of rotations (T, ..., 4) in radians per second.

    `times` (T,) are in seconds. Central differences, one-sided at the ends.
    """
    if len(q) < 2:
        return np.zeros((*q.shape[:-1], 3))
    at = np.arange(len(q))
    before, after = np.maximum(at - 1, 0), np.minimum(at + 1, len(q) - 1)
    seconds = (times[after] - times[before]).reshape(-1, *[1] * (q.ndim - 1))
    return np.asarray(as_rotvec(multiply(q[after], conjugate(q[before]))) / seconds)


def slerp(a: F64, b: F64, t: F64 | float) -> F64:
    """Interpolate from `a` (t = 0) to `b` (t = 1) on the shorter arc."""
    if np.ndim(t) == 0 and t == 0.5:
        cosine = (a * b).sum(-1, keepdims=True)
        if (np.abs(cosine) > 1e-3).all():  # not for opposite rotations, whose sum is zero
            return normalize(a + np.copysign(1.0, cosine) * b)
    delta = as_rotvec(multiply(conjugate(a), b))
    return multiply(a, from_rotvec(np.asarray(t)[..., np.newaxis] * delta))
