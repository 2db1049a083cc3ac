"""Decoders to read rather than to run: slow, in numpy, held equal to the native ones by tests."""
