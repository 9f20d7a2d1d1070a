"""Laws of complete orders: what a link uses is bought, comes with a machine, or exists; alternatives add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bomgen.catalog.files import Catalog
from bomgen.core.language import language
from bomgen.documents.customer_quote import customer_quote
from bomgen.documents.tables import Writer
from bomgen.plan.types import OUT_OF_BAND
from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]
SERVERS = {
    "dgx-h100": "qm9700",
    "dell-xe9680-h200": "sn5600",
    "smc-sys-821ge-tnhr-h200": "sn5600",
    "hpe-xd685-b300": "sn5600",
    "hgx-h100-8-generic": "qm9700",
    "smc-as-a126gs-tnmr": "7060x6-64pe",
}
PARTS = ("server", "switch", "transceiver", "cable", "nic", "rack", "pdu")


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Clusters of configured and complete servers, with what the customer has and a scope."""
    server = draw(st.sampled_from(sorted(SERVERS)))
    servers, switch = draw(st.integers(1, 40)), SERVERS[server]
    plan: dict[str, Any] = {
        "bomgen": 1,
        "name": "law",
        "cluster": {"server": server, "servers": servers},
        "fabrics": {"compute": {"topology": draw(st.sampled_from(("fat-tree", "rail-optimized"))), "switch": switch}},
    }
    for name in ("storage", "in_band", "out_of_band"):
        if draw(st.booleans()):
            plan["fabrics"][name] = "default"
    if draw(st.booleans()):
        plan["site"] = {"rack": {"power": "80 kW"}}
    if draw(st.booleans()):
        plan["existing"] = {server: draw(st.integers(1, 50)), switch: draw(st.integers(1, 9))}
    if draw(st.booleans()):
        plan["scope"] = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True))
    return plan


def pieces(lines: Any, category: str) -> int:
    """The installed pieces of a category."""
    return sum(int(line.quantity.value) for line in lines if line.category == category)


@given(plan=plans())
def test_each_nic_is_bought_or_comes_with_its_server(worked: Worked, plan: dict[str, Any]) -> None:
    """A NIC that connects a server is a line, the server comes with it, or it exists; none connects nothing."""
    report = worked(plan)
    if "scope" in plan:
        return
    server, servers = report.plan.cluster.server, report.design.sizing.servers
    assert server is not None
    assert servers is not None
    bought = Counter[str]()
    for built in report.design.fabrics:
        attached = built.attachment
        assert attached is not None
        if built.plan.role == OUT_OF_BAND:
            continue
        own = server.nics_included if built.plan.role == "compute" else server.storage_nics_included
        if attached.bought is None:
            assert own
            continue
        bought[attached.bought.identity.id] += int(servers.value) * int(attached.nics_per_server.value)
    billed = Counter[str]()
    for line in (*report.bill.lines, *report.bill.existing):
        if line.category == "nic":
            billed[str(line.part)] += int(line.quantity.value)
    assert billed == +bought


@given(plan=plans())
def test_what_exists_is_not_offered(worked: Worked, plan: dict[str, Any]) -> None:
    """Bought and existing pieces are those of the design; existing ones are no more than the customer has."""
    report, whole = worked(plan), worked({key: plan[key] for key in plan if key not in ("existing", "scope")})
    scope = plan.get("scope")
    for category in ("server", "switch", "transceiver", "cable", "nic"):
        held = pieces(report.bill.existing, category)
        offered = pieces(report.bill.lines, category)
        if scope is None or category in scope:
            assert offered + held == pieces(whole.bill.lines, category), category
        else:
            assert offered == 0, category
    for name, count in plan.get("existing", {}).items():
        assert sum(int(line.quantity.value) for line in report.bill.existing if line.part == name) <= count


@given(plan=plans(), ratio=st.sampled_from((1, 2, 4)), spare=st.integers(1, 3))
def test_what_an_alternative_changes_adds_up(worked: Worked, plan: dict[str, Any], ratio: int, spare: int) -> None:
    """The changes of an alternative are the difference of its bill: in pieces, and in amounts where these are known."""
    settings = {"fabrics.compute.oversubscription": ratio, "spares": {"transceiver": spare, "cable": 2}}
    quoted = {"price_book": "indicative", "alternatives": [{"name": "other", "set": settings}]}
    exchange = {currency: {"rate": rate, "date": "2026-11-01"} for currency, rate in (("GBP", 1.3), ("EUR", 1.1))}
    report = worked(plan | {"quote": quoted | {"exchange": exchange}})
    (other,) = report.alternatives
    [section] = customer_quote(Writer(report, language("en"))).alternatives
    changes = [row for table in section.tables[1:] for row in table.rows]
    moved: dict[str, Decimal] = {row.id or "": row.cells[-1].value for row in changes if row.id}
    parts = [[cell.value for cell in row.cells] for row in changes if not row.id]
    before, after = (sum(line.pieces for line in each.bill.lines) for each in (report, other))
    assert sum(becomes - was for _, _, was, becomes, _ in parts) == after - before
    totals = [each.quote.totals for each in (report, other)]
    if all(total.complete for total in totals):
        assert (
            moved.get("total", Decimal(0)) == totals[1].list - totals[1].discount - totals[0].list + totals[0].discount
        )


@given(plan=plans())
def test_each_required_part_is_a_line_an_open_item_or_exists(worked: Worked, plan: dict[str, Any]) -> None:
    """What the parts of an order require is bought, still to be selected, or in use already."""
    report = worked(plan)
    catalog = Catalog()
    bought = {line.identity.id for line in report.bill.lines if line.identity}
    open_items = {part.id for item in report.bill.open_items for part in item.parts}
    existing = {line.identity.id for line in report.bill.existing if line.identity}
    for line in report.bill.lines:
        for need in line.identity.requires if line.identity else ():
            named = {catalog.find_part(name).id for name in need.parts}
            assert named & (bought | open_items | existing), (line.id, need.parts)
