"""Shell completion for arguments of bomgen: plans, parts, numbers, keys, formats.

A proposal is a word, a path, or `open`: the beginning of a longer word. Unreadable files have no proposals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from bomgen.core import resources
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.yaml_source import value_at
from bomgen.fabric import types as fabric_types
from bomgen.output.registry import DOCUMENTS, WIRINGS
from bomgen.plan.schema import catalog_ids, declaration_at
from bomgen.results.explain import names
from bomgen.workflow import starters
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import STANDARD_INPUT, PlanFile, extended, open_plan

Item = CompletionItem[str]
PLAN_FILES = (".yaml", ".yml")
RESULT_FILES = (".json",)
PATH, OPEN = "path", "open"
NOT_LISTED = ("assumption", "face", "language")
"""Data folders that `bomgen catalog` does not list."""
TOPOLOGY = "topology"


def files(_: click.Context, typed: str) -> list[Item]:
    """Return a proposal by which the shell completes file and folder names."""
    return [Item(typed, "file")]


def plans(_: click.Context, typed: str) -> list[Item]:
    """Return plan files and folders, relative to the current folder of the shell."""
    return _files(typed, PLAN_FILES)


def sides(_: click.Context, typed: str) -> list[Item]:
    """Return arguments of `diff`: plans and results."""
    return _files(typed, (*PLAN_FILES, *RESULT_FILES))


def _files(typed: str, suffixes: Sequence[str]) -> list[Item]:
    head, _slash, start = typed.rpartition("/")
    folder = Path(os.path.expanduser(f"{head}/" if _slash else "."))
    items = []
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if path.name.startswith(start) and (start or not path.name.startswith(".")):
                word = f"{head}{_slash}{path.name}"
                if path.is_dir():
                    items.append(Item(f"{word}/", PATH))
                elif path.suffix in suffixes:
                    items.append(Item(word, PATH))
    return items


def kinds(_: click.Context, typed: str) -> list[Item]:
    """Return the kinds of the catalogue."""
    names = [path.name for path in resources.folder("data").iterdir() if path.is_dir() and path.name not in NOT_LISTED]
    return start_with(typed, sorted((*names, TOPOLOGY)))


def ids(ctx: click.Context, typed: str) -> list[Item]:
    """Return the ids of the kind that precedes the word."""
    kind = str(ctx.params.get("kind"))
    if kind == TOPOLOGY:
        return start_with(typed, fabric_types.topologies())
    return start_with(typed, catalog_ids(kind))


def part_kinds(ctx: click.Context, typed: str) -> list[Item]:
    """Return the kinds of part with a schema."""
    if ctx.params.get("name") != "part":
        return []
    schema_files = (resources.folder("schemas") / "part").glob("*.json")
    return start_with(typed, sorted(path.name.removesuffix(".schema.json") for path in schema_files))


def documents(_: click.Context, typed: str) -> list[Item]:
    """Return the formats of `build`, which may be several in one word, separated by commas."""
    before, comma, start = typed.rpartition(",")
    named = before.split(",")
    left = [form for form in DOCUMENTS.names if form not in named and form.startswith(start)]
    return [Item(f"{before}{comma}{form}", help=DOCUMENTS.constant(form, "ABOUT")) for form in left]


def wirings(_: click.Context, typed: str) -> list[Item]:
    """Return the formats of `wiring` with their descriptions."""
    return [Item(form, help=about) for form, about in WIRINGS.described() if form.startswith(typed)]


def fabrics(ctx: click.Context, typed: str) -> list[Item]:
    """Return the fabrics of the plan that precedes the word."""

    def of(file: PlanFile) -> Iterable[str]:
        wanted = ctx.params.get("cluster")
        for cluster in _clusters(file):
            if wanted in (None, cluster.get("name")):
                yield from cluster.get("fabrics") or ()
        yield from _named_in(file, "fabrics")

    return start_with(typed, dict.fromkeys(_plan_keys(ctx, of)))


def clusters(ctx: click.Context, typed: str) -> list[Item]:
    """Return the clusters of the plan that precedes the word."""
    return start_with(
        typed, _plan_keys(ctx, lambda file: [str(cluster["name"]) for cluster in _clusters(file) if "name" in cluster])
    )


WORDS: Mapping[str, Callable[[], Iterable[str]]] = {
    "designs": starters.designs,
    "gpus": partial(catalog_ids, "gpu"),
    "languages": resources.languages,
    "servers": partial(catalog_ids, "server"),
    "switches": partial(catalog_ids, "switch"),
    "topologies": partial(catalog_ids, "topology"),
}
"""Words that do not depend on the command line."""


def paths(ctx: click.Context, typed: str) -> list[Item]:
    """Return what can be explained of the preceding plan, one step beyond the typed path: numbers, lines, totals."""

    def of(file: PlanFile) -> Iterable[str]:
        return names(work_out(file, ctx.params.get("settings") or ()))

    above = typed.rpartition(".")[0]
    start = f"{above}." if above else ""
    items: dict[str, Item] = {}
    for path in _plan_keys(ctx, of):
        if path.startswith(typed):
            step, more, _ = path[len(start) :].partition(".")
            word = f"{start}{step}{'.' if more else ''}"
            items.setdefault(word, Item(word, OPEN if more else "plain"))
    return list(items.values())


def settings(ctx: click.Context, typed: str) -> list[Item]:
    """Return plan keys, one step beyond the typed one, and after `=` the permitted words and ids."""
    key, equals, value = typed.partition("=")
    above, _, start = key.rpartition(".")
    steps = key.split(".") if equals else above.split(".") if above else []
    declared = declaration_at(steps)
    if equals:
        return [Item(f"{key}={word}") for word in declared.words if word.startswith(value)]
    named = _plan_keys(ctx, lambda file: _named_in(file, *steps)) if steps else []
    items: dict[str, Item] = {}
    for name in (*declared.keys, *named):
        if name.startswith(start):
            word, below = f"{above}.{name}" if above else name, declared.at(name)
            items.setdefault(word, Item(f"{word}{'.' if below.has_keys else '='}", OPEN, help=below.title))
    return list(items.values())


def start_with(typed: str, words: Iterable[str]) -> list[Item]:
    """Return the words that start with what was typed."""
    return [Item(word) for word in words if word.startswith(typed)]


def _plan_keys(ctx: click.Context, words: Callable[[PlanFile], Iterable[str]]) -> list[str]:
    # Where an option lacks its value yet, click has left the plan among what it did not look at.
    plan = ctx.params.get("plan") or next(iter(ctx.params.get("plans") or ctx.args), None)
    plan = ctx.params.get("new") or ctx.params.get("old") or plan
    if not plan or plan == STANDARD_INPUT:
        return []
    try:
        return list(words(open_plan(plan, ctx.params.get("root"))))
    except (OSError, PlanErrors, LookupError, ValueError):
        return []


def _named_in(file: PlanFile, *steps: str) -> Iterator[str]:
    data = value_at(extended(file, (), {}).data, steps)
    yield from data if isinstance(data, dict) else ()


def _clusters(file: PlanFile) -> list[dict[str, Any]]:
    listed = extended(file, (), {}).data.get("clusters")
    return [cluster for cluster in listed if isinstance(cluster, dict)] if isinstance(listed, list) else []
