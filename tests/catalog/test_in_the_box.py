"""What is in the box of servers and switches: included or not by a source, or not known."""

from __future__ import annotations

import pytest

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import CORDS, RAILS, identity
from bomgen.catalog.parts import Requirement

CATALOG = Catalog()


def cords_of(record: Record) -> Requirement:
    """What a record says of power cords."""
    [need] = [need for need in identity(record).requires if set(need.parts) <= set(CORDS)]
    return need


@pytest.mark.parametrize("kind", ["server", "switch"])
def test_whatever_an_order_requires_is_included_or_not_by_a_source_or_not_known(kind: str) -> None:
    """Each server and switch records cords and rails, but for a whole rack; every statement has a source."""
    for record in CATALOG.all(kind):
        needs = identity(record).requires
        named = {name for need in needs for name in need.parts}
        if record.data.get("unit") == "rack":
            assert all(need.references for need in needs), record.id
        else:
            assert RAILS in named, record.id
            assert cords_of(record), record.id
        for need in needs:
            assert need.included is None or need.references, (record.id, need.parts)


@pytest.mark.parametrize(
    ("server", "cords"),
    [("dgx-h100", 6), ("dgx-h200", 6), ("dgx-b200", 6), ("dgx-b300", 12)],
)
def test_cords_of_dgx_systems_are_in_the_box(server: str, cords: int) -> None:
    """NVIDIA's user guides: locking cords, one for each power supply."""
    need = cords_of(CATALOG.find("server", server))
    assert need.quantity is not None
    assert (need.parts, need.quantity.value, need.included) == (("cord-c20",), cords, True)


@pytest.mark.parametrize(
    ("part", "included"),
    [("sn4700", True), ("7060x6-64pe", True), ("cisco-n9364e-sg2", False), ("qm9700", None), ("sn2201", None)],
)
def test_cords_of_switches(part: str, included: bool | None) -> None:
    """Package contents of the SN4700, accessory kits of Arista, order lines of Cisco; nothing is known of others."""
    assert cords_of(CATALOG.find("switch", part)).included is included
