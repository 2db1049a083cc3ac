"""Forward kinematics and hinge angles for the attack, independent of the package.

They use rotation matrices instead of quaternions, and loops instead of the native core, so that
they cannot share an error with mocpack's kinematics.
"""

import numpy as np

SHELL_RADIUS = 0.03  # meters: the bound also covers points so far from each joint (metrics.md)


def matrices_from(quaternions):
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4), x y z w."""
    x, y, z, w = np.moveaxis(np.asarray(quaternions, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrices_about(axis, angles):
    """Return rotation matrices (..., 3, 3) by angles (...) about one unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angles = np.asarray(angles)[..., np.newaxis, np.newaxis]
    return np.eye(3) + np.sin(angles) * cross + (1 - np.cos(angles)) * (cross @ cross)


def place_joints(clip):
    """Return world positions (T, J, 3) and world matrices (T, J, 3, 3), with scales, of joints."""
    skeleton = clip.skeleton
    local = matrices_from(clip.rotations) * skeleton.scales[:, np.newaxis, :]
    for at, joint in enumerate(clip.header.scaled_joints):
        own = clip.take_data.scales[:, at, np.newaxis, :]
        local[:, joint] = matrices_from(clip.rotations[:, joint]) * own
    world = np.empty_like(local)
    positions = np.empty((*local.shape[:2], 3))
    column = {joint: at for at, joint in enumerate(clip.translated_joints)}
    for j, parent in enumerate(skeleton.parents):
        place = clip.translations[:, column[j]] if j in column else skeleton.offsets[j]
        place = np.broadcast_to(place, (len(local), 3))
        if parent < 0:
            positions[:, j], world[:, j] = place, local[:, j]
        else:
            turned = np.einsum("tab,tb->ta", world[:, parent], place)
            positions[:, j] = positions[:, parent] + turned
            world[:, j] = world[:, parent] @ local[:, j]
    return positions, world


def measure_errors(original, decoded):
    """Return the largest displacement of any point, and the mean of joint centers, in meters."""
    largest, mean = measure_joints(original, decoded)
    return float(largest.max()), mean


def measure_joints(original, decoded):
    """Return the largest displacement of each joint (J,), and the mean one of joint centers.

    The points of a joint are its center, its end sites and the shell points around it.
    """
    (places, turns), (found, turned) = place_joints(original), place_joints(decoded)
    moved, rotated = found - places, turned - turns
    centers = np.linalg.norm(moved, axis=-1)
    radii = SHELL_RADIUS / world_sizes(original.skeleton)[:, np.newaxis, np.newaxis]
    shell = moved[..., np.newaxis] + radii * rotated  # column k: the point on axis k
    largest = np.maximum(centers, np.linalg.norm(shell, axis=-2).max(axis=-1)).max(axis=0)
    for site, j in zip(original.skeleton.end_sites, original.skeleton.end_site_joints, strict=True):
        apart = np.linalg.norm(moved[:, j] + rotated[:, j] @ site, axis=-1).max()
        largest[j] = max(largest[j], apart)
    return largest, float(centers.mean())


def world_sizes(skeleton):
    """Return the power of two (J,) nearest to the constant scale of each joint in the world."""
    logs = []
    for parent, scale in zip(skeleton.parents, skeleton.scales, strict=True):
        own = np.log2(np.abs(np.where(scale == 0, 1.0, scale))).mean()
        logs.append(own + (logs[parent] if parent >= 0 else 0.0))
    return 2.0 ** np.clip(np.rint(logs), -40, 40)


def measure_angle(original, decoded):
    """Return the largest error of a hinge's angle or of another joint's rotation, in radians."""
    hinges = original.skeleton.hinges
    turning = [] if hinges is None else [h for h in range(len(hinges)) if not hinges.slides[h]]
    hinged = set() if hinges is None else {hinges.joints[h] for h in turning}
    free = [j for j in range(len(original.skeleton)) if j not in hinged]
    largest = 0.0
    if free:
        a = matrices_from(original.rotations[:, free])
        b = matrices_from(decoded.rotations[:, free])
        # the Frobenius distance is 2 √2 sin(angle / 2), exact for small angles too
        apart = np.linalg.norm(a - b, axis=(-2, -1)) / np.sqrt(8)
        largest = float(2 * np.arcsin(np.minimum(apart, 1.0)).max())
    if turning:
        apart = (hinge_values(decoded) - hinge_values(original))[:, turning]
        apart -= 2 * np.pi * np.round(apart / (2 * np.pi))
        largest = max(largest, float(np.abs(apart).max()))
    return largest


def hinge_values(clip):
    """Return angles in radians, of sliders ways in meters, (T, H), in the order of the rows."""
    skeleton = clip.skeleton
    hinges = skeleton.hinges
    local, rest = matrices_from(clip.rotations), matrices_from(skeleton.rest)
    column = {joint: at for at, joint in enumerate(clip.translated_joints)}
    found = np.zeros((clip.frame_count, len(hinges)))
    for joint in set(hinges.joints):
        rows = [h for h in range(len(hinges)) if hinges.joints[h] == joint]
        sliding = [h for h in rows if hinges.slides[h]]
        turning = [h for h in rows if not hinges.slides[h]]
        turned = rest[joint].T @ local[:, joint]
        if len(turning) == 1:
            found[:, turning[0]] = _twist(turned, hinges.axes[turning[0]])
        elif turning:
            first, second = hinges.axes[turning]
            there = turned @ second
            flat = second - (second @ first) * first
            outer = np.arctan2(there @ np.cross(first, flat), there @ flat)
            found[:, turning[0]] = outer
            found[:, turning[1]] = _twist(matrices_about(first, -outer) @ turned, second)
        if sliding:
            way = (clip.translations[:, column[joint]] - skeleton.offsets[joint]) @ rest[joint]
            found[:, sliding] = np.linalg.lstsq(hinges.axes[sliding].T, way.T, rcond=None)[0].T
    return found


def measure_excess(original, decoded):
    """Return how far decoded hinges pass limits that the source kept, in radians or meters."""
    hinges = original.skeleton.hinges
    if hinges is None:
        return 0.0
    low, high = hinges.limits.T
    before, after = (_on_branch(hinge_values(clip), hinges) for clip in (original, decoded))
    kept = ((before >= low - 1e-9) & (before <= high + 1e-9)).all(axis=0)
    excess = np.maximum(low - after, after - high)[:, kept]
    return float(excess.max(initial=0.0))


def _on_branch(angles, hinges):
    """Return each turning hinge's angle within half a turn of the middle of its limits."""
    limits = np.where(np.isfinite(hinges.limits).all(axis=1, keepdims=True), hinges.limits, 0.0)
    middle = limits.sum(axis=1) / 2
    middle = np.where(hinges.slides, angles, middle)
    return angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi))


def _twist(turned, axis):
    """Return the angle (T,) about an axis that is nearest to rotation matrices (T, 3, 3)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    sine = np.einsum("tab,ab->t", turned, cross) / 2
    cosine = (np.trace(turned, axis1=1, axis2=2) - axis @ (turned @ axis).T) / 2
    return np.arctan2(sine, cosine)
