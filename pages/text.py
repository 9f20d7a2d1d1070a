"""Pieces of Markdown and HTML that the written pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import yaml

WIDTH = 100
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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML, cells as they are given: Markdown would take seconds for the rows of a catalogue."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def code(text: str, language: str = "", title: str = "") -> str:
    """A block of code."""
    named = f' title="{title}"' if title else ""
    return f"```{language}{named}\n{text.rstrip()}\n```\n"


def as_yaml(value: Any) -> str:
    """A value as a person writes it in a plan."""
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=None)
    return dumped.removesuffix("...\n").rstrip()
