"""What was changed in a plan, key by key, in the plan's own words. What the seller pays is nobody's business here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.provenance import Mark
from bomgen.plan.clusters import BESIDE as OF_CLUSTER
from bomgen.plan.clusters import KEY as CLUSTERS

if TYPE_CHECKING:
    from bomgen.core.yaml_source import Source

KEPT_BACK = "cost_book"
"""The key of the seller's own costs. It and what stands at it are compared nowhere and shown nowhere."""
NAMED_BY = ("name", "kind", "model")
"""Keys that tell the mappings of a list apart."""
_PLAIN = re.compile(r"[A-Za-z0-9_./%+-][A-Za-z0-9_./%+ -]*")
_WIDTH = 100
"""Characters of a value that are shown; the rest of a long one says nothing more."""
ABSENT = None
"""What is shown of a key that is not there."""

Path = tuple[str | int, ...]


class KeyChange(NamedTuple):
    """A key of the plan that is not what it was; values are as YAML has them, None where there is no key."""

    key: str
    """Dotted, as `--set` takes it."""
    old: str | None
    new: str | None
    place: str
    """FILE:LINE of the new value, of the old one where the key is gone; `--set` where it was given there."""


def changed_keys(old: Source, new: Source, clusters: Mapping[str, str] | None = None) -> list[KeyChange]:
    """What two plans say differently; `clusters` are those of the old one by what the new one calls them."""
    return [
        KeyChange(
            key=".".join(str(step) for step in (at or was_at)),
            old=ABSENT if was is _NOTHING else written(was),
            new=ABSENT if became is _NOTHING else written(became),
            place=_place(old.key_mark(was_at) if became is _NOTHING else new.key_mark(at)),
        )
        for was_at, at, was, became in _plans(_open(old.data), _open(new.data), clusters or {})
    ]


_NOTHING = object()


def _open(data: Any) -> Any:
    """The data of a plan without the seller's costs."""
    if isinstance(data, dict):
        return {key: _open(value) for key, value in data.items() if KEPT_BACK not in str(key).split(".")}
    return [_open(value) for value in data] if isinstance(data, list) else data


def _plans(was: Any, became: Any, clusters: Mapping[str, str]) -> Iterator[tuple[Path, Path, Any, Any]]:
    """What differs between two plans. The cluster of a plan with one is compared with the same one of several."""
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
    """What differs below two values: both paths, both values."""
    if isinstance(was, dict) and isinstance(became, dict):
        for key in dict.fromkeys((*became, *was)):
            yield from _compared((*was_at, key), (*at, key), was.get(key, _NOTHING), became.get(key, _NOTHING))
    elif isinstance(was, list) and isinstance(became, list) and _all_named(was) and _all_named(became):
        before = {_tag(each): place for place, each in enumerate(was)}
        for place, each in enumerate(became):
            known = before.pop(_tag(each), None)
            yield from _compared(
                (*was_at, place if known is None else known),
                (*at, place),
                _NOTHING if known is None else was[known],
                each,
            )
        for place in before.values():
            yield (*was_at, place), (), was[place], _NOTHING
    elif was != became and not _both_empty(was, became):
        yield was_at, at, was, became


def _both_empty(was: Any, became: Any) -> bool:
    """Whether nothing is left on both sides, such as a mapping of which only the seller's costs are left out."""
    return all(value is _NOTHING or value in ({}, [], None) for value in (was, became))


def _tag(each: Any) -> str:
    return next((f"{key}={each[key]}" for key in NAMED_BY if each.get(key) is not None), "")


def _all_named(values: list[Any]) -> bool:
    if not all(isinstance(each, dict) for each in values):
        return False
    tags = [_tag(each) for each in values]
    return "" not in tags and len(set(tags)) == len(tags)


def _place(mark: Mark) -> str:
    from bomgen.core.yaml_source import OVERRIDES

    return "--set" if mark.file == OVERRIDES else f"{mark.file}:{mark.line}"


def written(value: Any) -> str:
    """A value in YAML on one line, cut where it is long."""
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
