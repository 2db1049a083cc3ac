"""Files by URL: the file system that fsspec finds, and its errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mocpack.common.optional_packages import require
from mocpack.errors import MissingExtraError, MocpackError, UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

SCHEME_EXTRAS = {"s3": "s3", "http": "http", "https": "http"}


def file_system(url: str, options: Mapping[str, object]) -> tuple[AbstractFileSystem, str]:
    """Return the fsspec file system of a URL, and the path of the file in it."""
    scheme = url.partition("://")[0]
    purpose = f"opening {scheme}:// URLs"
    core = require("fsspec.core", extra=SCHEME_EXTRAS.get(scheme, "corpus"), purpose=purpose)
    try:
        system, path = core.url_to_fs(url, **options)
    except ImportError as error:
        extra = SCHEME_EXTRAS.get(scheme)
        hint = f": pip install 'mocpack[{extra}]'" if extra else ""
        sentence = f"{purpose} needs a package that is not installed{hint} ({error})"
        raise MissingExtraError(sentence) from error
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from error
    return system, path


@contextmanager
def name_store_errors(url: str) -> Iterator[None]:
    """Turn the errors of a store into `OSError`s that name the URL."""
    try:
        yield
    except (MocpackError, AssertionError, AttributeError, NameError, TypeError):
        raise  # the last four are defects of a program
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file", url) from error
    except PermissionError as error:
        raise PermissionError(errno.EACCES, "access is denied", url) from error
    except Exception as error:  # each store raises its own exceptions
        message = " ".join(str(error).split()) or type(error).__name__
        raise OSError(errno.EIO, message, url) from error
