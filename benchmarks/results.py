"""Results of `make bench`: their files, what changed between two, and their tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measuring import CHECKOUT, Middle

FOLDER = CHECKOUT / "benchmarks" / "results"
LOCAL = ".local"
"""What the name of a result ends with that is not kept; git ignores it."""
LEAST_CHANGE = 0.1
"""Changes of a ratio up to a tenth are noise: two runs of the same commit differ by so much on a machine that does
other work meanwhile (benchmarks/README.md)."""

Result = dict[str, Any]


def name_of(result: Result) -> str:
    """The name of a result's file, without the suffix."""
    local = "" if result["kept_for"] else LOCAL
    dirty = "-dirty" if result["dirty"] else ""
    return f"{result['date'][:10]}-{result['commit'] or 'nowhere'}{dirty}{local}"


def write(result: Result, folder: Path = FOLDER) -> Path:
    """Write a result as JSON, an entry a line."""
    path = folder / f"{name_of(result)}.json"
    path.write_text(_text(result), encoding="utf-8")
    return path


def _text(result: Result) -> str:
    rows = []
    for key, value in result.items():
        if isinstance(value, list) and value:
            entries = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in value)
            rows.append(f'  "{key}": [\n{entries}\n  ]')
        else:
            rows.append(f'  "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(rows) + "\n}\n"


def kept(folder: Path = FOLDER) -> list[Result]:
    """The results that are kept, the oldest first."""
    paths = (path for path in folder.glob("*.json") if not path.stem.endswith(LOCAL))
    return sorted((json.loads(path.read_text("utf-8")) for path in paths), key=lambda result: result["date"])


def kind(result: Result) -> tuple[Any, ...]:
    """What makes two machines of one kind: processor, cores, and the version of Python up to the second number."""
    machine = result["machine"]
    return machine["cpu"], machine["cores"], machine["python"].rpartition(".")[0]


def last_before(result: Result, earlier: Iterable[Result]) -> Result | None:
    """The last kept result of the same kind of machine, else of any."""
    older = [other for other in earlier if other["date"] < result["date"]]
    alike = [other for other in older if kind(other) == kind(result)]
    return (alike or older or [None])[-1]


# comparison ---------------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """A ratio of two results: the work, then and now, and what is to be said of it."""

    id: str
    old: Middle | None
    new: Middle | None
    said: str


def changes(old: Result, new: Result) -> list[Change]:
    """How the ratio of each work changed, those that only one result has included."""
    before = {entry["id"]: Middle(*entry["ratio"]) for entry in old["works"]}
    after = {entry["id"]: Middle(*entry["ratio"]) for entry in new["works"]}
    return [
        Change(id, before.get(id), after.get(id), verdict(before.get(id), after.get(id))) for id in {**after, **before}
    ]


def verdict(old: Middle | None, new: Middle | None) -> str:
    """What a change is: beyond the noise when it is more than a tenth and the two intervals share no value."""
    if old is None or new is None:
        return "new" if old is None else "gone"
    if old.low <= new.high and new.low <= old.high:
        return "within the noise"
    change = new.value / old.value - 1
    if abs(change) <= LEAST_CHANGE:
        return "within the noise"
    return f"{abs(change):.0%} {'more' if change > 0 else 'less'}"


# tables -------------------------------------------------------------------------------------------------------------


def table(result: Result, old: Result | None = None) -> str:
    """The works of a result as a Markdown table, beside the ratios of an older one."""
    said = {change.id: change for change in changes(old, result)} if old else {}
    head = ["work", "ratio", "95 %", "bar", "seconds", "base s", "also", *(["before", "change"] if old else [])]
    rows = [_row(entry, said.get(entry["id"])) for entry in result["works"]]
    return "\n".join(_lines(head, rows))


def _row(entry: dict[str, Any], change: Change | None) -> list[str]:
    ratio = Middle(*entry["ratio"])
    row = [entry["what"], f"{ratio.value:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}", _bar(entry)]
    row += [f"{entry['seconds'][0]:.3f}", f"{entry['base'][0]:.3f}"]
    row.append("; ".join(_figure(name, each) for name, each in entry["also"].items()))
    if change:
        row += [f"{change.old.value:.2f}" if change.old else "", change.said]
    return row


def _bar(entry: dict[str, Any]) -> str:
    bar, seconds = entry["bar"], entry["bar_seconds"]
    if bar:
        return f"{bar:g}{missed(entry['ratio'][0] > bar)}"
    return f"{seconds:g} s{missed(entry['seconds'][0] > seconds)}" if seconds else ""


def _figure(name: str, each: dict[str, Any]) -> str:
    bar, value = each["bar"], each["value"]
    number = f"{value:,.0f}".replace(",", " ") if value > 100 else f"{value:.2f}"
    if bar is None:
        return f"{name} {number}"
    is_rate = "/s" in name
    return f"{name} {number} (bar {bar:,}{missed(value < bar if is_rate else value > bar)})".replace(",", " ")


def missed(is_missed: bool) -> str:
    """What stands behind a bar that is not kept."""
    return " MISSED" if is_missed else ""


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "|".join("---" for _ in head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def heading(result: Result) -> str:
    """Where, when and of what a result was measured, as a line."""
    machine = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in result["packages"].items())
    return (
        f"{result['date'][:10]}, commit {result['commit'] or 'unknown'}{' with changes' if result['dirty'] else ''}; "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, {machine['kernel']}, "
        f"{machine['python']}, load {machine['load']:g} at the start; {packages}."
    )


def compared_with(result: Result, old: Result | None) -> str:
    """What a result is compared with, as a sentence."""
    if old is None:
        return "No earlier result is kept."
    other = "" if kind(old) == kind(result) else f", another machine ({old['machine']['cpu']}): ratios alone compare"
    return f"Before: {old['date'][:10]}, commit {old['commit']}{other}."
