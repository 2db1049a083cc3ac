"""Measures codecs on real clips."""
