"""The text of a Graphviz graph, line by line, with every name and label quoted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_FONT = "Helvetica,Arial,sans-serif"
_SPACE = "bgcolor=white compound=true newrank=true nodesep=0.5 ranksep=1"
_BOX = 'shape=box style="rounded,filled" fillcolor="#f1f3f5" color="#57606a"'
_INDENT = "  "
_CENTRED, _LEFT = "\\n", "\\l"
"""Ends of a line, which say how it stands."""


class Graph:
    """Collects the statements of one undirected graph; upper ends of edges come first."""

    def __init__(self, name: str, title: Sequence[str]) -> None:
        """Begin a graph with words above it."""
        self.lines = [f"graph {quote([name])} {{"]
        self.depth = 1
        label = quote([*title, ""], _LEFT)
        self._add(f'graph [label={label} labelloc=t labeljust=l fontsize=13 fontname="{_FONT}" {_SPACE}]')
        self._add(f'node [fontsize=11 fontname="{_FONT}" {_BOX}]')
        self._add(f'edge [fontsize=10 fontname="{_FONT}" color="#8c959f"]')

    def text(self) -> str:
        """The whole graph."""
        return "\n".join([*self.lines, "}", ""])

    def _add(self, line: str) -> None:
        self.lines.append(f"{_INDENT * self.depth}{line};")

    def look(self, attributes: str) -> None:
        """Attributes of the whole graph."""
        self._add(f"graph [{attributes}]")

    @contextmanager
    def cluster(self, name: str, label: str) -> Iterator[None]:
        """A frame around the nodes that are added meanwhile."""
        self.lines.append(f"{_INDENT * self.depth}subgraph {quote([f'cluster {name}'])} {{")
        self.depth += 1
        self._add(f'label={quote([label])}; labeljust=l; style="rounded"; color="#afb8c1"; fontsize=11')
        yield
        self.depth -= 1
        self.lines.append(f"{_INDENT * self.depth}}}")

    def node(self, name: str, label: Sequence[str], look: str = "") -> None:
        """A node with its words."""
        self._add(f"{quote([name])} [label={quote(label)}{look and ' '}{look}]")

    def edge(self, upper: str, lower: str, label: Sequence[str], look: str = "") -> None:
        """An edge with its words, which stand a little apart from it."""
        words = quote([f" {line} " for line in label])
        self._add(f"{quote([upper])} -- {quote([lower])} [label={words}{look and ' '}{look}]")

    def plain_edge(self, upper: str, lower: str, look: str) -> None:
        """An edge without words."""
        self._add(f"{quote([upper])} -- {quote([lower])} [{look}]")

    def clustered_edge(self, upper: tuple[str, str], lower: tuple[str, str], label: Sequence[str]) -> None:
        """An edge between the frames of two nodes, each given with its frame."""
        ends = f"ltail={quote([f'cluster {upper[0]}'])} lhead={quote([f'cluster {lower[0]}'])}"
        self.edge(upper[1], lower[1], label, f"{ends} constraint=false")


def escape(text: str) -> str:
    """Text that stands for itself within a quoted string: no escape sequence, entity or end of the string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", " ")


def quote(lines: Sequence[str], end: str = _CENTRED) -> str:
    """A quoted string of one or several lines."""
    return '"' + end.join(map(escape, lines)) + '"'
