"""``mocpack cluster``: pack one archive on many machines, from a plan file."""
