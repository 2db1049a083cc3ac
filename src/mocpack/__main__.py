"""``python -m mocpack`` does the same as ``mocpack``."""

from mocpack.cli import main

main()
