"""Measure codecs on clips in worker processes, and store the rows."""
