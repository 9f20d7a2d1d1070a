"""Several clusters of GPUs in one plan: the entries of `clusters`, each as a separate plan.

A cluster has its workload, fabrics and storage; site, spares, stock, quote and catalogue belong to the whole plan.

Values keep their marks. Sizing, fabrics and racks are calculated for the plan of each cluster. The bill covers all
designs together, because spares, stock, price breaks and charges are counted over pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure, Mark, sum_of
from bomgen.core.yaml_source import Path, Source, merged

KEY = "clusters"
BESIDE = ("workload", "fabrics", "storage", "site")
"""The keys of an entry besides those of `cluster`."""
COUNTED = (("racks",), ("management", "racks"), ("servers_per_rack",), ("feeds",), ("layout",))
"""Keys of a site that count or place machines: the whole plan cannot set them for each cluster."""


over_clusters = sum_of("over_clusters", "<amount>", "amount", "more_amount")
"""Sum over the clusters of a plan."""


def together(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the sum over clusters of the known figures; None where no cluster has one."""
    known_figures = [figure for figure in figures if figure]
    return reduce(over_clusters, known_figures) if known_figures else None


def split(source: Source) -> list[tuple[str, Source]]:
    """Return the clusters of a plan, each with its name; a plan with one `cluster` is a single cluster without a name.

    The source must have passed the plan's schema. Raises PlanErrors for keys missing in the clusters, and for two
    clusters with the same name.
    """
    if KEY not in source.data:
        return [("", source)]
    if problems := list(_slips(source)):
        raise PlanErrors(sorted(problems, key=lambda problem: problem.mark))
    common = {key: value for key, value in source.data.items() if key != KEY}
    under = source._replace(data=common)
    return [
        (entry["name"], merged(under, _pool(source, at))._replace(files=source.files))
        for at, entry in enumerate(source.data[KEY])
    ]


def _slips(source: Source) -> Iterator[Problem]:
    for key in ("cluster", "workload", "fabrics", "storage"):
        if key in source.data:
            message = f"`{key}` cannot be combined with `{KEY}`; move it into each of them"
            yield Problem(source.key_mark((key,)), "error", message, KEY, key)
    site = source.data.get("site") or {}
    for path in COUNTED:
        holder: Any = site
        for step in path[:-1]:
            holder = holder.get(step) or {}
        if path[-1] in holder:
            message = f"site.{'.'.join(path)} must be set per cluster with `{KEY}`; move it to the `site:` of each"
            yield Problem(source.key_mark(("site", *path)), "error", message, KEY, f"site.{'.'.join(path)}")
    first: dict[str, int] = {}
    for at, entry in enumerate(source.data[KEY]):
        name = entry["name"]
        if name in first:
            message = f"a second cluster '{name}', the first is in line {first[name]}; give it another name"
            yield Problem(source.mark((KEY, at, "name")), "error", message, KEY, KEY)
        first.setdefault(name, source.mark((KEY, at, "name")).line)


def _pool(source: Source, at: int) -> Source:
    """Return an entry of the list as a plan of its own, with its marks."""
    entry, base = source.data[KEY][at], (KEY, at)
    cluster = {key: value for key, value in entry.items() if key != "name" and key not in BESIDE}
    data = {"cluster": cluster} | {key: entry[key] for key in BESIDE if key in entry}
    entry_mark = source.mark(base)
    keys: dict[Path, Mark] = {("cluster",): entry_mark}
    values: dict[Path, Mark] = {(): entry_mark, ("cluster",): entry_mark}
    for marks, moved in ((source.keys, keys), (source.values, values)):
        for path, mark in marks.items():
            if path[:2] == base and len(path) > len(base):
                key = path[2:]
                moved[key if key[0] in BESIDE else ("cluster", *key)] = mark
    return Source(source.file, "", data, keys, values)
