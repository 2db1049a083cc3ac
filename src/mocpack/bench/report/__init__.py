"""Rows to curves, pictures and a page that needs nothing else."""
