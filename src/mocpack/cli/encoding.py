"""The encoding options that all encoding commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from mocpack.cli import options
from mocpack.codecs.registry import AUTO_CODEC
from mocpack.errors import UsageError
from mocpack.rate import EncodingOptions
from mocpack.rate.encoding import EncoderOptions


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

    def options(self, *, ratio: float | None = None, size: str | None = None) -> EncodingOptions:
        """Return the options that are given, for `rate.parse_encoding`; all are JSON values."""
        return {"codec": self.spec, **self.target(ratio=ratio, size=size)}

    @property
    def spec(self) -> str:
        """The codec."""
        return "lossless" if self.lossless else self.codec

    def target(self, *, ratio: float | None = None, size: str | None = None) -> EncoderOptions:
        """Return the options that are given, without the codec.

        At most one target may be given, with or without `max_angle` and joint errors. Without a
        target, the codec uses its own parameters.
        """
        targets = {
            "--preset": self.preset,
            "--max-error": self.max_error,
            "--mean-error": self.mean_error,
            "--ratio": ratio,
            "--size": size,
            "--lossless": self.lossless or None,
        }
        given = [name for name, value in targets.items() if value is not None]
        if len(given) > 1:
            raise UsageError(f"give at most one target, got {' and '.join(given)}")
        options = {
            "preset": self.preset,
            "max_error": self.max_error,
            "mean_error": self.mean_error,
            "ratio": ratio,
            "size": size,
            "max_angle": self.max_angle,
            "joint_errors": [_split_joint_error(text) for text in self.joint_error or ()] or None,
            "effort": self.effort,
        }
        return cast(EncoderOptions, {k: v for k, v in options.items() if v is not None})


def _split_joint_error(text: str) -> tuple[str, str]:
    """Return pattern and bound; the pattern may contain = itself."""
    pattern, found, bound = text.rpartition("=")
    if not found or not pattern:
        raise UsageError(f"--joint-error must be like '*Finger*=5mm', got {text!r}")
    return pattern, bound
