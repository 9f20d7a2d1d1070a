"""Writes docs/evidence/compute-defaults.csv: `compute: default` for every accelerator of the catalogue, by size.

`python tests/reference/compute_defaults.py` writes it anew; a test holds it to what it would write.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import bomgen
from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Assumed

CSV = Path(__file__).parents[2] / "docs" / "evidence" / "compute-defaults.csv"
SERVERS, RACKS = (1, 2, 8, 128), (1, 2, 8)
HEAD = ("accelerator", "size", "compute fabric", "rate", "default", "confidence, first source")


class Choice(NamedTuple):
    """What became of `compute: default`."""

    gpu: str
    size: str
    switches: str
    """Switches by tier, and the topology; empty for none or a refusal."""
    rate: int | None
    """Rate of a link [Gb/s]."""
    port: int | None
    """Rate of a port of the servers, over all planes [Gb/s]."""
    known: bool
    """Whether parts are known for every link."""
    refusal: str
    rule: str
    default: str
    source: str


@cache
def choices() -> tuple[Choice, ...]:
    """The choice for every accelerator and size."""
    return tuple(_choices())


def _choices() -> Iterator[Choice]:
    catalog = Catalog()
    for record in catalog.all("gpu"):
        server = catalog.default_server(record.id)
        racks = bool(server and server.value("trays"))
        for size in RACKS if racks else SERVERS:
            yield _choice(record.id, "racks" if racks else "servers", size)


def _choice(gpu: str, key: str, size: int) -> Choice:
    plan: dict[str, Any] = {"bomgen": 1, "name": "defaults", "cluster": {"gpu": gpu, key: size}}
    plan["fabrics"] = {"compute": "default"}
    said = f"{size} {key if size > 1 else key.removesuffix('s')}"
    try:
        design = bomgen.build(plan)._report.design
    except bomgen.PlanErrors as errors:
        problem = errors.problems[0]
        return Choice(gpu, said, "", None, None, True, problem.message, problem.rule, "", "")
    if not design.fabrics:
        return Choice(gpu, said, "", None, None, True, "", "", "", "")
    [built] = design.fabrics
    attached, chosen = built.attachment, built.plan.switch_by_default
    assert attached is not None
    cited = chosen.origin if chosen else built.plan.links[built.fabric.links[0].kind].length_m.origin
    assert isinstance(cited, Assumed)
    tiers = " + ".join(str(tier.count.value) for tier in built.fabric.tiers)
    model = f"{tiers} {built.fabric.tiers[0].switch.identity.name}, " if tiers else ""
    return Choice(
        gpu,
        said,
        f"{model}{built.fabric.topology}",
        int(built.fabric.links[0].rate_gbps.value),
        int(attached.port_gbps.value * built.plan.planes.value),
        not built.kinds_without_part,
        "",
        "",
        str(chosen.value) if chosen else "none",
        ", ".join((cited.confidence, *(str(source.title) for source in cited.references[:1]))),
    )


def as_csv() -> str:
    """Return the whole file."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([HEAD, *map(_row, choices())])
    return file.getvalue()


def _row(choice: Choice) -> tuple[str, ...]:
    if choice.refusal or choice.rate is None:
        return (choice.gpu, choice.size, f"refused: {choice.refusal}" if choice.refusal else "none", "", "", "")
    return (choice.gpu, choice.size, choice.switches, f"{choice.rate}G", choice.default, choice.source)


if __name__ == "__main__":
    CSV.write_text(as_csv(), encoding="utf-8")
