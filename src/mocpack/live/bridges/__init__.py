"""Other programs' streams, in and out; docs/live-bridges.md shows how to write another."""
