"""``mocpack cluster``: commands that pack one archive on many machines, from a plan file."""
