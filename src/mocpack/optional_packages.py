"""Packages that only some of mocpack needs: loaded where they are used, missed in one sentence.

The library itself needs numpy alone. Everything else stands behind an extra of pip's, which
pyproject.toml defines and the sentence names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mocpack.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import and return `module`, or say which extra has it.

    Parameters
    ----------
    module : str
        Such as ``"scipy.optimize"``.
    extra : str
        The extra of pyproject.toml that installs it; empty for what the plain install brings.
    purpose : str
        What cannot be done without it, as the beginning of a sentence.

    Raises
    ------
    MissingExtraError
        If its package is not installed. A package that is there and fails to load is another
        matter, and its own error goes on.

    >>> require("json.decoder", extra="plot", purpose="reading this").__name__
    'json.decoder'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise missing_package_error(package, extra=extra, purpose=purpose) from error


def missing_package_error(package: str, *, extra: str, purpose: str) -> MissingExtraError:
    """Return the sentence for a package that is not there.

    >>> missing_package_error("ufbx", extra="fbx", purpose="reading FBX").args[0]
    "reading FBX needs ufbx, which is not installed: pip install 'mocpack[fbx]'"
    """
    wanted = f"'mocpack[{extra}]'" if extra else "mocpack"
    return MissingExtraError(
        f"{purpose} needs {package}, which is not installed: pip install {wanted}"
    )
