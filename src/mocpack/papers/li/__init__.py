"""Li, Okuda and Takahashi 2008, “Compression of Human Motion Animation Using the Reduction of
Interjoint Correlation”."""
