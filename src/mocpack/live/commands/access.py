"""Credentials of ``live send`` and ``live receive``: a token and a trusted certificate."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mocpack.errors import UsageError, convert_errors


@dataclass(frozen=True)
class Access:
    """How to reach a relay, one option per field."""

    token_file: Annotated[
        str | None, typer.Option(help="Read the access token from this file.")
    ] = None
    ca: Annotated[
        str | None,
        typer.Option(
            help="Trust this certificate (PEM), for a relay with a certificate of your own."
        ),
    ] = None
    plain_udp: Annotated[
        bool, typer.Option("--plain-udp", help="Allow unencrypted UDP to other machines.")
    ] = False

    def read_token(self) -> str | None:
        """Return the token in the file, which is the last word."""
        if self.token_file is None:
            return None
        words = Path(self.token_file).read_text(encoding="utf-8").split()
        if not words:
            raise UsageError(f"{self.token_file}: expected a token, got an empty file")
        return words[-1]

    def load_certificate(self) -> ssl.SSLContext | None:
        """Return a TLS context that trusts the certificate; None trusts the system's."""
        if self.ca is None:
            return None
        with convert_errors(
            (OSError, ssl.SSLError), f"--ca {self.ca}: cannot load a certificate", to=UsageError
        ):
            return ssl.create_default_context(cafile=self.ca)
