"""`bomgen init`, `serve` and `mcp`: a new plan, a page to write plans and see quotes, the calls of an assistant."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from threading import Thread
from typing import Any

import click

import bomgen
from bomgen.cli.command import QUIET, complain, is_set, print_text
from bomgen.cli.options import Output, option, proposed, root_option, show, talk_options, working_on, write_new_file
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.document import Column, Document, Row, Section, Table, row_of
from bomgen.core.jobs import defer_signals
from bomgen.core.language import language
from bomgen.core.messages import unknown
from bomgen.documents.offers import offers_table
from bomgen.pricing.price_book import INDICATIVE, OWN_PRICES
from bomgen.serve.calls import Data, Refused, Workspace
from bomgen.serve.form import GOALS, PURPOSE, form, with_values
from bomgen.serve.server import LOOPBACK, PageServer
from bomgen.workflow import library, starters
from bomgen.workflow.pipeline import check_plan, size_plan
from bomgen.workflow.plan_files import PlanFile, open_plan

MOST_CHOICES = 12
"""Words of a question that are listed with it."""
COUNT = click.IntRange(min=1)


@click.command()
@click.argument("name", required=False)
@option("--from design DESIGN", "Start from a built-in design; see --list.", "designs")
@option("--list listed", "List the designs with their GPUs and titles; write nothing.")
@option("--gpu ID", "GPU of the cluster.", "gpus")
@option("--gpus N", "Number of GPUs; or use --servers or --racks.", type=COUNT)
@option("--servers N", "Number of servers.", type=COUNT)
@option("--racks N", "Number of racks of a rack-scale system.", type=COUNT)
@option("--server ID", "Server. [default: the default server for the GPU]", "servers")
@option("--topology NAME", "Topology of the fabric; needs --switch.", "topologies")
@option("--switch ID", "Switch of the compute fabric. [default: the cited default fabric]", "switches")
@option("--oversubscription R", "Oversubscription ratio, R to 1.", type=click.FloatRange(min=0, min_open=True))
@option("--extends FILE", "File that the plan extends, such as seller.yaml.", "files")
@option("--price-book FILE", "Price book. [default: indicative]", "files")
@option("--customer NAME", "Customer named on the quote.")
@option("--ask", "Ask what the cluster is for, and write the design that you choose of several.")
@option("--seller", "Write seller.yaml, the base of a seller's plans, instead of a plan.")
@talk_options
def init(name: str | None, design: str | None, listed: bool, ask: bool, seller: bool, **asked: Any) -> None:
    """Write NAME.yaml into the current folder: a commented plan that builds as it is.

    With --gpu it is the plan of an inquiry, which is checked before it is written; the server is the default one for
    the GPU, such as a DGX, unless --server names another, such as an HGX. With --ask the questions of an inquiry are
    asked one by one, and priced designs that answer it stand side by side. No file is ever written over. Where the
    schema of plans lies beside it (bomgen schema plan > bomgen.schema.json), the first line of the plan leads editors
    to it.
    """
    if listed:
        _echo_designs()
        return
    if seller:
        if name or ask or design or any(value is not None for value in asked.values()):
            raise click.UsageError("--seller writes seller.yaml and no plan; remove the other options")
        write_new_file(starters.seller().encode(), "seller.yaml")
        return
    if name is None:
        raise click.UsageError("name the plan, such as `bomgen init my-cluster`; --list shows designs to start from")
    if not starters.is_name(name):
        close = starters.nearest_name(name)
        hint = f"; '{close}' is a valid name" if close else ""
        raise click.UsageError(f"'{name}' is not a valid plan name: {starters.RULE}{hint}")
    if design is not None and design not in starters.designs():
        raise click.UsageError(unknown("design", design, starters.designs()))
    beside = Path(starters.SCHEMA_FILE).is_file()
    if ask:
        if design or any(value is not None for value in asked.values()):
            raise click.UsageError("--ask asks for everything; remove the other options")
        text = _ask(name)
    elif any(value is not None for value in asked.values()):
        text = _checked(name, starters.inquired(name, _inquiry(design, asked), beside))
        default, alternatives = starters.server_of(asked["gpu"]) or ("", ())
        if asked["server"] is None and alternatives and not is_set(QUIET):
            complain(f"server: {default}, the default; --server takes another: {', '.join(alternatives)}")
    else:
        text = starters.started_from(design, name, beside) if design else starters.starter(name, beside)
    write_new_file(text.encode(), f"{name}.yaml")


def _ask(name: str) -> str:
    """Return the plan that answers an inquiry, whose questions are those of the page."""
    here = Path.cwd()
    workspace, path = Workspace(here), f"{name}.yaml"
    goal = click.prompt("What the cluster should do", type=click.Choice(list(GOALS)))
    answered = form(workspace, {"path": path, "text": "", "goal": goal})
    told = set[str]()
    while open_questions := [question for question in answered["questions"] if question["key"] not in told]:
        question = open_questions[0]
        told.add(question["key"])
        answer = click.prompt(question["title"] or "Purpose", default=question["value"] or "", type=_type_of(question))
        key = PURPOSE if question["id"] == PURPOSE else question["key"]
        try:
            answered = form(workspace, {"path": path, "text": answered["text"], "goal": goal, "answers": {key: answer}})
        except Refused as refused:
            complain(str(refused))
            told.discard(question["key"])
    file, words = PlanFile(path, answered["text"].encode(), here, here), language()
    with working_on(file):
        inquiry = starters.answer_inquiry(file)
    table = offers_table(inquiry.offers, words)
    Output().give(Document("", words.code, (Section(table.id, "", tables=(table,)),)), words)
    chosen = click.prompt(
        "Design to write",
        default=inquiry.recommended + 1,
        type=click.IntRange(1, len(inquiry.offers)),
    )
    return with_values(answered["text"], inquiry.offers[chosen - 1].changes)


def _type_of(question: Data) -> click.ParamType[Any]:
    words = [choice["value"] for choice in question["choices"]]
    return click.Choice(["", *words]) if 0 < len(words) <= MOST_CHOICES else click.STRING


def _inquiry(design: str | None, asked: Mapping[str, Any]) -> starters.Inquiry:
    if design is not None:
        raise click.UsageError("--from starts from a design, --gpu from an inquiry; choose one")
    if asked["gpu"] is None:
        raise click.UsageError("specify the GPU of the inquiry, such as --gpu h200-sxm; see `bomgen catalog gpu`")
    counts = {key: asked[key] for key in ("gpus", "servers", "racks") if asked[key] is not None}
    if len(counts) != 1:
        raise click.UsageError("specify the size with one of --gpus, --servers and --racks")
    fabric = {key: asked[key] for key in ("topology", "switch") if asked[key] is not None}
    if asked["oversubscription"] is not None:
        fabric["oversubscription"] = Decimal(f"{asked['oversubscription']:g}")
    if fabric and "switch" not in fabric:
        raise click.UsageError("specify the switch of the fabric, such as --switch sn5600; see `bomgen catalog switch`")
    server = {"server": asked["server"]} if asked["server"] else {}
    quote = {key: asked[key] for key in ("customer", "price_book") if asked[key] is not None}
    if not asked["extends"]:  # whose price book would be replaced
        quote.setdefault("price_book", [INDICATIVE, OWN_PRICES] if Path(OWN_PRICES).is_file() else INDICATIVE)
    return starters.Inquiry({"gpu": asked["gpu"], **server, **counts}, fabric, quote, asked["extends"])


def _checked(name: str, text: str) -> str:
    here = Path.cwd()
    file = PlanFile(f"{name}.yaml", text.encode(), here, here)
    with working_on(file):
        problems = check_plan(file)
    show(problems, file)
    return text


def _echo_designs() -> None:
    words, rows = language(), list[Row]()
    for name, path in starters.designs().items():
        clusters = size_plan(open_plan(str(path), str(path.parent)))
        counts = (f"{words.number(sizing.gpus.value)} x {plan.cluster.gpu.identity.name}" for plan, sizing in clusters)
        rows.append(row_of(name, ", ".join(counts), clusters[0][0].title))
    columns = (Column("design", "Design"), Column("gpus", "GPUs", "number"), Column("title", "Title"))
    section = Section("designs", "", tables=(Table("designs", "", columns, tuple(rows)),))
    Output().give(Document("", words.code, (section,)), words)


MOST_PORT = 65535
LEADING = """<!doctype html>
<meta http-equiv="refresh" content="0; url={address}">
<a href="{address}">bomgen</a>
"""
"""A file that redirects a browser to the page."""


@click.command()
@click.argument("place", metavar="[PLAN or FOLDER]", default=".", shell_complete=proposed("plans"))
@option("--port N", "Port on this machine. [default: a free one]", type=click.IntRange(0, MOST_PORT), default=0)
@option("--no-browser", "Only print the address.")
@root_option
@talk_options
def serve(place: str, port: int, no_browser: bool, root: str | None) -> None:
    """Open a page in the browser to write plans and see quotes, reports and drawings as they change.

    The page reads and saves plans below FOLDER, or beside PLAN. It is served on this machine only, to whoever has the
    address with its token, and loads nothing from elsewhere. Ctrl-C ends it.
    """
    path = Path(place)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder '{place}'")
    folder = path if path.is_dir() else path.parent
    workspace = Workspace(folder, Path(root) if root else None)
    try:
        server = PageServer(workspace, port, None if path.is_dir() else path.name)
    except OSError as error:
        raise click.UsageError(f"cannot listen on {LOOPBACK}:{port}: {error.strerror}; choose another --port") from None
    print_text(f"{server.address}\n")
    leading = None
    try:
        with defer_signals():  # so that a file that is there is known to be
            leading = None if no_browser else _write_leading_file(server.address)
        if leading:
            Thread(target=_open_browser, args=(leading, server), daemon=True).start()
        server.serve_forever()
    finally:
        server.server_close()
        if leading:
            leading.unlink(missing_ok=True)


def _write_leading_file(address: str) -> Path | None:
    """Write a file that redirects a browser to the page; None if that fails.

    Other users can see the arguments of a browser, but cannot read the file. It is in the home folder, because
    sandboxed browsers, such as snaps, have their own temporary folder.
    """
    try:
        descriptor, name = mkstemp(".html", "bomgen-", Path.home())
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(LEADING.format(address=address))
    except (OSError, RuntimeError) as error:
        complain(f"bomgen: cannot open a browser ({error}); open the address yourself")
        return None
    return Path(name)


def _open_browser(leading: Path, server: PageServer) -> None:
    """Open the page while the server answers: some browsers run until they are closed."""
    webbrowser.open(leading.as_uri())
    server.shown.wait()
    leading.unlink(missing_ok=True)


# mcp ------------------------------------------------------------------------------------------------------------------

MOST = 12_000
"""Characters of an answer: it shares the context of an assistant with everything else."""
MOST_CABLES = 1_000
"""Cables that are listed for an answer, of which only some fit."""
INSTRUCTIONS = """bomgen calculates bills of materials and quotes of AI clusters from a plan in YAML. A plan is the path
of a file, or YAML text; `find_parts` knows the ids that it may use. Figures, prices and times come with their sources:
quote an estimate as one."""
Tool = Callable[..., Any]


@click.command()
@root_option
def mcp(root: str | None) -> None:
    """Offer plans, parts, searches, differences, bills and cables to an assistant, over standard input and output.

    Only files below --root (by default the current folder) are read, and none is written. Needs `bomgen[mcp]`.
    """
    try:
        server = import_module("mcp.server").MCPServer("bomgen", version=bomgen.__version__, instructions=INSTRUCTIONS)
    except ImportError:
        raise click.UsageError("the SDK of the protocol is not installed; install bomgen[mcp]") from None
    for tool in list_tools(Path(root or ".").resolve()):
        server.add_tool(_short(tool), structured_output=False)
    server.run("stdio")


def list_tools(folder: Path) -> Iterator[Tool]:
    """Yield the tools; files are read below a folder only."""

    def opened(name: str) -> str:
        if "\n" in name:
            return name
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise ValueError(f"'{name}' is outside {folder}; name a file below it")
        return str(path)

    def built(plan: str, set: Sequence[str]) -> library.Result:
        return library.build(opened(plan), set=set, root=folder)

    def build(plan: str, set: list[str] = []) -> library.Row:  # noqa: B006 - never changed; the default is shown
        """Calculate a plan: key figures, bill, totals and warnings. `set` overrides values as KEY=VALUE."""
        return built(plan, set).summary

    def explain(plan: str, path: str, set: list[str] = []) -> str:  # noqa: B006
        """Show how a number, a bill line or a total of a plan was calculated, and why parts were chosen."""
        return built(plan, set).explain(path)

    def find_parts(text: str = "", where: str = "") -> list[library.Row]:
        """Find parts by id, number or words, or by conditions such as `rate=800G`; a single one has all its figures."""
        return library.find_parts(text, where=where)

    def search(plan: str, over: list[str], minimise: list[str] = [], within: list[str] = []) -> list[library.Row]:  # noqa: B006
        """Find the Pareto-optimal designs over values: `over` cluster.servers=6..16, `within` power=5MW."""
        return library.search(opened(plan), over, minimise, within, root=folder)

    def diff(old: str, new: str, set: list[str] = []) -> list[library.Row]:  # noqa: B006
        """Show what changed from one plan to another; `set` overrides values of the new one."""
        return library.diff(opened(old), opened(new), set=set, root=folder)

    def xray(bill: str) -> list[library.Row]:
        """Check a vendor's bill (xlsx, csv, pdf): findings at their lines, errors first."""
        return bomgen.inspect_bill(opened(bill))

    def wiring(plan: str, fabric: str, set: list[str] = []) -> list[library.Row]:  # noqa: B006
        """List the cables of a fabric, port to port."""
        return list(islice(built(plan, set).wiring([fabric]), MOST_CABLES))

    yield from (build, explain, find_parts, search, diff, xray, wiring)


def _short(tool: Tool) -> Tool:
    """Return a tool whose answer is text of at most MOST characters; what is wrong with a request is one, too."""

    @wraps(tool)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            result = tool(*arguments, **named)
        except PlanErrors as errors:
            result = [str(problem) for problem in errors.problems]
        except (OSError, ValueError, KeyError) as error:
            result = str(error)
        return shorten(result)

    return answer


def shorten(answer: Any) -> str:
    """Return an answer as JSON; the last rows are left out, and counted, until it fits."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
    if len(text) <= MOST:
        return text
    if not isinstance(answer, list):
        return f"{text[:MOST]}…"
    count = len(answer)
    while len(text) > MOST:
        count = count * MOST // (len(text) + 1)
        text = json.dumps({"rows": answer[:count], "left_out": len(answer) - count}, ensure_ascii=False, default=str)
    return text
