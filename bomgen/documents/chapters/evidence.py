"""The chapters of evidence: assumptions, checks, cited figures and derivations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bomgen.core.document import Cell, Column, Derivation, Path, Section, Step, Table, row_of
from bomgen.core.language import name_input
from bomgen.core.provenance import Cited, Derived, Figure, informative_inputs, walk
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.results.numbers import dotted
from bomgen.results.result import assumptions


def assumption_section(writer: Writer) -> Section:
    """Return the chapter of defaults used where the plan has no value."""
    columns = (
        Column("name", writer.word("column-assumption"), "text", 34),
        Column("value", writer.word("column-value"), "number", 16),
        Column("why", writer.word("column-why"), "text", 60, code=True),
        Column("source", writer.word("column-source"), "text", 60),
    )
    rows = tuple(
        row_of(
            writer.language.message(origin.name),
            Cell(writer.held(figure), writer.unit(figure)),
            writer.language.message(origin.why),
            writer.sources(origin),
        )
        for figure, origin in assumptions(writer.report, writer.numbers.values())
    )
    table = Table("assumptions", writer.word("table-assumptions"), columns, rows)
    return Section(
        "assumptions", writer.word("section-assumptions"), text=(writer.word("assumptions-lead"),), tables=(table,)
    )


def check_section(writer: Writer) -> Section:
    """Return the chapter of checks that the program made on its own result."""
    columns = (
        Column("status", writer.word("column-status"), "text", 10),
        Column("id", writer.word("column-check"), "text", 26),
        Column("message", writer.word("column-finding"), "text", 70, code=True),
        Column("path", writer.word("column-path"), "text", 40),
    )
    rows = tuple(
        row_of(writer.word(f"status-{check.status}"), check.id, writer.language.message(check.message), check.path)
        for check in writer.report.checks
    )
    return Section(
        "checks", writer.word("section-checks"), tables=(Table("checks", writer.word("table-checks"), columns, rows),)
    )


def source_section(writer: Writer) -> Section:
    """Return the chapter of every catalogue figure that the result uses."""
    columns = (
        Column("of", writer.word("column-of"), "text", 40),
        Column("value", writer.word("column-value"), "number", 16),
        Column("source", writer.word("column-source"), "text", 60),
        Column("confidence", writer.word("column-confidence"), "text", 14),
    )
    rows = []
    seen: set[tuple[str, str]] = set()
    for figure in walk(*writer.numbers.values()):
        origin = figure.origin
        if not isinstance(origin, Cited) or (origin.of, str(figure.value)) in seen:
            continue
        seen.add((origin.of, str(figure.value)))
        confidence = writer.word(f"confidence-{origin.confidence}") if origin.verified else writer.word("unverified")
        rows.append(
            row_of(
                writer.cited(origin), Cell(writer.held(figure), writer.unit(figure)), writer.sources(origin), confidence
            )
        )
    table = Table("sources", writer.word("table-sources"), columns, tuple(rows))
    return Section("sources", writer.word("section-sources"), text=(writer.word("sources-lead"),), tables=(table,))


def derivation_section(writer: Writer, clusters: Sequence[Writer]) -> Section:
    """Return the chapter of derivations of all numbers; those of one of several clusters name it."""
    titles = {dotted(path): derivation_title(writer, path) for path in writer.numbers if path[0] != CLUSTERS}
    for cluster in clusters:
        titles |= {dotted((*cluster.within, *path)): derivation_title(cluster, path) for path in cluster.numbers}
    derivations = tuple(
        Derivation(path, titles[path], tuple(steps(writer, path, figure, titles)))
        for path, figure in writer.paths.figures.items()
        if "#" not in path and isinstance(figure.origin, Derived)
    )
    return Section(
        "derivations",
        writer.word("section-derivations"),
        text=(writer.word("derivations-lead"),),
        derivations=derivations,
    )


def derivation_title(writer: Writer, path: Path) -> str:
    """Return the title of a derivation: its number, and the fabric if it belongs to one."""
    if path[0] == "fabrics":
        return writer.named(writer.joined(writer.fabric_name(path[1]), writer.group_label(path[2:])))
    return writer.named(writer.label(path))


def steps(writer: Writer, path: str, figure: Figure, titles: Mapping[str, str]) -> Iterator[Step]:
    """Yield the derivation steps of a number; inputs with their own derivation are referenced, not repeated.

    Numbers of the result have their titles as names, other inputs the words of the formula that they belong to.
    """
    seen: set[int] = set()
    stack = [(0, "", figure)]
    while stack:
        depth, parameter, node = stack.pop()
        own = writer.paths.of.get(id(node), "#") if depth else path
        name = titles.get(own) or name_input(parameter, node, writer.language, writer.shown)
        again, see, expression = id(node) in seen and bool(node.inputs), None, ""
        if depth and "#" not in own and isinstance(node.origin, Derived):
            origin, see = writer.word("see", path=own), own
        elif again:
            origin = writer.word("above")
        else:
            origin = writer.origin(node)
            expression = node.origin.formula.text if isinstance(node.origin, Derived) else ""
            seen.add(id(node))
            stack.extend((depth + 1, parameter, value) for parameter, value in reversed(informative_inputs(node)))
        value, unit = writer.held(node), writer.unit(node)
        yield Step(depth, name, value, unit, origin, see, expression, node.bounds, "" if own in titles else parameter)
