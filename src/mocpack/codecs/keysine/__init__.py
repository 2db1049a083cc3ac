"""`keysine`: key poses, sine series between them, and an error that is promised."""

from mocpack.codecs.keysine.codec import Keysine

__all__ = ["Keysine"]
