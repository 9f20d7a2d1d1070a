"""Edits of YAML: the value is there, and every other character is where it was."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.yaml_edit import NotEditable, append_item, remove_item, set_value
from bomgen.core.yaml_source import read

PLANS = sorted((Path(__file__).parents[2] / "plans").glob("*.yaml"))
TEXT = """\
# head
a: &x 5 # anchored
b: *x
c: |
  hello
  you

# between
d: {p: 1, q: [1, 2], } # flow
e:
  - 1
  - k: v
    m:

  # tail
f: 'it''s'  # quoted
g: {}
z: 9"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("b",), 7, "b: *x\n", "b: 7\n"),
        (("c",), "new: text", "c: |\n  hello\n  you\n", 'c: "new: text"\n'),
        (("d", "p"), Decimal("1.50"), "{p: 1,", "{p: 1.50,"),
        (("d", "r"), "12.5%", "[1, 2], }", "[1, 2], r: 12.5% }"),
        (("d", "q", 1), "a, b", "[1, 2]", '[1, "a, b"]'),
        (("e", 1, "m"), "here", "m:\n", "m: here\n"),
        (("e", 1, "m", "deep", "er"), 1, "m:\n", "m: {deep: {er: 1}}\n"),
        (("e", 1, "n"), True, "    m:\n", "    m:\n    n: true\n"),
        (("f",), "that's", "'it''s'", "'that''s'"),
        (("g", "k.l"), ["x"], "g: {}", "g: {k.l: [x]}"),
        (("new", "key"), "中文：好", "z: 9", "z: 9\nnew: {key: 中文：好}"),
        (("z",), "12", "z: 9", 'z: "12"'),
    ],
)
def test_values_are_set_in_the_style_around_them(
    path: tuple[str | int, ...], value: Any, before: str, after: str
) -> None:
    """Flow and block, plain and quoted, aliases, empty values, keys that are new."""
    assert set_value(TEXT, path, value) == TEXT.replace(before, after)


def test_items_come_and_go() -> None:
    """Of lists in brackets and of those in lines."""
    assert append_item(TEXT, ("d", "q"), 3) == TEXT.replace("[1, 2]", "[1, 2, 3]")
    assert append_item(TEXT, ("e",), "x # y") == TEXT.replace("    m:\n", '    m:\n  - "x # y"\n')
    assert remove_item(TEXT, ("d", "q", 0)) == TEXT.replace("[1, 2]", "[2]")
    assert remove_item(TEXT, ("d", "q", 1)) == TEXT.replace("[1, 2]", "[1]")
    assert remove_item(TEXT, ("e", 0)) == TEXT.replace("  - 1\n", "")


@pytest.mark.parametrize("path", [("a",), ("z", "k"), ("e", 7)])
def test_what_others_share_is_not_edited(path: tuple[str | int, ...]) -> None:
    """An anchor that an alias repeats, a key below a plain value, an item that is not there."""
    with pytest.raises(NotEditable):
        set_value(TEXT, path, 6)


def test_line_ends_and_marks_of_the_file_stay() -> None:
    """As Windows writes them."""
    text = "\ufeffa: 1\r\nb:\r\n  c: 2\r\n"
    assert set_value(text, ("b", "d"), 3) == "\ufeffa: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n"


def paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all plain values."""
    if isinstance(data, dict | list) and data:
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from paths(value, (*path, step))
    else:
        yield path


VALUES = st.one_of(
    st.integers(0, 10**9), st.text(max_size=30).filter(str.isprintable), st.booleans(), st.just(["a", "b"])
)


@given(plan=st.sampled_from(PLANS), at=st.integers(0, 500), value=VALUES, new=st.booleans())
def test_the_rest_of_a_plan_stays(plan: Path, at: int, value: Any, new: bool) -> None:
    """Of all plans and all keys: what PyYAML reads is what was set, and the text differs in one place alone."""
    text = plan.read_text("utf-8")
    found = list(paths(read(text, "").data))
    path = found[at % len(found)]
    if new:
        path = (*(step for step in path[:1] if isinstance(step, str)), "a-new-key") if len(path) > 1 else ("a-new-key",)
    try:
        edited = set_value(text, path, value)
    except NotEditable:
        assert isinstance(value, str) or (new and not isinstance(read(text, "").data.get(path[0]), dict))
        return
    data: Any = yaml.safe_load(edited)
    for step in path:
        data = data[step]
    assert data == value
    start = next((i for i, (one, other) in enumerate(zip(text, edited, strict=False)) if one != other), len(text))
    end = next((i for i, pair in enumerate(zip(text[::-1], edited[::-1], strict=False)) if pair[0] != pair[1]), 0)
    old = text[start : max(len(text) - end, start)]
    assert "\n" not in old
    assert "#" not in old


NOTED = """\
# head
#title: mine

a:
  b: 1
  #c: 2  # of a
  #d: 3

#e: {f: 1}
#g:
#  h: 1
"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("title",), "x", "#title: mine\n", "title: x\n"),
        (("a", "c"), 5, "  #c: 2  # of a\n", "  c: 5\n"),
        (("a", "z"), 5, "  b: 1\n", "  b: 1\n  z: 5\n"),
        (("e", "f"), 2, "#e: {f: 1}\n", "e:      # e\n  f: 2  # e.f\n"),
        (("g", "h"), 2, "  #d: 3\n", "  #d: 3\n\ng:      # g\n  h: 2  # g.h\n"),
        (
            ("n", "o", "p"),
            "q: r",
            "  #d: 3\n",
            '  #d: 3\n\nn:             # n\n  o:           # n.o\n    p: "q: r"  # n.o.p\n',
        ),
        (("a", "e"), {}, "  b: 1\n", "  b: 1\n  e: {}\n"),
    ],
)
def test_keys_stand_where_they_are_commented_out(path: tuple[str, ...], value: Any, before: str, after: str) -> None:
    """A line is taken, a block that is commented out stays; what is commented out in a block belongs to it."""
    edited = set_value(NOTED, path, value, lambda place: ".".join(map(str, place)))
    assert edited == NOTED.replace(before, after)


def test_a_block_with_comments_goes_as_it_came() -> None:
    """The blank line that set it apart goes, too; a mapping in a line stays one."""
    edited = set_value(NOTED, ("n", "o"), 1, lambda place: "of " + ".".join(map(str, place)))
    assert remove_item(edited, ("n",)) == NOTED
    assert set_value("a: {b: 1}\n", ("a", "c", "d"), 2, lambda _: "no") == "a: {b: 1, c: {d: 2}}\n"
    assert set_value("a: 1\n", ("c", "d"), 2, lambda _: "") == "a: 1\nc:\n  d: 2\n"
