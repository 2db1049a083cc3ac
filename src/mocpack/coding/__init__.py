"""Integers to bytes and back: what two or more families of codecs use."""
