"""``mocpack cluster join``: join the packed shards of a plan into the archive."""

from __future__ import annotations

from mocpack.cli import options
from mocpack.cli.archive import ArchiveOptions, report_archive
from mocpack.cli.pack_parts import make_archive, prepare_output, read_plan
from mocpack.corpora.sole_writer import sole_writer


def run(
    plan: options.PlanFile,
    output: options.Archive,
    *,
    archive: ArchiveOptions,
    report: options.Report = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Join the packed shards of a plan into the archive."""
    whole = read_plan(plan, output)
    with sole_writer(output):
        rejected, kept = make_archive(
            whole, output, archive.parse(), may_replace=prepare_output(output, force=force)
        )
    return report_archive(
        output, rejected, count=len(whole.files), kept=kept, report=report, as_json=as_json
    )
