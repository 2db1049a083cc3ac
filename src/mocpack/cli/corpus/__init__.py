"""``mocpack corpus``: write, read and verify archives of many clips."""
