"""Reversible maps from arrays to arrays."""
