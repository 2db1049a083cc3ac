"""The encoding options that all encoding commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mocpack import _api
from mocpack.cli import options
from mocpack.codecs.registry import AUTO_CODEC, parse_codec
from mocpack.errors import UsageError
from mocpack.rate.presets import check_preset

Target = dict[str, Any]


@dataclass(frozen=True)
class Encoding:
    """Codec, target and effort from the command line, one option per field."""

    codec: options.CodecSpec = AUTO_CODEC
    preset: options.Preset = None
    max_error: options.MaxError = None
    mean_error: options.MeanError = None
    max_angle: options.MaxAngle = None
    joint_error: options.JointError = None
    lossless: options.Lossless = False
    effort: options.OwnEffort = None

    def parse(self, *, ratio: float | None = None, size: str | None = None) -> tuple[str, Target]:
        """Return the codec and the target, and check both before any file is read.

        At most one target may be given, with or without `max_angle` and joint errors. Without a
        target, the codec uses its own parameters.
        """
        given = {
            "preset": self.preset,
            "max_error": self.max_error,
            "mean_error": self.mean_error,
            "ratio": ratio,
            "size": size,
        }
        target: Target = {name: value for name, value in given.items() if value is not None}
        if self.preset is not None:
            check_preset(self.preset)
        if len(target) + self.lossless > 1:
            names = [f"--{n.replace('_', '-')}" for n in target] + ["--lossless"] * self.lossless
            raise UsageError(f"give at most one target, got {' and '.join(names)}")
        if self.max_angle is not None:
            target["max_angle"] = self.max_angle
        if self.joint_error:
            target["joint_errors"] = [_split_joint_error(text) for text in self.joint_error]
        _api.parse_target(**{name: value for name, value in target.items() if name != "preset"})
        if self.effort is not None:
            _api.check_effort(self.effort)
            target["effort"] = self.effort
        if self.lossless:
            return "lossless", target
        parse_codec(self.codec)
        return self.codec, target


def _split_joint_error(text: str) -> tuple[str, str]:
    """Return pattern and bound; the pattern may contain = itself."""
    pattern, found, bound = text.rpartition("=")
    if not found or not pattern:
        raise UsageError(f"--joint-error must be like '*Finger*=5mm', got {text!r}")
    return pattern, bound
