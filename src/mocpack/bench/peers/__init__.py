"""Other codecs, measured in the same way as ours."""
