"""`bomgen mcp`: the calls of the library for assistants, over the Model Context Protocol (the extra `bomgen[mcp]`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import click

import bomgen
from bomgen.cli.options import root_option
from bomgen.core.diagnostics import PlanErrors
from bomgen.workflow import library
from bomgen.workflow.library import Row

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

    def build(plan: str, set: list[str] = []) -> Row:  # noqa: B006 - never changed; the default is shown
        """Calculate a plan: key figures, bill, totals and warnings. `set` overrides values as KEY=VALUE."""
        return built(plan, set).summary

    def explain(plan: str, path: str, set: list[str] = []) -> str:  # noqa: B006
        """Show how a number, a bill line or a total of a plan was calculated, and why parts were chosen."""
        return built(plan, set).explain(path)

    def find_parts(text: str = "", where: str = "") -> list[Row]:
        """Find parts by id, number or words, or by conditions such as `rate=800G`; a single one has all its figures."""
        return library.find_parts(text, where=where)

    def search(plan: str, over: list[str], minimise: list[str] = [], within: list[str] = []) -> list[Row]:  # noqa: B006
        """Find the Pareto-optimal designs over values: `over` cluster.servers=6..16, `within` power=5MW."""
        return library.search(opened(plan), over, minimise, within, root=folder)

    def diff(old: str, new: str, set: list[str] = []) -> list[Row]:  # noqa: B006
        """Show what changed from one plan to another; `set` overrides values of the new one."""
        return library.diff(opened(old), opened(new), set=set, root=folder)

    def xray(bill: str) -> list[Row]:
        """Check a vendor's bill (xlsx, csv, pdf): findings at their lines, errors first."""
        return bomgen.inspect_bill(opened(bill))

    def wiring(plan: str, fabric: str, set: list[str] = []) -> list[Row]:  # noqa: B006
        """List the cables of a fabric, port to port."""
        return list(islice(built(plan, set).wiring([fabric]), MOST_CABLES))

    yield from (build, explain, find_parts, search, diff, xray, wiring)


def _short(tool: Tool) -> Tool:
    """Return a tool whose answer is text of at most MOST characters; what is wrong with a request is one, too."""

    @wraps(tool)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            found = tool(*arguments, **named)
        except PlanErrors as errors:
            found = [str(problem) for problem in errors.problems]
        except (OSError, ValueError, KeyError) as error:
            found = str(error)
        return shorten(found)

    return answer


def shorten(found: Any) -> str:
    """Return an answer as JSON; the last rows are left out, and counted, until it fits."""
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)
    if len(text) <= MOST:
        return text
    if not isinstance(found, list):
        return f"{text[:MOST]}…"
    count = len(found)
    while len(text) > MOST:
        count = count * MOST // (len(text) + 1)
        text = json.dumps({"rows": found[:count], "left_out": len(found) - count}, ensure_ascii=False, default=str)
    return text
