"""The exceptions of this package.

* MocpackError
  x FormatError               the file is invalid
    + CorruptionError           it violates the format
    + TruncatedError            it ends too early
    + UnsupportedVersionError   it needs a newer mocpack
  x MemoryLimitError          a call needs more memory than the limit
  x InvalidClipError          invalid skeleton or motion data
  x UnknownCodecError         no such codec is installed
  x UnsupportedClipError      the codec or format cannot represent the clip
  x BoundError                the target error, ratio or size cannot be met
  x MissingExtraError         an optional package is not installed
  x UsageError                an invalid argument (a bad parameter, an unknown extension)
    + SceneError                no such clip in a scene, or several and none selected

Each is also a subclass of a builtin (`ValueError`, `EOFError`, `LookupError`,
`MemoryError`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class MocpackError(Exception):
    """Base class of all errors of this package."""


class FormatError(MocpackError, ValueError):
    """The file is invalid."""


class CorruptionError(FormatError):
    """The data violates the format specification."""


class TruncatedError(FormatError, EOFError):
    """The data ends too early."""


class UnsupportedVersionError(FormatError):
    """The data was written by a newer release."""


class MemoryLimitError(MocpackError, MemoryError):
    """A call needs more memory than the limit."""


class InvalidClipError(MocpackError, ValueError):
    """Invalid skeleton or motion data."""


class UnknownCodecError(MocpackError, LookupError):
    """No codec with that id is installed."""


class UnsupportedClipError(MocpackError, ValueError):
    """The codec or format cannot represent the clip."""


class BoundError(MocpackError, ValueError):
    """The target error, ratio or size cannot be met.

    Attributes
    ----------
    work_share : float
        Share of the budget of work of an encode that was spent.
    """

    def __init__(self, *args: object, work_share: float = 0.0) -> None:
        super().__init__(*args)
        self.work_share = work_share


class MissingExtraError(MocpackError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class UsageError(MocpackError, ValueError):
    """An invalid argument."""


class SceneError(UsageError, LookupError):
    """A scene has no clip of that name, or several clips and none was selected."""


class ShortClipWarning(UserWarning):
    """Clips are shorter than a training window, so no window shows them."""


class WorkerPositionWarning(UserWarning):
    """The position of a stream was saved in a process that does not know that of its workers."""


class LimitWarning(UserWarning):
    """Joints of a robot exceed its limits, as angles in a wrong order or unit do."""


class DeviceWarning(UserWarning):
    """The work runs on the CPU, because the device cannot be used; the message says why."""


class HingeWarning(UserWarning):
    """Joints are off the hinge axes, so angles do not describe them exactly."""


class FormatWarning(UserWarning):
    """A file cannot state a value, so a reader assumes it, or a writer drops it."""


class LosslessWarning(UserWarning):
    """The automatic choice stored a clip without loss, because no other codec keeps its bound."""


@contextmanager
def name_errors(name: object, *kinds: type[MocpackError]) -> Iterator[None]:
    """Start the messages of errors in this block with `name`.

    `kinds` are the errors that get it; by default those of reading a file.
    """
    try:
        yield
    except MocpackError as error:
        if isinstance(error, kinds or (FormatError, MemoryLimitError, SceneError)):
            raise type(error)(f"{name}: {error}") from error
        raise


@contextmanager
def convert_errors(
    kinds: type[Exception] | tuple[type[Exception], ...],
    what: str = "",
    *,
    to: type[MocpackError] = CorruptionError,
) -> Iterator[None]:
    """Turn errors of these kinds in this block into `to`; their messages start with `what`."""
    try:
        yield
    except kinds as error:
        raise to(f"{what}: {error}" if what else str(error)) from error


def describe_bug(error: Exception) -> str:
    """Return the message for an internal error, with its type and location for a bug report."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" ({Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})"
    return f"bug in mocpack, please report it: {type(error).__name__}: {error}{where}"
