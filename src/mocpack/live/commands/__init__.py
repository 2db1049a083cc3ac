"""``mocpack live``: commands that relay, send and record motion over a network."""
