"""`bomgen wiring`: every cable, port to port."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bomgen.cli.command import WRONG_PLAN, ends_on_errors, on_terminal, say
from bomgen.cli.options import (
    FormatsCommand,
    choose_form,
    option,
    output_options,
    plan_argument,
    plan_options,
    proposed,
    refuse_overwriting,
)
from bomgen.cli.plans import open_given, show_problems, watched, work_out_one
from bomgen.core.diagnostics import PlanErrors, unknown
from bomgen.output.registry import WIRINGS, Unsuitable
from bomgen.output.writer import write_wiring
from bomgen.results.result import Report
from bomgen.workflow.inputs import text_of
from bomgen.workflow.pipeline import compute_fabric, list_cables, work_out


@click.command(cls=FormatsCommand, formats=WIRINGS)
@plan_argument
@output_options(WIRINGS.names, "See below.", type=str, metavar="FORMAT", shell_complete=proposed("wirings"))
@option("--fabric fabrics NAME", "List only the cables of this fabric; repeatable.", "fabrics", multiple=True)
@option(
    "--from old OLD",
    "Plan that is installed today, or REV:PATH; unchanged devices keep their names and ports.",
    "sides",
)
@option("--cluster cluster NAME", "Cluster to list, if the plan has several.", "clusters")
@plan_options
def wiring(
    plan: str,
    form: str | None,
    output: str | None,
    fabrics: tuple[str, ...],
    old: str | None,
    cluster: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """List every cable once, port to port, in a format that other programs read.

    With --from the tables are the list of work from OLD to PLAN: every cable is removed, moved, added or kept.

    A format of one InfiniBand fabric takes the first compute fabric unless --fabric names another; a format of several
    files lays the others beside FILE.
    """
    if form is not None and form not in WIRINGS.names:
        raise click.UsageError(unknown("format", form, WIRINGS.names))
    form = choose_form(form, output, WIRINGS.names, suffixes=WIRINGS.suffixes())
    module = WIRINGS.module(form)
    if output is None and (module.SEVERAL_FILES or (module.BINARY and sys.stdout.isatty())):
        raise click.UsageError(f"{form} goes to a file; name it with -o")
    refuse_overwriting(output, plan, "the plan itself")
    file, report = work_out_one(plan, root, settings)
    report = _chosen(report, cluster)
    today = _build_today(old, root, cluster) if old else None
    fabric_names = [built.plan.name for built in report.design.fabrics]
    if strange := [name for name in fabrics if name not in fabric_names]:
        raise click.UsageError(unknown("fabric", strange[0], fabric_names))
    if module.ONE_FABRIC and not fabrics:
        fabrics = compute_fabric(report)
    try:
        with ends_on_errors(partial(text_of, file)):
            with watched(file.name):
                cables = list_cables(report, fabrics, today)
            with _bar(cables.each_cable.pieces, output is not None) as step:
                written = write_wiring(cables, form, Path(output) if output else None, step)
    except Unsuitable as error:
        raise click.UsageError(f"{form}: {error}") from None
    for path in written:
        say(f"{path}")


def _build_today(name: str, root: str | None, cluster: str | None) -> Report:
    """Return the result of the existing plan. Ends the command if it is unreadable or invalid."""
    with TemporaryDirectory(prefix="bomgen-") as folder:
        existing = open_given(name, (), root, Path(folder))
        try:
            return _chosen(work_out(existing.file(), ()), cluster)
        except PlanErrors as errors:
            show_problems(errors.problems, existing)
            sys.exit(WRONG_PLAN)


def _chosen(report: Report, cluster: str | None) -> Report:
    """Return the result for the selected cluster. Raises UsageError if it is unknown, or ambiguous."""
    clusters = {cluster.plan.cluster_name: cluster for cluster in report.clusters}
    if cluster in clusters:
        return clusters[cluster]
    if clusters:
        wrong = f"no cluster '{cluster}'" if cluster else "the plan has several clusters, each with its own cables"
        raise click.UsageError(f"{wrong}; name one with --cluster: {', '.join(clusters)}")
    if cluster:
        raise click.UsageError("the plan has a single cluster, which has no name; leave out --cluster")
    return report


@contextmanager
def _bar(length: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Return a progress callback, and show a bar on standard error if that is a terminal."""
    if not wanted or not on_terminal():
        yield lambda _: None
        return
    with click.progressbar(length=length, label="cables", file=sys.stderr) as bar:
        yield bar.update
