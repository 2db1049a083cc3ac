"""`lossless`: the numbers of the source, bit for bit."""
