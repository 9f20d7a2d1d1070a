"""Writes docs/compute-defaults.md: `compute: default` for every accelerator of the catalogue, by size.

`python tests/reference/compute_defaults.py` writes the page anew; a test holds it to what it would write.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import bomgen
from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Assumed

PAGE = Path(__file__).parents[2] / "docs" / "compute-defaults.md"
SERVERS, RACKS = (1, 2, 8, 128), (1, 2, 8)
HEAD = """# Default compute fabrics

What `compute: default`, or a compute fabric without `switch:`, builds for every accelerator of the catalogue with its
default server: switches by tier (leaf + spine + core) and topology. Rates are those of a link; links of two planes have
half the rate of a port. One server needs no compute fabric. A confidence of low means that no vendor publishes a
design: confirm it before it is quoted. This page is written by `make docs`.

| accelerator | size | compute fabric | rate | default | confidence, first source |
|---|--:|---|--:|---|---|
"""


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
    assert chosen is not None
    assert isinstance(chosen.origin, Assumed)
    tiers = " + ".join(str(tier.count.value) for tier in built.fabric.tiers)
    return Choice(
        gpu,
        said,
        f"{tiers} {built.fabric.tiers[0].switch.identity.name}, {built.fabric.topology}",
        int(built.fabric.links[0].rate_gbps.value),
        int(attached.port_gbps.value * built.plan.planes.value),
        not built.kinds_without_part,
        "",
        "",
        str(chosen.value),
        ", ".join((chosen.origin.confidence, *(str(source.title) for source in chosen.origin.references[:1]))),
    )


def page() -> str:
    """The whole page."""
    rows = []
    for choice in choices():
        if choice.refusal:
            cells = (choice.gpu, choice.size, f"refused: {choice.refusal}", "", "", "")
        elif choice.rate is None:
            cells = (choice.gpu, choice.size, "none", "", "", "")
        else:
            rate = f"{choice.rate}G"
            cells = (choice.gpu, choice.size, choice.switches, rate, f"`{choice.default}`", choice.source)
        rows.append(f"| {' | '.join(cells)} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
