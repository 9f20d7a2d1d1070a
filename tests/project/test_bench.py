"""What `make bench` makes of its measurements, and the results that are kept; nothing is timed here."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import inside
import jsonschema
import page
import pytest
from beside import SCRIPTS, judged
from drawing import drawing
from measuring import CHECKOUT, Failed, Middle, middle, run
from results import FOLDER, changes, compared_with, kept, last_before, name_of, table, verdict, write

SCHEMA = json.loads((CHECKOUT / "benchmarks" / "result.schema.json").read_text("utf-8"))
PINNED = re.compile(r"[\w.-]+==[\w.]+|-e git\+https://\S+@[0-9a-f]{40}#egg=\w+")
SVG = "{http://www.w3.org/2000/svg}"


def _work(id: str, *ratio: float, bar: float | None = None) -> dict[str, object]:
    middle = [*ratio]
    return {
        **{"id": id, "what": f"bomgen {id}", "against": "import click", "runs": 21, "bar": bar, "bar_seconds": None},
        **{"seconds": [0.1, 0.1, 0.2], "base": [0.05, 0.05, 0.06], "ratio": middle},
        "also": {"cables/s": {"value": 400000, "bar": 500000}} if bar is None else {},
    }


def _result(day: str, *works: dict[str, object], cpu: str = "Xeon", commit: str = "abcdef0") -> dict[str, object]:
    machine = {"cpu": cpu, "cores": 2, "memory_gib": 8, "kernel": "Linux 6.1", "python": "CPython 3.11.7", "load": 0.5}
    return {
        **{"bench": 1, "date": f"{day}T10:00:00Z", "commit": commit, "dirty": False, "kept_for": "issue 1"},
        **{"machine": machine, "packages": {"click": "8.1"}, "works": [*works], "peers": []},
    }


@pytest.mark.deep
def test_what_is_timed_inside_does_its_work(tmp_path: Path) -> None:
    """A million GPUs are worked out, every cable of 1024 is listed, two bills are written: nothing of it has gone."""
    assert inside.resolve("fat-tree")["seconds"] > 0
    assert inside.cables("1024")["cables"] > 1024
    assert inside.predictions("8192")["predictions"] == 8192
    assert inside.search("1")["designs"] > 0
    assert [Path(path).stat().st_size > 0 for path in inside.bills(str(tmp_path))["paths"]] == [True, True]


# measuring ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "low", "high"), [(6, 1, 6), (9, 2, 8), (10, 2, 9), (12, 3, 10), (15, 4, 12), (17, 5, 13), (20, 6, 15)]
)
def test_the_interval_of_a_median_has_the_ranks_of_the_sign_test(count: int, low: int, high: int) -> None:
    """The narrowest of at least 95 % in a published table, Confidence Intervals for the Population Median (A.7)."""
    values = range(1, count + 1)
    assert middle([*reversed(values)]) == ((count + 1) / 2, low, high)


def test_few_values_give_all_as_the_interval() -> None:
    """Of fewer than six no interval has 95 %."""
    assert middle([5.0, 1.0, 2.0]) == Middle(2.0, 1.0, 5.0)


def test_a_command_that_fails_or_takes_too_long_says_so() -> None:
    """And one that is not there."""
    with pytest.raises(Failed, match="exit code 3: bad"):
        run(["sh", "-c", "echo bad >&2; exit 3"])
    with pytest.raises(Failed, match=r"more than 0\.1 s"):
        run(["sleep", "20"], most=0.1)
    with pytest.raises(Failed, match="cannot be started"):
        run(["./no-such-program"])
    done = run(["cat"], "given")
    assert done.said == "given"
    assert done.seconds > 0


def test_memory_is_that_of_the_command() -> None:
    """In GiB, and started by a program that has little itself."""
    said = run(
        [
            sys.executable,
            "-c",
            f"""
import sys
sys.path.insert(0, {str(CHECKOUT / "benchmarks")!r})
from measuring import run
print(run(["cat"]).gib)
""",
        ]
    ).said
    assert 0 < float(said) < 0.2


# comparison ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ((2.0, 1.9, 2.1), (2.5, 2.4, 2.6), "25% more"),
        ((2.5, 2.4, 2.6), (2.0, 1.9, 2.1), "20% less"),
        ((2.0, 1.5, 2.5), (2.6, 2.4, 2.9), "within the noise"),  # the intervals overlap
        ((2.0, 1.99, 2.01), (2.1, 2.09, 2.11), "within the noise"),  # five percent
        (None, (1.0, 1.0, 1.0), "new"),
        ((1.0, 1.0, 1.0), None, "gone"),
    ],
)
def test_a_change_is_beyond_the_noise_or_not(old: tuple[float, ...], new: tuple[float, ...], said: str) -> None:
    """By both intervals, and by how large it is."""
    assert verdict(old and Middle(*old), new and Middle(*new)) == said


def test_every_work_of_either_result_is_compared() -> None:
    """Those that only one of them has are named."""
    old = _result("2026-11-01", _work("build", 2.5, 2.4, 2.6), _work("gone", 1, 1, 1))
    new = _result("2026-11-02", _work("build", 5, 4.9, 5.1), _work("more", 1, 1, 1))
    assert {change.id: change.said for change in changes(old, new)} == {
        **{"build": "100% more", "more": "new", "gone": "gone"},
    }
    assert "| 2.50 | 100% more |" in table(new, old)


def test_a_result_is_compared_with_the_last_of_its_kind_of_machine() -> None:
    """Of another kind only where there is none, which is said then."""
    first, other = _result("2026-11-01"), _result("2026-11-02", cpu="EPYC")
    now = _result("2026-11-03")
    assert last_before(now, [first, other]) is first
    assert last_before(now, [other, now]) is other
    assert last_before(now, [now]) is None
    assert "another machine (EPYC)" in compared_with(now, other)


def test_a_bar_that_is_missed_is_shown() -> None:
    """A ratio above its bar, and a rate below it."""
    text = table(_result("2026-11-01", _work("build", 3.2, 3.1, 3.3, bar=3), _work("cables", 1, 1, 1)))
    assert "| 3.20 | 3.10 to 3.30 | 3 MISSED |" in text
    assert "cables/s 400 000 (bar 500 000 MISSED)" in text


def test_figures_of_both_are_equal_to_a_ten_thousandth() -> None:
    """Words are equal or not; what only one has is left out."""
    theirs = {"links": 256, "days": 20.501424, "kinds": "16 of 8", "bytes": 100.0, "lines": 5}
    ours = {"links": 256, "days": 20.501826, "kinds": "16 of 9", "bytes": 101.0}
    assert judged(theirs, ours) == (["links", "days"], ["kinds", "bytes"])


# files --------------------------------------------------------------------------------------------------------------


def test_a_result_is_written_in_its_form(tmp_path: Path) -> None:
    """What is not kept says so in its name."""
    result = _result("2026-11-01", _work("build", 2.5, 2.4, 2.6, bar=3))
    jsonschema.validate(result, SCHEMA)
    assert write(result, tmp_path).name == "2026-11-01-abcdef0.json"
    assert kept(tmp_path) == [result]
    assert write(result | {"kept_for": None, "dirty": True}, tmp_path).name == "2026-11-01-abcdef0-dirty.local.json"
    assert kept(tmp_path) == [result]


def test_kept_results_have_their_form() -> None:
    """Each keeps to the schema, is named after its day and commit, and says what it is kept for."""
    paths = sorted(path for path in FOLDER.glob("*.json") if not path.stem.endswith(".local"))
    assert paths
    for path in paths:
        result = json.loads(path.read_text("utf-8"))
        jsonschema.validate(result, SCHEMA)
        assert name_of(result) == path.stem
        assert result["kept_for"]
        assert path.with_suffix(".md").is_file()


def test_the_drawing_and_the_page_are_those_of_the_kept_results() -> None:
    """`python benchmarks/bench.py --page` renews them."""
    assert page.DRAWING.read_text("utf-8") == drawing(kept())
    text = page.PAGE.read_text("utf-8")
    assert text == page.filled(text, kept())


def test_the_drawing_has_every_result_of_every_work() -> None:
    """A point each, hollow where the machine is another; the bar as a line."""
    history = [
        _result("2026-11-01", _work("build", 2.4, 2.3, 2.5, bar=3), cpu="EPYC"),
        _result("2026-11-02", _work("build", 2.5, 2.4, 2.6, bar=3), commit="1234567"),
        _result("2026-11-03", _work("build", 2.6, 2.5, 2.7, bar=3), _work("check", 1.8, 1.7, 1.9, bar=2)),
    ]
    tree = ElementTree.fromstring(drawing(history))  # noqa: S314 - drawn by ourselves
    points = [*tree.iter(f"{SVG}circle")]
    assert [point.attrib["class"] for point in points] == ["other", "same", "same", "same"]
    assert [point.findtext(f"{SVG}title") for point in points][1] == "2026-11-02 1234567: 2.50 (2.40 to 2.60)"
    assert len([line for line in tree.iter(f"{SVG}line") if line.attrib["class"] == "bar"]) == 2
    heights = [float(point.attrib["cy"]) for point in points[:3]]
    assert heights == sorted(heights, reverse=True)


def test_peers_are_pinned() -> None:
    """Every package of a peer's environment has its version, or its commit; the peer itself included."""
    for script in sorted(SCRIPTS.glob("*.py")):
        lines = script.with_suffix(".txt").read_text("utf-8").splitlines()
        assert [line for line in lines if not PINNED.fullmatch(line)] == []
        assert any(line.startswith(f"{script.stem}==") or line.endswith(f"#egg={script.stem}") for line in lines)
