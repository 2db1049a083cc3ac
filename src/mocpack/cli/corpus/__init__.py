"""``mocpack corpus``: commands that make, read and check archives of many clips."""
