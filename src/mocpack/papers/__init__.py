"""One room for each of five papers on the compression of motion capture.

A room holds the paper's codecs (``codec/``), the commands that reproduce its tables and figures
(``tables/``) and a README that maps the paper's sections to files. Rooms do not import each other.
"""
