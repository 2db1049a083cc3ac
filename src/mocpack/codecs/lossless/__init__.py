"""Every number of the source, bit for bit."""
