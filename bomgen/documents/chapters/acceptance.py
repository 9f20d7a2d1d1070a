"""The chapter for handing a cluster over: the software of its machines to agree on, and tests with their targets.

Targets are numbers of the design: what was promised is what is measured. A number is never a target of its own here.
"""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.catalog.descriptions import INFINIBAND
from bomgen.catalog.files import built_in_assumption
from bomgen.core.document import Cell, Column, Path, Row, Section, Table, row_of
from bomgen.core.provenance import Figure
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.writer import Writer
from bomgen.fabric.types import SERVER_LEAF
from bomgen.results.what_if import losses

MACHINES: tuple[Path, ...] = (("cluster", "servers"), ("cluster", "gpus"))
BURNED_IN: tuple[Path, ...] = (
    ("site", "compute_rack_power_w"),
    ("site", "power_w"),
)
ONE_FEED_LESS: tuple[Path, ...] = (("site", "feed_power_w"),)
STORED: tuple[Path, ...] = (
    ("storage", "delivered_read_bytes_per_second"),
    ("storage", "delivered_write_bytes_per_second"),
)
RUN: tuple[Path, ...] = (
    ("workload", "mfu"),
    ("workload", "tokens_per_second"),
    ("workload", "requests_per_minute"),
    ("workload", "latency", "ttft_seconds"),
    ("workload", "latency", "decode_seconds_per_token"),
)
OF_CLUSTER = {"machines": MACHINES, "burn-in": BURNED_IN, "feed": ONE_FEED_LESS, "storage": STORED, "workload": RUN}
"""Numbers that are measured, by the test that measures them."""
OF_FABRIC = (
    ("all-reduce", ("per_gpu", "network_gbps")),
    ("bisection", ("bisection_gbps",)),
    ("oversubscription", ("oversubscription", "leaf")),
)
LOSSES = {"leaf-endpoints": "leaf", "leaf-server": "leaf", "spine-share": "spine"}
"""The switch that a test turns off, by the name of what its loss costs."""


def acceptance(writer: Writer) -> Section | None:
    """Return the chapter with the software of the machines and the tests; None without servers and switches."""
    fabrics = [built for built in writer.report.design.fabrics if built.fabric.tiers]
    if not fabrics or not writer.report.plan.cluster.server:
        return None
    word = writer.word
    columns = (
        Column("test", word("column-test"), "text", 44, main=True),
        Column("value", word("column-target"), "number", 20, main=True),
        Column("how", word("column-measured-by"), "text", 60, main=True, code=True),
        Column("measured", word("column-measured"), "text", 16),
    )
    tests = Table("acceptance", word("table-acceptance"), columns, tuple(_tests(writer, fabrics)))
    text = (word("acceptance-lead"),)
    return Section("acceptance", word("section-acceptance"), text, (_software(writer, fabrics), tests))


def _tests(writer: Writer, fabrics: list[BuiltFabric]) -> Iterator[Row]:
    of_cluster = ((test, path) for test, paths in OF_CLUSTER.items() for path in paths if path in writer.numbers)
    rows = [_row(writer, writer.label(path), writer.key_figure(path), test) for test, path in of_cluster]
    yield from rows[: len(MACHINES)]
    for built in fabrics:
        yield from _tests_of_fabric(writer, built)
    yield from rows[len(MACHINES) :]


def _tests_of_fabric(writer: Writer, built: BuiltFabric) -> Iterator[Row]:
    name, kind = built.plan.name, _protocol(built)
    reserved = built.plan.reserved_ports
    for links in built.fabric.links:
        # Reserved ports are among the links, and have no cable yet.
        without_cable = int(reserved.value) if reserved and links.kind == SERVER_LEAF.name else 0
        count = Cell(int(links.count.value) - without_cable, "links")
        yield _row(writer, _labelled(writer, built, ("links", links.kind)), count, f"links-{kind}")
    steps: Path = ("link_gbps",)
    yield _row(writer, _labelled(writer, built, steps), writer.cell(("fabrics", name, *steps)), f"rate-{kind}")
    for test, steps in OF_FABRIC:
        path = ("fabrics", name, *steps)
        if path in writer.numbers:
            yield _row(writer, _labelled(writer, built, steps), writer.cell(path), test)
    if kind == INFINIBAND:
        errors = built_in_assumption("acceptance-bit-errors")
        yield _figure(writer, built, "acceptance-bit-errors", errors, "bit-errors")
    for loss, figure in losses(built.fabric):
        if loss in LOSSES:
            yield _figure(writer, built, f"install-{loss}", figure, LOSSES[loss])


def _labelled(writer: Writer, built: BuiltFabric, steps: Path) -> str:
    return writer.joined(writer.fabric_title(built.plan.name), writer.group_label(steps))


def _figure(writer: Writer, built: BuiltFabric, key: str, figure: Figure, test: str) -> Row:
    label = writer.joined(writer.fabric_title(built.plan.name), writer.word(key))
    return _row(writer, label, Cell(writer.held(figure), figure.unit, estimate=figure.bounds), test)


def _row(writer: Writer, label: str, target: Cell, test: str) -> Row:
    return row_of(label, target, writer.word(f"measure-{test}"), "")


def _protocol(built: BuiltFabric) -> str:
    protocols = {tier.switch.protocol for tier in built.fabric.tiers}
    return INFINIBAND if protocols == {INFINIBAND} else "ethernet"


def _software(writer: Writer, fabrics: list[BuiltFabric]) -> Table:
    """Return the table of versions to agree on and to note at delivery, by machine and its software."""
    word, message = writer.word, writer.language.message
    columns = (
        Column("part", word("column-description"), "text", 36, main=True),
        Column("software", word("column-software"), "text", 50, main=True),
        Column("agreed", word("column-agreed"), "text", 18, main=True),
        Column("delivered", word("column-delivered"), "text", 18),
    )
    cluster = writer.report.plan.cluster
    nics = [part for part in (cluster.server_nic, cluster.storage_nic) if part]
    switches = [tier.switch for built in fabrics for tier in built.fabric.tiers]
    named = [("server", message(cluster.server.identity.name))] if cluster.server else []
    named += [("nic", message(part.identity.name)) for part in nics]
    named += [("switch", message(switch.identity.name)) for switch in switches]
    if any(_protocol(built) == INFINIBAND for built in fabrics):
        named.append(("manager", word("software-of-manager")))
    rows = tuple(row_of(name, word(f"software-{kind}"), "", "") for kind, name in dict.fromkeys(named))
    return Table("software", word("table-software"), columns, rows, word("caption-software"))
