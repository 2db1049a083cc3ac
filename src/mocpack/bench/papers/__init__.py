"""The papers' tables and figures, made again: one module for each, named after its number.

Each has ``reproduce(data: Path, out: Path) -> None``, which prints the paper's figures beside ours
and writes its tables and pictures to `out`.
"""
