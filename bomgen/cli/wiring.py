"""`bomgen wiring`: every cable, port to port."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bomgen.cli.messages import (
    NOT_WRITTEN,
    WRONG_PLAN,
    WRONG_USAGE,
    choose_form,
    complain,
    on_terminal,
    refuse_overwriting,
    say,
)
from bomgen.cli.options import (
    FormatsCommand,
    output_options,
    plan_argument,
    proposed,
    root_option,
    set_option,
    talk_options,
)
from bomgen.cli.plans import build_report, open_given, open_one_plan, show_problems, watched
from bomgen.cli.problems import show
from bomgen.core.diagnostics import PlanErrors, suggestion
from bomgen.output.registry import WIRINGS, Unsuitable
from bomgen.output.writer import OutputError, write_wiring
from bomgen.results.result import Report
from bomgen.workflow.pipeline import compute_fabric, list_cables, work_out


@click.command(cls=FormatsCommand, formats=WIRINGS)
@plan_argument
@output_options(WIRINGS.names, "See below.", type=str, metavar="FORMAT", shell_complete=proposed("wirings"))
@click.option(
    "--fabric",
    "fabrics",
    multiple=True,
    metavar="NAME",
    shell_complete=proposed("fabrics"),
    help="List only the cables of this fabric; repeatable.",
)
@click.option(
    "--from",
    "old",
    metavar="OLD",
    shell_complete=proposed("sides"),
    help="Plan that is installed today, or REV:PATH; unchanged devices keep their names and ports.",
)
@click.option(
    "--cluster",
    "cluster",
    metavar="NAME",
    shell_complete=proposed("clusters"),
    help="Cluster to list, if the plan has several.",
)
@set_option
@root_option
@talk_options
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
        hint = suggestion(form, WIRINGS.names, f"there are {', '.join(WIRINGS.names)}")
        raise click.UsageError(f"unknown format: {form}; {hint}")
    form = choose_form(form, output, WIRINGS.names, suffixes=WIRINGS.suffixes())
    module = WIRINGS.module(form)
    if output is None and (module.SEVERAL_FILES or (module.BINARY and sys.stdout.isatty())):
        raise click.UsageError(f"{form} goes to a file; name it with -o")
    file = open_one_plan(plan, root)
    refuse_overwriting(output, plan, "the plan itself")
    report = build_report(file, settings)
    if report is None:
        sys.exit(WRONG_PLAN)
    report = _chosen(report, cluster)
    today = _build_today(old, root, cluster) if old else None
    known = [built.plan.name for built in report.design.fabrics]
    if unknown := [name for name in fabrics if name not in known]:
        raise click.UsageError(f"no fabric '{unknown[0]}'; there are {', '.join(known) or 'none'}")
    if module.ONE_FABRIC and not fabrics:
        fabrics = compute_fabric(report)
    try:
        with watched(file.name):
            cables = list_cables(report, fabrics, today)
        with _bar(cables.each_cable.pieces, output is not None) as step:
            written = write_wiring(cables, form, Path(output) if output else None, step)
    except PlanErrors as errors:
        show(errors.problems, file)
        sys.exit(WRONG_PLAN)
    except Unsuitable as error:
        raise click.UsageError(f"{form}: {error}") from None
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    for path in written:
        say(f"{path}")


def _build_today(name: str, root: str | None, cluster: str | None) -> Report:
    """Return the result of the existing plan. Ends the command if it is unreadable or invalid."""
    with TemporaryDirectory(prefix="bomgen-") as folder:
        given = open_given(name, (), root, Path(folder))
        if given is None:
            sys.exit(WRONG_USAGE)
        try:
            return _chosen(work_out(given.file(), ()), cluster)
        except PlanErrors as errors:
            show_problems(errors.problems, given)
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
