"""Frames as decoded by libmocpack, with the program compiled from `read.c`."""

import subprocess

import numpy as np

CALLS = {np.float64: "dump", np.float32: "dump32"}


def read_numbers(program, what, paths, dtype=np.float64):
    """Return the numbers (N,) of each file; `what` is local, world, keys, scales or a time."""
    call = [program, CALLS[dtype], what, *paths]
    data = subprocess.run(call, capture_output=True, check=True, timeout=300).stdout
    found, at = [], 0
    for _ in paths:
        count = int.from_bytes(data[at : at + 8], "little")
        found.append(np.frombuffer(data, dtype, count, at + 8))
        at += 8 + count * found[-1].itemsize
    assert at == len(data)
    return found


def read_clip(program, path, clip, dtype=np.float64):
    """Return the clip that libmocpack decodes; `clip` gives its header."""
    (numbers,) = read_numbers(program, "local", [path], dtype)
    poses = numbers.astype(np.float64).reshape(clip.frame_count, len(clip.skeleton), 7)
    moving = list(clip.translated_joints)
    return type(clip)(clip.header, poses[..., :4].copy(), poses[:, moving, 4:].copy())
