"""Readable decoders in numpy; tests compare the native decoders with them."""
