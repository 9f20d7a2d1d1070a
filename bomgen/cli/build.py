"""`bomgen build` and `bomgen wiring`: the documents of plans with a summary of their result, and every cable.

Plans are built again after changes, or several at a time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from bomgen.cli.command import PASSED, QUIET, VERBOSE, Outcome, complain, ends_on_errors, is_set, on_terminal, say
from bomgen.cli.options import (
    STANDARD_OUTPUT,
    FormatsCommand,
    NamedPlan,
    Output,
    build_today,
    check_names,
    locked_option,
    named_path,
    open_plans,
    option,
    output_options,
    plan_argument,
    plan_options,
    plans_argument,
    proposed,
    read_given,
    show,
    watched,
    working_on,
)
from bomgen.core.jobs import PIPE, limit_processor_time, start_python
from bomgen.core.language import language
from bomgen.core.messages import unknown
from bomgen.documents.chapters.contents import POWER, sentences
from bomgen.documents.customer_quote import open_items
from bomgen.documents.tables import Writer, headline_total
from bomgen.output.registry import DEFAULT_DOCUMENTS, DOCUMENTS, WIRINGS, Unsuitable, choose_documents
from bomgen.output.user_templates import describe_templates
from bomgen.output.writer import render, write_files, write_wiring
from bomgen.results.result import Report
from bomgen.workflow.inputs import text_of
from bomgen.workflow.pipeline import (
    compute_fabric,
    list_cables,
    require_lock,
    select_alternative,
    select_phase,
    work_out,
)
from bomgen.workflow.plan_files import PlanFile

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring
    from bomgen.core.jobs import Child

# summary ------------------------------------------------------------------------------------------------------------
# The result of a build on a few lines, as the report and the quote word it.


def summary(report: Report) -> Iterator[str]:
    """Yield the proposal in sentences, its power and total, and the open items of its order."""
    writer, quote, words = Writer(report, language()), report.quote, language()
    yield from (cluster.named(text) for cluster in writer.cluster_writers() for text in sentences(cluster))
    if POWER in writer.numbers:
        yield f"{writer.label(POWER)}: {words.cell(writer.key_figure(POWER))}"
    yield ": ".join(headline_total(quote.totals, quote.lines, quote.indications, words))
    yield from (note.text for note in open_items(writer, counted=False))


# build --------------------------------------------------------------------------------------------------------------

DEFAULT_FOLDER = "dist"


@click.command(cls=FormatsCommand, formats=DOCUMENTS, templates=describe_templates)
@plans_argument
@option(
    "-o --output DIR",
    "Output folder; - writes one format of one plan to standard output.",
    "files",
    default=DEFAULT_FOLDER,
    callback=named_path,
)
@option(
    "-f --formats LIST",
    "Formats to write; see below; repeatable.",
    "documents",
    default=(",".join(DEFAULT_DOCUMENTS),),
    multiple=True,
    callback=lambda _, __, lists: ",".join(lists),
)
@option(
    "--template templates FILE",
    "Also render a template: a file NAME.j2, or the name of a built-in one; repeatable.",
    "files",
    multiple=True,
)
@option("--alternative NAME", "Build an alternative of the plan as a quote of its own, into DIR/PLAN-NAME/.")
@option("--phase NAME", "Build a phase of the plan: the quote of its order, into DIR/PLAN-NAME/.")
@option("--jobs N", "Number of plans to build in parallel.", type=click.IntRange(1), default=1)
@option("--watch", "Rebuild when a plan or a file that it names changes.")
@locked_option
@plan_options
def build(
    plans: tuple[str, ...],
    output: str,
    formats: str,
    templates: tuple[str, ...],
    alternative: str | None,
    phase: str | None,
    jobs: int,
    watch: bool,
    locked: bool,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Write quotes, reports and bills of materials into DIR/NAME/ for each plan (- is standard input).

    A quote is what the customer signs, a report what an engineer checks. -f md writes both, -f quote.md one of them;
    -o - prints the quote.

    Templates of your own, by --template or `templates:` of a plan, are filled in beside them; so are templates for
    order forms that come with bomgen, by their names.

    Several plans are built each by itself; the worst exit code is returned.
    """
    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",") if part.strip()))
    try:
        chosen = choose_documents(wanted or [""])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    piped = output == STANDARD_OUTPUT
    if piped and (len(plans) > 1 or len(wanted) > 1 or templates):
        raise click.UsageError("-o - takes one plan and one format, such as -f json")
    if piped:
        wanted = [DOCUMENTS.files(form)[0] if kind and len(chosen) > 1 else wanted[0] for form, kind in chosen[:1]]
    form = Path(output).suffix.lower().lstrip(".")
    if form in DOCUMENTS.names and not Path(output).is_dir():
        raise click.UsageError(f"-o takes a folder, but {output} is a file name; use -f {form} -o DIR")
    if watch and STANDARD_OUTPUT in (output, *plans):
        raise click.UsageError("--watch takes plans that are files, and writes into a folder")
    outcome = Outcome()
    files = open_plans(plans, root, outcome)
    check_names(files, settings)
    if watch or (jobs > 1 and len(files) > 1 and STANDARD_OUTPUT not in plans):
        options = [f"--output={output}", f"--formats={formats}", *(["--locked"] if locked else [])]
        options += [f"--template={name}" for name in templates] + [f"--set={setting}" for setting in settings]
        options += [f"--root={root}"] if root else []
        options += [f"--alternative={alternative}"] if alternative else []
        options += [f"--phase={phase}"] if phase else []
        options += [f"--{name}" for name in (QUIET, VERBOSE) if is_set(name)]
        commands = [["build", *options, "--", file.name] for file in files]
        if watch and files:
            rebuild(lambda: run_jobs(commands, jobs), [file.root for file in files], Path(output))
        outcome.note(run_jobs(commands, jobs))
        sys.exit(outcome.code)
    for number, file in enumerate(files, start=1):
        position = (number, len(files))
        with outcome.piece(partial(text_of, file)):
            with watched(file.name, *position):
                report = work_out(file, settings, templates)
                if locked:
                    require_lock(file, report)
                report = select_alternative(report, alternative) if alternative else report
                report = select_phase(report, phase) if phase else report
            show((*report.problems, *report.stale), file)
            with watched(file.name, *position):
                made = render(report, wanted)
            if piped:
                _to_standard_output(made, chosen[0].form)
                continue
            below = Path() if output == DEFAULT_FOLDER else Path(output)
            written = write_files(made, Path(output) / report.plan.name, below)
            say(f"{report.plan.name}  {report.plan.title}", bold=True)
            for line in summary(report):
                say(f"  {line}")
            for path in written:
                say(f"  {path}")
    sys.exit(outcome.code)


def _to_standard_output(made: dict[str, bytes], form: str) -> None:
    if len(made) != 1:
        raise click.UsageError(f"{len(made)} files, and -o - takes one; name a folder with -o")
    (content,) = made.values()
    if not DOCUMENTS.constant(form, "BINARY"):
        Output().write(content)
    elif sys.stdout.isatty():
        raise click.UsageError(f"{form} goes to a file or a pipe; name a folder with -o")
    else:
        click.echo(content, nl=False)


# rebuilds -----------------------------------------------------------------------------------------------------------

READ = (".yaml", ".yml", ".lock", ".csv", ".xlsx", ".j2", ".svg", ".png", ".jpg", ".jpeg")
"""Suffixes of files that a plan reads: plans and their locks, parts, price books, templates, logos."""
INTERVAL_S = 0.3
"""Seconds between two checks of the files, shorter than switching from the editor to the page."""


def rebuild(run: Callable[[], int], folders: Iterable[Path], written: Path) -> None:
    """Run a build, and again after each change below `folders`, until the program is ended.

    Files below `written`, the folder of results, and in hidden folders are ignored.
    """
    limit_processor_time(None)
    below = sorted({folder.resolve() for folder in folders})
    while True:
        before = _state(below, written.resolve())
        run()
        complain(f"bomgen: watching {len(before)} files; Ctrl-C ends")
        while _state(below, written.resolve()) == before:
            time.sleep(INTERVAL_S)


def _state(folders: Iterable[Path], written: Path) -> dict[str, tuple[int, int]]:
    """Return the modification time [ns] and the size [bytes] of each file by path."""
    waiting, state = [str(folder) for folder in folders], dict[str, tuple[int, int]]()
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:  # removed meanwhile: the next check omits it
            for entry in entries:
                if entry.name.startswith(".") or entry.path == str(written):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.lower().endswith(READ):
                    seen = entry.stat()
                    state[entry.path] = seen.st_mtime_ns, seen.st_size
    return state


# jobs ---------------------------------------------------------------------------------------------------------------
# Several bomgen commands in parallel, each in a separate process.


def run_jobs(commands: Iterable[Sequence[str]], jobs: int) -> int:
    """Run bomgen commands, a number of them in parallel, and return the worst exit code.

    Their output follows in the order of the commands. If this process ends, so do they.
    """
    started: list[Child] = []
    over = Event()

    def run(command: Sequence[str]) -> tuple[int, bytes, bytes]:
        process = start_python("bomgen.cli.command", "run", command, stderr=PIPE)
        started.append(process)
        if over.is_set():
            process.terminate()
        out, errors = process.communicate()
        return process.returncode, out, errors

    worst = 0
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for code, out, errors in pool.map(run, commands):
                worst = max(worst, code)
                _pass_on(out, sys.stdout)
                _pass_on(errors, sys.stderr)
        except BaseException:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.terminate()
            raise
    return worst


def _pass_on(written: bytes, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(written.decode("utf-8", "replace").encode(encoding, "replace").decode(encoding))
    stream.flush()


class Network(NamedTuple):
    """Which cables of a plan a command is about."""

    old: str | None
    allow_moves: bool
    cluster: str | None
    phase: str | None

    def wire(self, plan: NamedPlan, fabrics: Sequence[str] = (), one_fabric: bool = False) -> tuple[PlanFile, Wiring]:
        """Return the file of a plan and its cables, those of `old` kept; problems of the plan end the command."""
        today = {self.cluster or "": choose_cluster(build_today(self.old, plan.root), self.cluster)} if self.old else {}
        file, report = plan.work_out(today=today, allow_moves=self.allow_moves)
        report = choose_cluster(report, self.cluster)
        with working_on(file):
            report = select_phase(report, self.phase) if self.phase else report
            require_fabrics(report, fabrics)
            fabrics = compute_fabric(report) if one_fabric and not fabrics else fabrics
            existing = next((list_cables(network) for network in today.values()), None)
            return file, list_cables(report, fabrics, existing)


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --from, --allow-moves, --cluster and --phase to a command, which takes them as its `network`."""

    @wraps(command)
    def run(old: str | None, allow_moves: bool, cluster: str | None, phase: str | None, **values: Any) -> Any:
        return command(network=Network(old, allow_moves, cluster, phase), **values)

    installed = option(
        "--from old OLD",
        "Plan that is installed today, or REV:PATH; unchanged devices keep their names and ports.",
        "sides",
    )
    moves = option("--allow-moves", "List installed machines that must move; otherwise they are errors.")
    of_cluster = option("--cluster cluster NAME", "Cluster to list, if the plan has several.", "clusters")
    of_phase = option("--phase NAME", "Phase to list: the work order from the phase before.")
    return installed(moves(of_cluster(of_phase(run))))


@click.command(cls=FormatsCommand, formats=WIRINGS)
@plan_argument
@output_options(
    WIRINGS.names,
    "See below.",
    suffixes=WIRINGS.suffixes(),
    type=str,
    metavar="FORMAT",
    shell_complete=proposed("wirings"),
)
@option("--fabric fabrics NAME", "List only the cables of this fabric; repeatable.", "fabrics", multiple=True)
@network_options
@plan_options
def wiring(plan: NamedPlan, output: Output, fabrics: tuple[str, ...], network: Network) -> None:
    """List every cable once, port to port, in a format that other programs read.

    With --from the tables are the list of work from OLD to PLAN: every cable is removed, moved, added or kept.

    A format of one InfiniBand fabric takes the first compute fabric unless --fabric names another; a format of several
    files lays the others beside FILE.
    """
    module = WIRINGS.module(output.form)
    if output.file is None and (module.SEVERAL_FILES or (module.BINARY and sys.stdout.isatty())):
        raise click.UsageError(f"{output.form} goes to a file; name it with -o")
    file, cables = network.wire(plan, fabrics, module.ONE_FABRIC)
    try:
        with ends_on_errors(partial(text_of, file)), _bar(cables.each_cable.pieces, bool(output.file)) as step:
            written = write_wiring(cables, output.form, Path(output.file) if output.file else None, step)
    except Unsuitable as error:
        raise click.UsageError(f"{output.form}: {error}") from None
    for path in written:
        say(f"{path}")


@click.command()
@click.argument("target", type=click.Choice(("netbox",)))
@plan_argument
@option("--url URL", "Address of the server.", required=True)
@option("--token-file FILE", "File with an API token that may write.", "files", required=True)
@option("--dry-run", "Only read, and show what would change.")
@option("--prune", "Delete what earlier pushes of the plan have created and is still planned; push nothing.")
@option("--verified FILE", "CSV of `bomgen verify`: what is planned and right becomes connected or active.", "files")
@network_options
@plan_options
def push(
    target: str,  # noqa: ARG001 - NetBox is the only one
    plan: NamedPlan,
    url: str,
    token_file: str,
    dry_run: bool,
    prune: bool,
    verified: str | None,
    network: Network,
) -> None:
    """Bring a NetBox up to date with PLAN: types, racks, devices with their ports and modules, and cables.

    Fields that the plan does not decide, such as the status, serial numbers and comments, belong to the operators. All
    that is created has the tag `bomgen-PLAN`; nothing without it is deleted.

    \b
      bomgen push netbox grown.yaml --from plan.yaml --url https://netbox.example.com --token-file token --dry-run

    Exit codes: 0 done; 3 the server cannot be reached or refuses; 4 some cables were not written, because others are in
    their ports.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    from bomgen.output.netbox_push import REFUSED, Push, Server, list_changes  # which loads NumPy
    from bomgen.verify.findings import read_verified

    try:
        server = Server(url, read_given(token_file, "token").decode("ascii").strip())
    except ValueError as error:
        raise click.UsageError(f"--url or --token-file: {error}") from None
    with ends_on_errors():
        done = read_verified(read_given(verified, "list of work"), verified) if verified else frozenset()
    file, cables = network.wire(plan)
    with working_on(file):
        pushed = Push(server, cables, dry_run, done)
        pushed.prune() if prune else pushed.write()
    for line in list_changes(pushed.changes):
        say(line)
    if not pushed.changes:
        say("Nothing to change.")
    if any(change.sign == REFUSED for change in pushed.changes):
        sys.exit(PASSED)


def choose_cluster(report: Report, cluster: str | None) -> Report:
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


def require_fabrics(report: Report, fabrics: Sequence[str]) -> None:
    """Raise UsageError for a fabric that the plan does not have."""
    names = [built.plan.name for built in report.design.fabrics]
    if strange := [name for name in fabrics if name not in names]:
        raise click.UsageError(unknown("fabric", strange[0], names))


@contextmanager
def _bar(length: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    if not wanted or not on_terminal():
        yield lambda _: None
        return
    with click.progressbar(length=length, label="cables", file=sys.stderr) as bar:
        yield bar.update
