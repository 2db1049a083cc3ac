"""Integers to bytes and back, exactly."""
