"""Helpers without knowledge of motion: arguments, units, files, texts and arrays."""
