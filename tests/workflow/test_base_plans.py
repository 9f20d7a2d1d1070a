"""Plans that extend others: what is merged, where values come from, which paths are meant."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import merged, read
from bomgen.plan.commercial_terms import Party
from bomgen.results.result import result
from bomgen.workflow.inputs import source_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import MAX_BASES, open_plan

PLAN = "bomgen: 1\nname: x\nextends: base.yaml\ncluster: {gpu: h100-sxm, servers: 4}\n"
BOOK = "bomgen_prices: 1\ncurrency: EUR\nprices: [{part: dgx-h100, price: 300000}]\n"

# RFC 7396, appendix A, the rows whose target and patch are mappings and that do not take away inside what is new.
RFC_7396: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d", "c": None}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
]

_words = st.sampled_from(["a", "b", "c", "d"])
_data = st.recursive(
    st.integers(0, 9) | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner)
)
_mappings = st.dictionaries(_words, _data)


def _source(data: Any, name: str) -> Any:
    return read(json.dumps(data, indent=1), name)


@pytest.mark.parametrize(("under", "over", "wanted"), RFC_7396)
def test_merging_follows_the_merge_patch(under: Any, over: Any, wanted: Any) -> None:
    """As RFC 7396 merges; but what takes nothing away stays, so that the schema can say that it is empty."""
    assert merged(_source(under, "under"), _source(over, "over")).data == wanted


@given(_mappings, _mappings, _mappings)
def test_merging_is_associative_and_keeps_what_is_said(under: Any, middle: Any, over: Any) -> None:
    """A plan over itself is itself, and where nothing is taken away it does not matter which two come first."""
    sources = [_source(data, name) for data, name in ((under, "1"), (middle, "2"), (over, "3"))]
    first, second, third = sources
    assert merged(first, first).data == _without_taken(under)
    if "null" not in json.dumps([middle, over]):
        assert merged(merged(first, second), third).data == merged(first, merged(second, third)).data


def _without_taken(data: Any) -> Any:
    """What is left of a mapping laid over itself: a key that is empty twice takes itself away."""
    if not isinstance(data, dict):
        return data
    return {key: _without_taken(value) for key, value in data.items() if value is not None}


@given(_mappings, _mappings)
def test_every_value_has_the_mark_of_its_file(under: Any, over: Any) -> None:
    """Marks stand for exactly the values that there are, and name the plan for what the plan says."""
    found = merged(_source(under, "under"), _source(over, "over"))
    assert set(_paths(found.data)) == set(found.values)
    for path, mark in found.values.items():
        below: Any = over
        for step in path:
            below = below[step] if isinstance(below, dict | list) and _has(below, step) else ()
        assert mark.file == ("under" if below == () and path else "over")


def _has(data: Any, step: Any) -> bool:
    return step in data if isinstance(data, dict) else isinstance(step, int) and step < len(data)


def _paths(data: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    for step, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _paths(value, (*path, step))


def _lay(folder: Path, **files: str) -> None:
    for name, text in files.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".yaml").write_text(text, "utf-8")


def test_values_paths_and_places_come_from_the_file_that_says_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Customer and prices two files away: the price book is found beside the file that names it, places name theirs."""
    _lay(
        tmp_path,
        plans__x=PLAN.replace("base.yaml", "../shared/site.yaml"),
        shared__site="extends: who/customer.yaml\nsite: {pue: 1.3}\n",
        shared__who__customer="quote:\n  customer: Acme\n  currency: EUR\n  price_book: books/list.yaml\n",
        shared__who__books__list=BOOK,
    )
    monkeypatch.chdir(tmp_path)
    report = work_out(open_plan("plans/x.yaml", "."))
    assert [line.amount for line in report.quote.lines if line.line.part == "dgx-h100"] == [4 * 300_000]
    customer, site = report.plan.quote.customer, report.plan.site
    assert customer == Party("Acme")
    assert site is not None
    assert getattr(site.pue and site.pue.origin, "mark", None) == Mark("shared/site.yaml", 2, 13)
    assert [entry["name"] for entry in result(report)["plan"]["inputs"]] == [
        "../shared/who/customer.yaml",
        "../shared/site.yaml",
        "../shared/who/books/list.yaml",
    ]


def test_later_files_win_and_the_plan_over_all(tmp_path: Path) -> None:
    """A list is laid one over the other in its order; a key with nothing behind it takes a value away."""
    _lay(
        tmp_path,
        x=PLAN.replace("base.yaml", "[one.yaml, two.yaml]") + "spares: {switch: 3, cable: }\n",
        one="spares: {switch: 1, cable: 1, transceiver: 1}\ntitle: one\n",
        two="spares: {switch: 2, transceiver: 2}\n",
    )
    found = source_of(open_plan(str(tmp_path / "x.yaml"), None)).data
    assert found["spares"] == {"switch": 3, "transceiver": 2}
    assert found["title"] == "one"


def test_overrides_come_over_everything(tmp_path: Path) -> None:
    """`--set` reaches into a list that an extended file has, and names other files to extend."""
    _lay(tmp_path, x=PLAN, base="quote: {terms: [one, two]}\n", other="title: other\n")
    file = open_plan(str(tmp_path / "x.yaml"), None)
    assert source_of(file, ["quote.terms.1=three"]).data["quote"]["terms"] == ["one", "three"]
    assert source_of(file, ["extends=other.yaml"]).data["title"] == "other"


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """What never ends is not waited for, as a base or as a price book."""
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, key in (("x", "extends: pipe.yaml"), ("y", "quote: {price_book: pipe.yaml}")):
        _lay(tmp_path, **{name: PLAN.replace("extends: base.yaml", key)})
        with pytest.raises(PlanErrors, match="No regular file"):
            work_out(open_plan(str(tmp_path / f"{name}.yaml"), None))


def test_a_row_of_links_ends(tmp_path: Path) -> None:
    """A link to its own folder makes no endless row of files, and neither do many files."""
    _lay(tmp_path, x=PLAN.replace("base.yaml", "loop/base.yaml"), base="extends: loop/base.yaml\n")
    (tmp_path / "loop").symlink_to(".")
    with pytest.raises(PlanErrors, match="extends itself"):
        source_of(open_plan(str(tmp_path / "x.yaml"), None))
    many = ", ".join(f"b{number}.yaml" for number in range(MAX_BASES + 1))
    _lay(tmp_path, x=PLAN.replace("base.yaml", f"[{many}]"), **{f"b{at}": "title: t\n" for at in range(MAX_BASES + 1)})
    with pytest.raises(PlanErrors, match="more than 20 files"):
        source_of(open_plan(str(tmp_path / "x.yaml"), None))


def test_paths_that_alternatives_set_are_of_the_file_that_says_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other price books, one or a list, lie beside the extended file that names them."""
    _lay(
        tmp_path,
        plans__x=PLAN.replace("base.yaml", "../shared/base.yaml"),
        shared__base="quote:\n  currency: EUR\n  price_book: books/list.yaml\n  alternatives:\n"
        "    - {name: one, set: {quote.price_book: books/one.yaml, cluster.servers: 2}}\n"
        "    - {name: more, set: {quote.price_book: [books/list.yaml, books/one.yaml]}}\n"
        "    - {name: first, set: {quote.price_book: [books/one.yaml], quote.price_book.0: books/list.yaml}}\n",
        shared__books__list=BOOK,
        shared__books__one=BOOK.replace("300000", "200000"),
    )
    monkeypatch.chdir(tmp_path)
    report = work_out(open_plan("plans/x.yaml", "."))
    assert [
        [line.amount for line in each.quote.lines if line.line.part == "dgx-h100"] for each in report.alternatives
    ] == [[2 * 200_000], [4 * 200_000], [4 * 300_000]]


def test_extended_files_are_named_with_verbose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As every other file that is read."""
    _lay(tmp_path, x=PLAN.replace("base.yaml", "shared/base.yaml"), shared__base="title: t\n")
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(main, ["check", "-v", "x.yaml"]).stderr
    assert "bomgen: read shared/base.yaml, 9 bytes\n" in said
