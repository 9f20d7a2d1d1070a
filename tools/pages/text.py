"""Pieces of Markdown and HTML that the written pages are made of."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import yaml

WIDTH = 90
SHORT = 70
"""Characters of a line that has room beside a table of contents."""
MARKS = re.compile(r"([\\*_{}\[\]<>#|$~^])")
QUOTED = re.compile(r"(`[^`]+`)")
ADDRESS = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:)]")


def plain(text: str) -> str:
    """A text as Markdown that shows it as it stands; what it has between backticks stays code."""
    pieces = QUOTED.split(" ".join(text.split()))
    return "".join(piece if piece.startswith("`") else MARKS.sub(r"\\\1", piece) for piece in pieces)


def sentence(text: str) -> str:
    """A text as the start of a sentence."""
    return text[:1].upper() + text[1:]


def html(text: str) -> str:
    """A text as HTML: what stands between backticks is code, addresses are links."""
    pieces = QUOTED.split(text)
    return "".join(f"<code>{escape(each[1:-1])}</code>" if each[:1] == "`" else _linked(each) for each in pieces)


def _linked(text: str) -> str:
    done, at = [], 0
    for found in ADDRESS.finditer(text):
        done += [escape(text[at : found.start()]), f'<a href="{escape(found[0])}">{escape(found[0])}</a>']
        at = found.end()
    return "".join((*done, escape(text[at:])))


def sources(described: Mapping[str, Mapping[str, Any]]) -> str:
    """The documents that a record rests on, as a list under the ids by which its figures name them."""
    items = "".join(f"<li><b>{escape(id)}</b>: {_source(source)}</li>\n" for id, source in described.items())
    return f"<ul>\n{items}</ul>\n" if items else ""


def _source(source: Mapping[str, Any]) -> str:
    said = [html(str(source["title"]))]
    if "url" in source:
        said.append(f'<a href="{escape(source["url"])}">{escape(source["url"])}</a>')
    said += [f"{word} {html(str(source[word]))}" for word in ("licence", "read") if word in source]
    return ", ".join(said)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML, cells as they are given: Markdown would take seconds for the rows of a catalogue."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def code(text: str, language: str = "", title: str = "") -> str:
    """A block of code."""
    named = f' title="{title}"' if title else ""
    return f"```{language}{named}\n{text.rstrip()}\n```\n"


def under(key: str, value: Any) -> str:
    """A key with its value as a person writes it: on its line if that is short, else below it."""
    line = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=sys.maxsize, default_flow_style=True)
    short = f"{key}: {_ended(line)}"
    return short if len(short) <= SHORT else as_yaml({key: value})


def as_yaml(value: Any) -> str:
    """A value as a person writes it in a plan."""
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=None)
    return _ended(dumped)


def _ended(dumped: str) -> str:
    """What YAML writes of a plain value, without the mark of its end."""
    return dumped.removesuffix("...\n").rstrip()
