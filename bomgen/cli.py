"""The command. Everything but click is imported by the command that needs it: help must come at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bomgen.figures import Figure
    from bomgen.inputs import PlanFile
    from bomgen.plan import Plan
    from bomgen.problems import Problem
    from bomgen.report import Report

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, INTERRUPTED = 1, 2, 3, 130
DEFAULT_FORMATS = "md,html,xlsx,json,csv"
ALL_FORMATS = f"{DEFAULT_FORMATS},pdf,svg,dot"
PRICE_FORMS = ("csv", "yaml", "xlsx")
SCHEMAS = ("plan", "bom", "part", "prices")
HELP_WIDTH = 100
"""Characters a line of help at most."""
NAME_WIDTH = 10
"""What a line of the summary begins with, at least so wide."""
COLLECT_AFTER = 200_000
"""New objects between two runs of the garbage collector."""

_set = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a value of the plan; dots between keys."
)
_root = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Folder that the plan's paths must stay below. [default: its checkout]",
)
_plans = click.argument("plans", nargs=-1, required=True, metavar="PLAN...")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH})
@click.version_option(package_name="bomgen", prog_name="bomgen")
def main() -> None:
    """Bills of materials for AI clusters from a short YAML plan.

    A plan says which model, how many tokens, how many days, which GPU, which network. bomgen works out GPUs, servers,
    NICs, switches, modules, cables, racks, power and price, and writes quotes with the reason for every number.

    \b
      bomgen build plans/llama65b.yaml                 quote and bill into dist/llama65b/
      bomgen check plans/*.yaml                        only say what is wrong
      bomgen explain plans/llama65b.yaml fabrics.compute.switches.spine
      bomgen catalog switch qm9700                     what is known of a part, with sources

    Exit codes: 0 done, 1 the plan is wrong or cannot be built, 2 wrong usage, 3 output could not be written.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled


@main.command()
@_plans
@click.option("-o", "--output", default="dist", show_default=True, metavar="DIR", help="Folder of the results.")
@click.option(
    "-f",
    "--formats",
    default=DEFAULT_FORMATS,
    show_default=True,
    metavar="LIST",
    help="What to write; pdf takes Chromium, svg and dot draw every fabric.",
)
@click.option(
    "--template",
    "templates",
    multiple=True,
    metavar="FILE",
    help="Fill in a template of your own, NAME.j2, and write NAME; can be given again.",
)
@_set
@_root
def build(
    plans: tuple[str, ...],
    output: str,
    formats: str,
    templates: tuple[str, ...],
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Write quote.md, quote.html, quote.xlsx, bom.json and bom.csv into DIR/NAME/ for each plan (- is standard input).

    The format pdf writes quote.pdf, which Chromium prints: the one in PATH, or the one that BOMGEN_CHROMIUM names. The
    formats svg and dot (Graphviz) write a drawing of each fabric, fabric-NAME.svg and fabric-NAME.dot.
    Templates of your own, by --template or `templates:` of a plan, are filled in beside them.

    Several plans are built each by itself; the worst exit code is returned.
    """
    from bomgen.outputs import DRAWINGS, FORMATS, PRINTED, OutputError, render, write
    from bomgen.problems import PlanErrors

    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",") if part.strip()))
    unknown = [form for form in wanted if form not in (*FORMATS, *PRINTED, *DRAWINGS)]
    if unknown or not wanted:
        raise click.UsageError(f"no format '{', '.join(unknown)}'; there are {ALL_FORMATS}")
    files, code = _opened(plans, root)
    _check_names(files, settings)
    for number, file in enumerate(files, start=1):
        _progress(number, len(files), file.name)
        report = _worked_out(file, settings, templates=templates)
        if report is None:
            code = max(code, WRONG_PLAN)
            continue
        try:
            written = write(render(report, wanted), Path(output) / report.plan.name)
        except PlanErrors as errors:
            _show(errors.problems, file)
            code = max(code, WRONG_PLAN)
            continue
        except OutputError as error:
            click.echo(f"bomgen: not written: {error}", err=True)
            code = max(code, NOT_WRITTEN)
            continue
        for line in _summary(report):
            click.echo(line)
        for path in written:
            click.echo(f"  {path}")
    sys.exit(code)


@main.command()
@_plans
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How problems are written: for people, programs, or annotations of a code host.",
)
@_set
@_root
def check(plans: tuple[str, ...], form: str, settings: tuple[str, ...], root: str | None) -> None:
    """Say what is wrong with plans, and whether they can be built; write nothing."""
    from bomgen.pipeline import checked
    from bomgen.problems import PlanErrors

    files, code = _opened(plans, root)
    found = list["Problem"]()
    for number, file in enumerate(files, start=1):
        _progress(number, len(files), file.name)
        try:
            problems: Sequence[Problem] = checked(file, settings)
        except PlanErrors as errors:
            problems = errors.problems
            code = max(code, WRONG_PLAN)
        if form == "text":
            _show(problems, file)
            if not any(problem.severity == "error" for problem in problems):
                click.echo(f"{file.name}: can be built{_count_of(problems)}")
        found += problems
    if form == "json":
        import json

        click.echo(json.dumps([_problem_data(problem) for problem in found], ensure_ascii=False, indent=1))
    elif form == "github":
        for problem in found:
            mark = problem.mark
            text = f"{problem.message} [{problem.rule}]".replace("%", "%25").replace("\n", "%0A")
            click.echo(f"::{problem.severity} file={mark.file},line={mark.line},col={mark.column}::{text}")
    sys.exit(code)


@main.command()
@click.argument("plan")
@click.argument("path", required=False)
@_set
@_root
def explain(plan: str, path: str | None, settings: tuple[str, ...], root: str | None) -> None:
    """Show how a number of bom.json was worked out, down to the plan and the documents; without PATH all of them.

    PATH is dotted, such as fabrics.compute.switches.leaf; the start of a path explains all numbers below it.
    """
    from bomgen.figures import explain as derivation
    from bomgen.numbers import Paths, dotted
    from bomgen.report import numbers_of

    files, code = _opened((plan,), root)
    if code:
        sys.exit(code)
    report = _worked_out(files[0], settings, quiet=True)
    if report is None:
        sys.exit(WRONG_PLAN)
    found = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    if path and "#" in path:
        found = Paths(numbers_of(report)).figures
    wanted = {
        name: figure for name, figure in found.items() if path is None or name == path or name.startswith(f"{path}.")
    }
    if not wanted:
        from bomgen.problems import nearest

        close = nearest(path or "", found, count=3)
        raise click.UsageError(f"the result has no number '{path}'; near: {', '.join(close) or ', '.join(found)}")
    for position, (name, figure) in enumerate(wanted.items()):
        if len(wanted) > 1:
            click.echo(("\n" if position else "") + f"{name}:")
        for line in derivation(name.rpartition(".")[2], figure, _value):
            click.echo(f"  {line}" if len(wanted) > 1 else line)


class _Wiring(click.Command):
    """A command whose help ends with the formats that there are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add what every format is."""
        from bomgen.export import about, formats

        with formatter.section("Formats"):
            formatter.write_dl([(name, about(name)) for name in formats()])
        super().format_epilog(ctx, formatter)


@main.command(cls=_Wiring)
@click.argument("plan")
@click.option("-f", "--format", "form", default="csv", show_default=True, metavar="FORMAT", help="See below.")
@click.option("-o", "--output", metavar="FILE", help="Where to write. [default: standard output]")
@click.option(
    "--fabric", "fabrics", multiple=True, metavar="NAME", help="Only the cables of a fabric; can be given again."
)
@_set
@_root
def wiring(
    plan: str, form: str, output: str | None, fabrics: tuple[str, ...], settings: tuple[str, ...], root: str | None
) -> None:
    """List every cable once, port to port, in a format that other programs read.

    A format of one InfiniBand fabric takes the first compute fabric unless --fabric names another; a format of several
    files lays the others beside FILE.
    """
    from bomgen.export import Unsuitable, format_of, formats
    from bomgen.outputs import OutputError, write_wiring
    from bomgen.pipeline import compute_fabric, wired
    from bomgen.problems import PlanErrors

    if form not in formats():
        from bomgen.problems import nearest

        close = nearest(form, formats())
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(formats())}"
        raise click.UsageError(f"unknown format: {form}; {hint}")
    module = format_of(form)
    if output is None and (module.SEVERAL_FILES or (module.BINARY and sys.stdout.isatty())):
        raise click.UsageError(f"{form} goes to a file; name it with -o")
    files, code = _opened((plan,), root)
    if code:
        sys.exit(code)
    if output is not None and Path(output).resolve() == Path(plan).resolve():
        raise click.UsageError(f"{output} is the plan itself; name another file with -o")
    report = _worked_out(files[0], settings)
    if report is None:
        sys.exit(WRONG_PLAN)
    known = [built.plan.name for built in report.design.fabrics]
    if unknown := [name for name in fabrics if name not in known]:
        raise click.UsageError(f"no fabric '{unknown[0]}'; there are {', '.join(known) or 'none'}")
    if module.ONE_FABRIC and not fabrics:
        fabrics = compute_fabric(report)
    try:
        cables = wired(report, fabrics)
        with _bar(cables.each_cable.pieces, output is not None) as step:
            written = write_wiring(cables, form, Path(output) if output else None, step)
    except PlanErrors as errors:
        _show(errors.problems, files[0])
        sys.exit(WRONG_PLAN)
    except Unsuitable as error:
        raise click.UsageError(f"{form}: {error}") from None
    except OutputError as error:
        click.echo(f"bomgen: not written: {error}", err=True)
        sys.exit(NOT_WRITTEN)
    for path in written:
        click.echo(f"{path}")


@contextmanager
def _bar(length: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """What is told of progress; a bar on standard error when that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=length, label="cables", file=sys.stderr) as bar:
        yield bar.update


@main.command()
@click.argument("book", required=False)
@click.option("--for", "plan", metavar="PLAN", help="List the parts of a plan that have no price yet, to be filled in.")
@click.option(
    "-f", "--format", "form", type=click.Choice(PRICE_FORMS), help="[default: by the suffix of FILE, else csv]"
)
@click.option("-o", "--output", metavar="FILE", help="Where to write. [default: standard output]")
@_set
@_root
def prices(
    book: str | None,
    plan: str | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Turn a price BOOK (YAML, CSV or a sheet) into another form, or list what a plan has no prices for.

    What comes out is a price book again: send the list to a vendor, and name what comes back at quote.price_book.
    """
    from bomgen.price_lists import BINARY, form_of, written

    if (book is None) == (plan is None):
        raise click.UsageError("name a price book, or a plan with --for PLAN")
    by_suffix = form_of(output) if output else None
    if output and form is None and by_suffix is None and Path(output).suffix:
        raise click.UsageError(f"no form of price books has the suffix {Path(output).suffix}; name one with -f")
    wanted = form or by_suffix or PRICE_FORMS[0]
    if output is None and wanted in BINARY:
        raise click.UsageError(f"{wanted} goes to a file; name it with -o")
    _not_itself(output, book or plan or "")
    if plan:
        from bomgen.pipeline import to_price

        report = _worked_out(_one_opened(plan, root), settings)
        if report is None:
            sys.exit(WRONG_PLAN)
        _written(written(to_price(report), wanted), output)
    elif book:
        name, entries = _prices_of(book)
        _written(written(entries, wanted, name), output)


def _prices_of(book: str) -> tuple[str | None, list[dict[str, Any]]]:
    """The name of a price book and its prices; one that is wrong ends the command."""
    from bomgen.prices import check, entries
    from bomgen.prices.files import opened
    from bomgen.problems import PlanErrors

    try:
        content = Path(book).read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read the price book '{book}': {error.strerror}") from None
    try:
        source = opened(content, book)
        check(source)
    except PlanErrors as errors:
        _print(errors.problems, lambda _: content.decode("utf-8", "replace"))
        sys.exit(WRONG_PLAN)
    return source.data.get("name"), entries(source)


@main.command()
@click.argument("plan")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json"]),
    default="text",
    show_default=True,
    help="What is written.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write. [default: standard output]")
@_set
@_root
def margin(plan: str, form: str, output: str | None, settings: tuple[str, ...], root: str | None) -> None:
    """Show the seller what every line costs and earns, by the plan's quote.cost_book.

    Amounts are after discount and before tax. No file of `bomgen build` has any of it.
    """
    from bomgen.margin.shown import SHOWN
    from bomgen.pipeline import earned
    from bomgen.problems import PlanErrors

    file = _one_opened(plan, root)
    _not_itself(output, plan)
    try:
        report, found = earned(file, settings)
    except PlanErrors as errors:
        _show(errors.problems, file)
        sys.exit(WRONG_PLAN)
    _show((*report.problems, *found.problems), file)
    _written(SHOWN[form](found).encode(), output)


def _one_opened(plan: str, root: str | None) -> PlanFile:
    """The file of a plan; one that cannot be read ends the command."""
    files, code = _opened((plan,), root)
    if code:
        sys.exit(code)
    return files[0]


def _not_itself(output: str | None, given: str) -> None:
    """What is read is not written over: wrong usage."""
    if output is not None and Path(output).resolve() == Path(given).resolve():
        raise click.UsageError(f"{output} is what is read; name another file with -o")


def _written(content: bytes, output: str | None) -> None:
    """Write to a file and say so, or to standard output."""
    from bomgen.outputs import OutputError, write_one

    if output is None:
        click.echo(content, nl=False)
        return
    try:
        write_one(content, Path(output))
    except OutputError as error:
        click.echo(f"bomgen: not written: {error}", err=True)
        sys.exit(NOT_WRITTEN)
    click.echo(output)


@main.command()
@click.argument("kind", required=False)
@click.argument("id", required=False)
def catalog(kind: str | None, id: str | None) -> None:
    """List the kinds of part, the parts of a KIND, or all that is known of one with its sources."""
    from bomgen.catalog import KINDS, Catalog, UnknownPart
    from bomgen.listing import kinds, part, parts_of

    shelves = Catalog()
    if kind is None:
        for line in kinds(shelves):
            click.echo(line)
        return
    if kind == "topology":
        _echo_topologies(id)
        return
    if kind not in KINDS:
        from bomgen.problems import nearest

        close = nearest(kind, KINDS)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join((*KINDS, 'topology'))}"
        raise click.UsageError(f"no kind '{kind}'; {hint}")
    try:
        lines = parts_of(shelves, kind) if id is None else part(shelves, kind, id)
        for line in lines:
            click.echo(line)
    except UnknownPart as error:
        raise click.UsageError(str(error)) from None


def _echo_topologies(name: str | None) -> None:
    """Every topology, or all of one."""
    from bomgen.fabric import topologies
    from bomgen.listing import topologies_listed, topology

    if name is not None and name not in topologies():
        from bomgen.problems import nearest

        close = nearest(name, topologies())
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(topologies())}"
        raise click.UsageError(f"no topology '{name}'; {hint}")
    for line in topology(name) if name else topologies_listed():
        click.echo(line)


@main.command()
@click.argument("name", type=click.Choice(SCHEMAS), default="plan")
@click.argument("kind", required=False)
def schema(name: str, kind: str | None) -> None:
    """Print the JSON Schema of plans, bom.json, price books, or part files (of one KIND, or of all)."""
    from bomgen.resources import folder

    schemas = folder("schemas")
    if name == "plan":
        import json

        from bomgen.schema import document

        click.echo(json.dumps(document(name), indent=2, ensure_ascii=False))
        return
    if name != "part":
        click.echo((schemas / f"{name}.schema.json").read_text(encoding="utf-8"), nl=False)
        return
    kinds = sorted(path.name.removesuffix(".schema.json") for path in (schemas / "part").glob("*.json"))
    if kind is None:
        import json

        texts = {}
        for part in kinds:
            text = (schemas / "part" / f"{part}.schema.json").read_text("utf-8")
            texts[part] = json.loads(text.replace("#/$defs/", f"#/$defs/{part}/$defs/"))
        click.echo(
            json.dumps(
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "title": "A part file of any kind",
                    "anyOf": [{"$ref": f"#/$defs/{part}"} for part in kinds],
                    "$defs": texts,
                },
                indent=2,
                ensure_ascii=False,
            )
        )
        return
    if kind not in kinds:
        raise click.UsageError(f"no kind of part '{kind}'; there are {', '.join(kinds)}")
    click.echo((schemas / "part" / f"{kind}.schema.json").read_text(encoding="utf-8"), nl=False)


def _opened(plans: Sequence[str], root: str | None) -> tuple[list[PlanFile], int]:
    """The plan files that can be read, and the exit code so far: a plan that cannot be read is wrong usage."""
    from bomgen.inputs import open_plan

    files, code = list["PlanFile"](), 0
    for plan in plans:
        try:
            files.append(open_plan(plan, root))
        except OSError as error:
            click.echo(f"Error: cannot read the plan '{plan}': {error.strerror}", err=True)
            code = WRONG_USAGE
    return files, code


def _check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Two plans of one name would write over each other: wrong usage, before anything is written."""
    from bomgen.inputs import name_of

    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name


def _worked_out(
    file: PlanFile, settings: Sequence[str], quiet: bool = False, templates: Sequence[str] = ()
) -> Report | None:
    """The report of a plan; its problems are shown, and None is returned when there is an error among them."""
    from bomgen.pipeline import work_out
    from bomgen.problems import PlanErrors

    try:
        report = work_out(file, settings, templates)
    except PlanErrors as errors:
        _show(errors.problems, file)
        return None
    if not quiet:
        _show(report.problems, file)
    return report


def _show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with the line of the plan, or of the file beside it, that it stands in."""
    from bomgen.inputs import text_of

    _print(problems, lambda name: text_of(file, name))


def _print(problems: Sequence[Problem], text_of: Callable[[str], str]) -> None:
    """Print problems, each error with its line of the text of its file."""
    from bomgen.problems import excerpt

    for problem in problems:
        click.echo(str(problem), err=True)
        if problem.severity == "error":
            for line in excerpt(problem, text_of(problem.mark.file)):
                click.echo(line, err=True)


def _progress(number: int, of: int, name: str) -> None:
    if of > 1:
        click.echo(f"[{number}/{of}] {name}", err=True)


def _count_of(problems: Sequence[Problem]) -> str:
    return f", {len(problems)} warning{'s' if len(problems) > 1 else ''}" if problems else ""


def _problem_data(problem: Problem) -> dict[str, Any]:
    mark = problem.mark
    return {
        "file": mark.file,
        "line": mark.line,
        "column": mark.column,
        "severity": problem.severity,
        "message": problem.message,
        "rule": problem.rule,
        "path": problem.path,
    }


def _value(figure: Figure) -> str:
    from bomgen.language import language

    if isinstance(figure.value, bool | str | tuple):
        return str(figure.value)
    return language("en").value(figure.value, figure.unit)


def _summary(report: Report) -> Iterator[str]:
    """The result on a few lines: what fits a screen."""
    from bomgen.language import language
    from bomgen.numbers import dotted
    from bomgen.report import numbers_of

    words = language("en")
    found = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    cluster = report.plan.cluster

    def shown(path: str) -> str:
        return words.number(found[path].value)

    yield click.style(f"{report.plan.name}  {report.plan.title}", bold=True)
    text = f"{shown('cluster.gpus')} x {cluster.gpu.identity.name}"
    if cluster.server and cluster.server.trays:
        text += f" in {shown('cluster.servers')} trays of {cluster.server.identity.name}"
    elif cluster.server:
        text += f" in {shown('cluster.servers')} x {cluster.server.identity.name}"
    if "workload.gpus_required" in found:
        text += f" ({shown('workload.gpus_required')} required)"
    yield f"  GPUs       {text}"
    yield from _workload_summary(found, report.plan)
    width = max((len(built.plan.name) for built in report.design.fabrics), default=0)
    width = max(width, NAME_WIDTH)
    for built in report.design.fabrics:
        if built.plan.switchless:
            shape = " x ".join(words.number(figure.value) for figure in built.fabric.dimensions.values())
            count = words.number(built.fabric.links[0].count.value)
            times = f"{words.number(built.fabric.planes.value)} x " if built.fabric.planes else ""
            yield f"  {built.plan.name:{width}} {times}{built.fabric.topology} of {shape}; {count} links"
            continue
        tiers = " + ".join(
            f"{words.number(tier.count.value)} {tier.name} ({tier.switch.identity.name})" for tier in built.fabric.tiers
        )
        links = " + ".join(words.number(link.count.value) for link in built.fabric.links)
        modules = found.get(f"fabrics.{built.plan.name}.transceivers.total")
        tail = f", {words.number(modules.value)} modules" if modules else ""
        yield f"  {built.plan.name:{width}} {tiers}; {links} links{tail}"
    if "site.power_w" in found:
        watts, unknown = words.number(found["site.power_w"].value), report.design.facility.unpowered
        left_out = ", ".join(f"{words.number(count)} x {name}" for name, count in unknown.items())
        known = f"at least {watts} W: the power of {left_out} is not known"
        yield f"  power      {known if unknown else f'{watts} W at most'}"
    totals = report.quote.totals
    if totals.priced_lines == 0:
        yield f"  price      none of {totals.lines} lines has a price"
    else:
        least = "" if totals.complete else "at least "
        amount = words.money(totals.amount, totals.currency)
        yield f"  price      {least}{amount}, {totals.priced_lines} of {totals.lines} lines"


def _workload_summary(found: dict[str, Figure], plan: Plan) -> Iterator[str]:
    """What the cluster makes of its workload."""
    if plan.training and "workload.days" in found:
        days, mfu = found["workload.days"], _value(found["workload.mfu"])
        taken = f"{float(days.value):.2f} days" if days.value >= 1 else _value(days)
        yield f"  {'tuning' if plan.training.tuning else 'training':10} {taken} at {mfu} MFU"
    if plan.compute and "workload.peak_flops" in found:
        reached, target = (_value(found[f"workload.{key}"]) for key in ("peak_flops", "target_flops"))
        yield f"  peak       {reached} {plan.compute.sparsity.value} {plan.compute.precision.value}, {target} asked for"
    if plan.inference and "workload.replicas" in found:
        text = f"{found['workload.replicas'].value} x {plan.inference.model.identity.name}"
        if "workload.requests_per_minute" in found:
            text += f", {_value(found['workload.requests_per_minute'])} a minute"
            low, high = (found.get(f"workload.requests_per_minute_range.{end}") for end in ("low", "high"))
            if low and high:
                text += f" by estimate (low {_value(low)}, high {_value(high)})"
        yield f"  serving    {text}"


def run() -> None:
    """The command as a program: an interrupt is exit code 130, an output that takes nothing more is 3."""
    # A build makes hundreds of thousands of small objects and is over in half a second: collecting cycles as often as
    # Python does by itself, and once more on the way out, costs a fifth of that.
    gc.set_threshold(COLLECT_AFTER)
    try:
        main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        click.echo("Interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"bomgen: not written: {error.strerror}\n")
        sys.exit(NOT_WRITTEN)
    finally:
        gc.freeze()


if __name__ == "__main__":
    run()
