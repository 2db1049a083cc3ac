"""Import optional packages where they are used; the error for a missing one names its pip extra.

The library itself needs only numpy. pyproject.toml defines the extras.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from mocpack.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import and return `module`; raise an error that names its extra if it is not installed.

    Parameters
    ----------
    module : str
        Such as ``"scipy.optimize"``.
    extra : str
        The extra of pyproject.toml that installs it; empty if it is a plain dependency.
    purpose : str
        What needs the package, as the start of the error message.

    Raises
    ------
    MissingExtraError
        If its package is not installed. If an installed package fails to import, its own error is
        raised.

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


@cache
def has_part(module: str) -> bool:
    """Return whether the part of mocpack that a module belongs to is installed."""
    return find_spec(".".join(module.split(".")[:2])) is not None


def load_part(module: str, *, purpose: str) -> ModuleType:
    """Import and return a module of mocpack that an installation may lack, such as a paper's.

    Raises
    ------
    MissingExtraError
        If its part of mocpack is not installed; the message starts with `purpose`.

    >>> load_part("mocpack.papers.li", purpose="codec dwt97").__name__
    'mocpack.papers.li'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise MissingExtraError(
            f"{purpose} needs {error.name}, which this installation of mocpack lacks"
        ) from error


def missing_package_error(package: str, *, extra: str, purpose: str) -> MissingExtraError:
    """Return the error for a package that is not installed.

    >>> missing_package_error("ufbx", extra="fbx", purpose="FBX").args[0]
    "FBX needs ufbx, which is not installed: pip install 'mocpack[fbx]' ('.[fbx]' in a clone)"
    """
    wanted = f"'mocpack[{extra}]' ('.[{extra}]' in a clone)" if extra else "mocpack"
    return MissingExtraError(
        f"{purpose} needs {package}, which is not installed: pip install {wanted}"
    )
