"""Bytes as YAML: read or refused at a place inside them; the same each time, as others read them, and once written."""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml
from oracles import Unwritten, dumped, marks_inside, well_told

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.yaml_source import MAX_NODES, Source, decoded, overlay, override, read

PLANS = Path(__file__).parents[2] / "plans"
MOST_BYTES = 2048
TOKENS = (
    *("? ", ": ", "- ", "# ", "&a ", "*a", "!!str ", "!<t> ", "%YAML 1.2\n", "---\n", "...\n", "<<: ", "|\n ", ">-\n "),
    *("{", "}", "[", "]", ",", '"', "'", "\\x", "\\u", "\\U", "\\\n", "~", "null", "true", "on", ".inf", ".nan", "0x"),
    *(
        "0o17",
        "1e60",
        "1e-60",
        "1_000",
        "012",
        "-.5",
        "+1",
        "\t",
        "\r\n",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud7ff",
        "\u0301",
    ),
    *("2026-11-20", "1:30", "=", "a.b=c", "!", "@", "`", "\0", "  ", "\n\n", "a: &a [*a, *a]\n", "9" * 45),
)
FILE = "x.yaml"
MOST_POWER = 400
"""Of ten; those that are read are far smaller."""
SELDOM = 8
"""One input of so many, by its own bytes, is also read by the parser in Python, which is slow."""


def seeds() -> Iterator[bytes]:
    """The plans, cut to size, and one text of each kind of syntax."""
    for path in sorted(PLANS.glob("*.yaml")):
        yield path.read_bytes()[:MOST_BYTES]
    yield b"a: 1\n"
    yield b"- &a {b: [1, 2.5, ~, on, 'it''s', \"\\u00e9\\n\"]}\n- *a\n"
    yield b"%YAML 1.2\n---\n? x\n: |+\n  text\n\n...\n"
    yield b'{"a": [1e3, -0.5, true, null, {"b": "\\ud83d\\ude00"}]}'
    yield "a: é\u2028b: \x85\r\nc: >-\n  d\n  e\n".encode()


def run(data: bytes) -> None:
    """Read bytes as a file of YAML, and hold what came of it against everything that is known of it."""
    try:
        text = decoded(data, FILE)
        source = read(text, FILE)
    except PlanErrors as errors:
        well_told(errors.problems, {FILE: data.decode("utf-8", "replace").removeprefix("\ufeff")})
        return
    assert source == read(text, FILE)
    marks_inside(source)
    _as_written(source)
    _as_json(text, source.data)
    if crc32(data) % SELDOM == 0:
        _as_others_read(text, source.data)
        _laid_over(source)


def _as_written(source: Source) -> None:
    """What is read, written and read again is equal."""
    try:
        again = dumped(source.data)
        if len(source.values) <= MAX_NODES:
            assert read(again, FILE).data == source.data
    except Unwritten:
        return


def _as_json(text: str, data: Any) -> None:
    """JSON is read as JSON has it."""
    try:
        expected = json.loads(text, parse_float=_exactly)
    except (ValueError, ArithmeticError, RecursionError):
        return
    assert data == expected


def _exactly(number: str) -> Fraction:
    """A number of JSON. Raises ValueError for one that no plan holds, whose fraction would fill the memory."""
    exact = Decimal(number)
    if abs(exact.adjusted()) > MOST_POWER:
        raise ValueError(number)
    return Fraction(exact)


def _as_others_read(text: str, data: Any) -> None:
    """Mappings, lists and texts are those of PyYAML's parser in Python; numbers and words where both versions agree."""
    text = text.removeprefix("\ufeff")
    if "?" in text or "!" in text:
        return  # within brackets they end a word of libyaml, and are part of one there
    try:
        other = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError, ValueError):
        return  # it refuses some of what libyaml reads
    _alike(data, other)


def _alike(data: Any, other: Any) -> None:
    if isinstance(data, dict):
        assert data.keys() == other.keys()
        for key in data:
            _alike(data[key], other[key])
    elif isinstance(data, list):
        assert len(data) == len(other)
        for mine, theirs in zip(data, other, strict=True):
            _alike(mine, theirs)
    elif isinstance(data, str):
        assert other == data
    elif data is None or isinstance(data, bool):
        assert str(other or "").lower() in ({True: ("true",), False: ("false",), None: ("", "~", "null")}[data])
    else:
        _same_number(data, other)


def _same_number(data: int | Fraction, other: str) -> None:
    """A number is what Python makes of its text."""
    text = other.lower()
    expected = int(text, 0) if text.startswith(("0x", "0o")) else Fraction(Decimal(text))
    assert expected == data


def _laid_over(source: Source) -> None:
    """A value that is set is there, with its mark; nothing else has moved."""
    if not isinstance(source.data, dict):
        return
    for key in [key for key in source.data if "." not in key and "=" not in key and key][:1]:
        try:
            changed = override(source, [f"{key}=[1, two]"])
        except PlanErrors:
            return
        assert changed.data == {**source.data, key: [1, "two"]}
        assert changed.mark((key, 1)).file == "<set>"
        holder = read(dumped({"k": 1, "set": {"k": "v"}}), FILE)
        assert overlay(holder, ("set",)).data["k"] == "v"
