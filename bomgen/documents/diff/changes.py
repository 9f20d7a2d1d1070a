"""Changes of the plan by key, and of the design by number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.core.document import Cell, row_at
from bomgen.core.language import Language
from bomgen.core.yaml_source import OVERRIDES, Source
from bomgen.documents.comparison import ComparedRow, difference
from bomgen.documents.diff.matching import ONLY, NewNames, cluster_of
from bomgen.documents.diff.side import ComparedResult
from bomgen.plan.clusters import BESIDE as OF_CLUSTER
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.plan.commercial_terms import SECRET_KEYS

NAMED_BY = ("name", "kind", "model")
"""Keys that identify the mappings of a list."""
_PLAIN = re.compile(r"[A-Za-z0-9_./%+-][A-Za-z0-9_./%+ -]*")
_WIDTH = 100
"""Maximum length of a shown value."""

Path = tuple[str | int, ...]


class KeyChange(NamedTuple):
    """A changed plan key; values are as in YAML, None for a missing key."""

    key: str
    """Dotted key, as `--set` takes it."""
    old: str | None
    new: str | None
    place: str
    """FILE:LINE of the new value, or of the old one if the key is removed; `--set` for an override."""


def changed_keys(old: Source, new: Source, clusters: Mapping[str, str] | None = None) -> list[KeyChange]:
    """Return the changed keys of two plans; `clusters` maps old cluster names to new ones."""
    changes = []
    for was_at, at, was, became in _plans(_open(old.data), _open(new.data), clusters or {}):
        mark = old.key_mark(was_at) if became is _NOTHING else new.key_mark(at)
        changes.append(
            KeyChange(
                key=".".join(map(str, at or was_at)),
                old=None if was is _NOTHING else written(was),
                new=None if became is _NOTHING else written(became),
                place="--set" if mark.file == OVERRIDES else f"{mark.file}:{mark.line}",
            )
        )
    return changes


_NOTHING = object()


def _open(data: Any, quoted: bool = False) -> Any:
    """Return the data of a plan without the seller's costs and margins."""
    if isinstance(data, dict):
        names = {key: str(key).split(".") for key in data}
        secret = {key for key, steps in names.items() if (quoted or len(steps) > 1) and set(SECRET_KEYS) & set(steps)}
        return {key: _open(value, quoted or key == "quote") for key, value in data.items() if key not in secret}
    return [_open(value, quoted) for value in data] if isinstance(data, list) else data


def _plans(was: Any, became: Any, clusters: Mapping[str, str]) -> Iterator[tuple[Path, Path, Any, Any]]:
    """Yield the differences of two plans. A plan's only cluster is compared with its counterpart among several."""
    if CLUSTERS in was and CLUSTERS not in became and "" in clusters.values():
        one = next(name for name, now in clusters.items() if not now)
        yield from ((at, was_at, old, new) for was_at, at, new, old in _plans(became, was, {"": one}))
        return
    entries = became.get(CLUSTERS, []) if CLUSTERS not in was and clusters.get("") else []
    place = next((at for at, each in enumerate(entries) if each.get("name") == clusters[""]), None)
    if place is None:
        yield from _compared((), (), was, became)
        return
    alone, entry = was.get("cluster", {}), entries[place]
    shared = [key for key in entry if key in OF_CLUSTER and key not in became]
    for key in dict.fromkeys((*(each for each in entry if each not in OF_CLUSTER), *alone)):
        yield from _compared(
            ("cluster", key), (CLUSTERS, place, key), alone.get(key, _NOTHING), entry.get(key, _NOTHING)
        )
    for key in shared:
        yield from _compared((key,), (CLUSTERS, place, key), was.get(key, _NOTHING), entry[key])
    for at, each in enumerate(entries):
        if at != place:
            yield (CLUSTERS, at), (CLUSTERS, at), _NOTHING, each
    for key in entry:
        if key in OF_CLUSTER and key not in shared:
            yield (CLUSTERS, place, key), (CLUSTERS, place, key), _NOTHING, entry[key]
    left = {"cluster", CLUSTERS, *shared}
    yield from _compared(
        (), (), *({key: value for key, value in data.items() if key not in left} for data in (was, became))
    )


def _compared(was_at: Path, at: Path, was: Any, became: Any) -> Iterator[tuple[Path, Path, Any, Any]]:
    if isinstance(was, dict) and isinstance(became, dict):
        for key in dict.fromkeys((*became, *was)):
            yield from _compared((*was_at, key), (*at, key), was.get(key, _NOTHING), became.get(key, _NOTHING))
    elif (before := _places(was)) is not None and (after := _places(became)) is not None:
        for tag, place in after.items():
            known = before.pop(tag, None)
            paths = (*was_at, place if known is None else known), (*at, place)
            yield from _compared(*paths, _NOTHING if known is None else was[known], became[place])
        for place in before.values():
            yield (*was_at, place), (), was[place], _NOTHING
    elif was != became and not all(value is _NOTHING or value in ({}, [], None) for value in (was, became)):
        # a mapping that had only the seller's costs is left empty
        yield was_at, at, was, became


def _places(entries: Any) -> dict[str, int] | None:
    """Return the places of mappings by what identifies them; None for anything but a list of such mappings."""
    if not isinstance(entries, list):
        return None
    places = dict[str, int]()
    for place, entry in enumerate(entries):
        named = isinstance(entry, dict) and (key for key in NAMED_BY if entry.get(key) is not None)
        tag = next((f"{key}={entry[key]}" for key in named or ()), "")
        if not tag or tag in places:
            return None
        places[tag] = place
    return places


def written(value: Any) -> str:
    """Return a value as YAML on one line, truncated if it is long."""
    text = _text(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    text = " ".join(str(value).split())
    return text if not isinstance(value, str) or _PLAIN.fullmatch(text) else f"'{text}'"


# numbers ------------------------------------------------------------------------------------------------------------
# Changed numbers of the design, in the order of importance to a reader.

FABRICS = "fabrics"
CLUSTER = "cluster"
UNRANKED = 1000
"""Rank of unimportant numbers, which come last."""


def changed_numbers(old: ComparedResult, new: ComparedResult, names: NewNames) -> list[ComparedRow]:
    """Return the changes in clusters and fabrics that both sides have, by group, in order of importance.

    The key of a row is its path. Its group is `cluster`, `workload`, the name of a fabric after `fabrics.`, `storage`,
    `site`, `operation`; for one of several clusters with the prefix `clusters.NAME.`.
    """
    before = dict(_moved(old, new, names))
    kept = set(new.fabrics) & {names.fabrics.get(name, name) for name in old.fabrics}
    changed = []
    for path in dict.fromkeys((*new.numbers, *before)):
        was_at = before.get(path, "")
        was, became = old.numbers.get(was_at), new.numbers.get(path)
        if was == became and type(was) is type(became):
            continue
        cluster, own = _split(path)
        section, _, key = own.partition(".")
        group = f"{CLUSTERS}.{cluster}.{section}" if cluster else section
        if section == FABRICS:
            fabric, _, key = key.partition(".")
            group = f"{group}.{fabric}"
            if (f"{cluster}.{fabric}" if cluster else fabric) not in kept:
                continue
        if cluster and cluster not in names.clusters.values():
            continue
        # a sum over clusters stands at the path that a plan with one cluster uses for its own number
        if was is None and bool(new.clusters) != bool(old.clusters) and not cluster and path not in old.numbers:
            continue
        if not (was or became) or difference(was, became) == 0:
            continue  # 0 instead of none, or a number that is written differently, such as 1.0
        row = row_at(tuple(path.split(".")))
        unit = new.units.get(path) or old.units.get(was_at) or (row.unit if row else "")
        label = (row and row.title) or key.replace("_", " ").replace(".", ", ")
        cells = Cell(was, unit, estimate=old.ends(was_at)), Cell(became, unit, estimate=new.ends(path))
        changed.append(ComparedRow(path, group, label, cells, unit, rank=(row and row.rank) or None))
    groups = {group: place for place, group in enumerate(dict.fromkeys(_groups(old, new)))}
    return sorted(changed, key=lambda row: (groups.get(row.group, len(groups)), row.rank or UNRANKED))


def describe_fabric(side: ComparedResult, fabric: str, language: Language) -> str:
    """Return a short description of a fabric that was added or removed."""
    base, get, word = side.fabric_path(fabric), side.numbers.get, language.word
    tiers = ((tier, get(f"{base}.switches.{tier}")) for tier in ("leaf", "spine", "core"))
    counts = [f"{count} {language.value(tier, 'word')}" for tier, count in tiers if count]
    links = (value for path, value in side.numbers.items() if path.startswith(f"{base}.links."))
    topology = get(f"{base}.topology")
    return word(
        "diff-fabric",
        topology=word("diff-a-fabric") if topology is None else language.value(topology, "word"),
        tiers=" + ".join(counts) or word("diff-no-switches"),
        links=sum(value for value in links if type(value) in (int, float)),
    )


def _moved(old: ComparedResult, new: ComparedResult, names: NewNames) -> Iterator[tuple[str, str]]:
    """Yield the path of every old number on the new side, and its old path.

    A single cluster is compared with the sums over all clusters of the other side, and with its counterpart.
    """
    later = []
    for path in old.numbers:
        cluster, own = _split(path)
        if not cluster and (old.clusters or new.clusters):
            if path in new.numbers or (old.clusters and new.clusters):
                later.append((path, path))
            if old.clusters:
                continue
        if cluster not in names.clusters:
            continue
        now = names.clusters[cluster]
        section, _, rest = own.partition(".")
        name, dot, key = rest.partition(".")
        became = names.fabrics.get(f"{cluster}.{name}" if cluster else name)
        if section == FABRICS and became is not None:
            own = f"{FABRICS}.{became.removeprefix(f'{now}.') if now else became}{dot}{key}"
        yield f"{CLUSTERS}.{now}.{own}" if now else own, path
    yield from later


def _split(path: str) -> tuple[str, str]:
    if not path.startswith(f"{CLUSTERS}."):
        return ONLY, path
    cluster, _, own = path[len(CLUSTERS) + 1 :].partition(".")
    return cluster, own


def _groups(old: ComparedResult, new: ComparedResult) -> Iterator[str]:
    for cluster in (ONLY, *new.clusters):
        before = f"{CLUSTERS}.{cluster}." if cluster else ""
        yield from (f"{before}{group}" for group in (CLUSTER, "workload"))
        fabrics = (*new.fabrics, *old.fabrics)
        yield from (f"{before}{FABRICS}.{name.rpartition('.')[2]}" for name in fabrics if cluster_of(name) == cluster)
        yield from (f"{before}{group}" for group in ("storage", "site", "operation"))
