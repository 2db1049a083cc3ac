"""``mocpack cluster plan``: write the plan that all machines of a cluster work from."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.cli import files, options
from mocpack.cli.encoding import Encoding
from mocpack.cli.pack_inputs import find_inputs
from mocpack.cli.pack_parts import check_output
from mocpack.cli.reading import Reading
from mocpack.common.units import format_size
from mocpack.corpora import storage
from mocpack.corpora.packing import ALL_FRAMES, PackOptions
from mocpack.errors import UsageError


def run(
    inputs: options.PackInputs,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Plan file to write (.jsonl), a path or an s3:// URL."),
    ],
    *,
    encoding: Encoding,
    reading: Reading,
    frames: options.PackFrames = ALL_FRAMES,
    force: options.Force = False,
) -> int:
    """Write a plan: which files to pack, their hashes, and how to pack them."""
    packing = PackOptions(encoding.spec, encoding.target(), reading.to_arguments(), frames)
    chosen = find_inputs(inputs, packing)
    files.check_not_input(output, chosen.files.values())
    if not output.endswith(".jsonl"):
        raise UsageError(f"--output must end in .jsonl, got {output}")
    check_output(output, force=force)
    plan = chosen.plan(absolute_paths=True)
    storage.write(plan.to_bytes(), output)
    size = format_size(sum(one.size for one in plan.files))
    files.stdout().print(
        f"{output}: {len(plan.files)} files, {size}, {len(plan.parts)} parts", soft_wrap=True
    )
    return 0
