"""Curves, plots and an HTML page from the rows of the bench."""
