"""The exceptions this package raises on purpose.

* MocpackError
  x FormatError               the bytes are at fault
    + CorruptionError           they contradict the spec
    + TruncatedError            they end too early
    + UnsupportedVersionError   they come from a newer release
  x MemoryLimitError          what is asked of a file takes more memory than the caller allows
  x InvalidClipError          the numbers do not make a skeleton or a motion
  x UnknownCodecError         no codec of that id is installed
  x UnsupportedClipError      this codec cannot hold this clip
  x BoundError                the asked error, ratio or size cannot be met
  x MissingExtraError         a package behind an extra of pip's is not installed
  x UsageError                a request that makes no sense (a bad parameter, an unknown extension)
    + SceneError                a scene has no such clip, or several and none was named

Each is also the builtin a caller would guess (`ValueError`, `EOFError`, `LookupError`,
`MemoryError`).
"""


class MocpackError(Exception):
    """Base class of every error this package raises on purpose."""


class FormatError(MocpackError, ValueError):
    """The bytes being read are at fault."""


class CorruptionError(FormatError):
    """The data contradicts the format's specification."""


class TruncatedError(FormatError, EOFError):
    """The data ends before the reader is done."""


class UnsupportedVersionError(FormatError):
    """The data was written by a newer release."""


class MemoryLimitError(MocpackError, MemoryError):
    """What is asked of a file takes more memory than the caller allows."""


class InvalidClipError(MocpackError, ValueError):
    """The numbers do not make a skeleton or a motion."""


class UnknownCodecError(MocpackError, LookupError):
    """No codec of that id is installed."""


class UnsupportedClipError(MocpackError, ValueError):
    """This codec cannot represent this clip."""


class BoundError(MocpackError, ValueError):
    """The asked error, ratio or size cannot be met."""


class MissingExtraError(MocpackError, ImportError):
    """A package that this needs is not installed; an extra of pip's brings it."""


class UsageError(MocpackError, ValueError):
    """A request that makes no sense."""


class SceneError(UsageError, LookupError):
    """A scene does not have the clip asked for, or has several and none was named."""


class HingeWarning(UserWarning):
    """Joints stand off the hinges that their angles are asked of."""


def describe_bug(error: Exception) -> str:
    """Return the clause for an error that only we can cause, with what a report of it needs."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" ({_file(at.tb_frame.f_code.co_filename)}:{at.tb_lineno})"
    return f"a defect of mocpack, please report it: {type(error).__name__}: {error}{where}"


def _file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
