"""Runs codecs on clips, each in a process of its own, and keeps the rows."""
