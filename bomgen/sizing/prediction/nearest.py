"""The measured steps nearest to a run: what a reader may hold against its prediction."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import NamedTuple

from bomgen.sizing.prediction.rows import facts, family, generation, numbered_rows

NEAREST = 5
OTHER_GENERATION = 3.0
OTHER_KIND = 4.0
OTHER_PRECISION = 1.5
"""How far apart rows of another generation, kind of model or precision are, in doublings of what is compared."""
COMPARED = ("gpus", "layers", "hidden", "seq", "tp", "pp")


class Nearest(NamedTuple):
    """A measured step near a run."""

    fields: Mapping[str, str]
    distance: float
    """Doublings between the row and the run, over all that is compared."""


def nearest_steps(born: str | None, precision: str, moe: bool, compared: Mapping[str, float]) -> list[Nearest]:
    """The nearest rows, each model, cluster and split once; `compared` gives a number for each of `COMPARED`."""
    found: dict[tuple[str, ...], Nearest] = {}
    for _, fields in numbered_rows():
        cluster = facts()["clusters"].get(fields["cluster"])
        if cluster is None or not fields["iter_s"] or not all(fields[name] for name in COMPARED):
            continue
        distance = sum(abs(log2(float(fields[name]) / compared[name])) for name in COMPARED)
        distance += OTHER_GENERATION * (generation(cluster["gpu"]) != born)
        distance += OTHER_PRECISION * (family(fields["precision"]) != precision)
        distance += OTHER_KIND * ((fields["moe"] == "1") != moe)
        key = (fields["cluster"], fields["model"])
        if key not in found or distance < found[key].distance:
            found[key] = Nearest(fields, distance)
    return sorted(found.values(), key=lambda each: each.distance)[:NEAREST]
