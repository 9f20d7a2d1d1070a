"""Which clusters and fabrics of two results are the same: a plan may have one cluster without a name, or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.report.diff.side import Side

ONLY = ""
"""What the cluster is called here of a result that has one."""


class Names(NamedTuple):
    """What the new side calls what the old one has."""

    clusters: Mapping[str, str]
    """Of the old side, by name; those that are gone are not there."""
    fabrics: Mapping[str, str]
    """Fabrics of the old side that are called otherwise, with the name of their cluster before a dot."""
    renamed: Mapping[str, str]
    """Those of them whose own name is another, not only that of their cluster."""


def names(old: Side, new: Side) -> Names:
    """What is the same on both sides."""
    clusters = _clusters(old, new)
    moved = {name: _fabric_in(name, clusters) for name in old.fabrics}
    fresh = [name for name in new.fabrics if name not in moved.values()]
    kinds = {
        name: (cluster_of(now), old.fabrics[name]) for name, now in moved.items() if now and now not in new.fabrics
    }
    renamed = {}
    for name, kind in kinds.items():
        taken = [other for other in fresh if (cluster_of(other), new.fabrics[other]) == kind]
        if len(taken) == 1 == list(kinds.values()).count(kind):
            renamed[name] = taken[0]
    known = {name: now for name, now in moved.items() if now in new.fabrics and now != name}
    return Names(clusters, {**{name: now for name, now in known.items() if now}, **renamed}, renamed)


def own_names(names: Names, cluster: str) -> dict[str, str]:
    """Fabrics of one cluster of the old side that are called otherwise, without the name of their cluster."""
    found = ((old.rpartition("."), new.rpartition(".")) for old, new in names.fabrics.items())
    return {old[-1]: new[-1] for old, new in found if old[0] == cluster and old[-1] != new[-1]}


def cluster_of(fabric: str) -> str:
    """The cluster that a fabric is in, by its name."""
    return fabric.rpartition(".")[0]


def cluster_prefix(side: Side, cluster: str) -> str:
    """What the paths of numbers of a cluster begin with."""
    return f"{CLUSTERS}.{cluster}." if side.clusters else ""


def described_cluster(side: Side, cluster: str) -> str:
    """A cluster in a few words."""
    get, base = side.numbers.get, f"{cluster_prefix(side, cluster)}cluster"
    gpus = f"{get(f'{base}.gpus', 0)} x {get(f'{base}.gpu', 'GPU')}"
    servers = get(f"{base}.servers")
    return f"{gpus} in {servers} x {get(f'{base}.server', 'server')}" if servers else gpus


def _fabric_in(name: str, clusters: Mapping[str, str]) -> str | None:
    """What a fabric is called where its cluster is; None where that is gone."""
    cluster, _, own = name.rpartition(".")
    if cluster not in clusters:
        return name if clusters == {ONLY: ONLY} else None
    now = clusters[cluster]
    return f"{now}.{own}" if now else own


def _clusters(old: Side, new: Side) -> dict[str, str]:
    before, after = old.clusters or (ONLY,), new.clusters or (ONLY,)
    found = {name: name for name in before if name in after}
    gone = [name for name in before if name not in found]
    fresh = [name for name in after if name not in found]
    for name in gone:
        alike = [other for other in fresh if _machines(old, name) == _machines(new, other)]
        alike.sort(key=lambda other: abs(_size(new, other) - _size(old, name)))
        if ONLY not in (*gone, *fresh) and not len(gone) == 1 == len(fresh):
            alike = []
        if alike:
            found[name] = alike[0]
            fresh.remove(alike[0])
    return found


def _machines(side: Side, cluster: str) -> tuple[object, ...]:
    base = f"{cluster_prefix(side, cluster)}cluster"
    return tuple(side.numbers.get(f"{base}.{key}") for key in ("gpu", "server"))


def _size(side: Side, cluster: str) -> float:
    """How many GPUs a cluster has; none where that is not known."""
    found = side.numbers.get(f"{cluster_prefix(side, cluster)}cluster.gpus")
    return found if type(found) is int else 0
