"""Bridges to other programs; docs/live-bridges.md shows how to write one."""
