"""Generic modules that stand for a whole cage of several links, and the fibres that lead these apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from fabrics_by_hand import FABRICS, figure

from bomgen.catalog.parts import Cable, Identity, Module
from bomgen.fabric.types import Fitted
from bomgen.optics.cages import (
    UNKNOWN,
    CagePlug,
    LeafShares,
    Socket,
    TooFewCages,
    count_cables,
    count_pieces,
    parallel_links,
)
from bomgen.optics.compatibility import Medium
from bomgen.optics.uses import missing_fibre_message, same_parts

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(links: Mapping[str, Any], servers: int = 128, **fabric: Any) -> dict[str, Any]:
    """Servers with a NIC of 200G each on QM9700, whose cages then carry four links."""
    server = {"name": "server", "gpus": 1, "nics": 1, "port_gbps": 200}
    cluster = {"gpu": "a100-pcie-80", "servers": servers, "server": server}
    fabrics = {"compute": {"switch": "qm9700", "links": links, **fabric}}
    return {"bomgen": 1, "name": "fan-out", "cluster": cluster, "fabrics": fabrics}


def ends(lower: str, upper: str) -> dict[str, Any]:
    """Modules at the two ends of the links to the servers."""
    return {"server-leaf": {"medium": "transceiver", "module": {"server": lower, "leaf": upper}}}


def test_links_of_a_generic_module_are_derived(built: Built) -> None:
    """A generic module of 800G carries four links of 200G because of its rate, not because its file says so."""
    derivations = built(plan(ends("generic-200g", "generic-800g")))["derivations"].values()
    found = [each for each in derivations if each["formula"] == "module_gbps // link_gbps"]
    assert [each["value"] for each in found] == [4]
    assert {name: each["value"] for name, each in found[0]["inputs"].items()} == {"module_gbps": 800, "link_gbps": 200}


def test_a_module_of_four_links_has_one_fan_out(built: Built) -> None:
    """Four links of one module leave it in one cable; the warning counts one a cage."""
    bom = built(plan(ends("generic-200g", "generic-800g"), servers=126))
    compute = bom["fabrics"]["compute"]
    assert compute["transceivers"]["leaf"] == 32
    assert compute["cables"]["server-leaf"] == {"generic-mpo-om4-x4": 32}
    said = [check["message"] for check in bom["checks"] if check["id"] == "generic"]
    assert any("generic-800g is a placeholder, counted once per cage" in message for message in said)
    assert any("generic-200g is a placeholder, counted once per port" in message for message in said)


def test_two_links_of_a_module_have_a_trunk_each(built: Built) -> None:
    """A twin-port module has a receptacle a link, so that trunks are plugged as ever."""
    server = {"name": "server", "gpus": 1, "nics": 1, "port_gbps": 400}
    given = plan(ends("generic-400g", "generic-800g"))
    given["cluster"]["server"] = server
    given["fabrics"]["compute"]["links"]["leaf-spine"] = {"medium": "transceiver", "module": "generic-800g"}
    compute = built(given)["fabrics"]["compute"]
    assert sum(compute["cables"]["server-leaf"].values()) == compute["links"]["server-leaf"] == 128


def test_modules_of_four_links_at_both_ends_are_joined_over_a_panel(built: Built) -> None:
    """No cable joins two modules of four links each whose links go to different switches: no part is made up."""
    links = ends("generic-200g", "generic-800g") | {"leaf-spine": {"medium": "transceiver", "module": "generic-800g"}}
    bom = built(plan(links, servers=1024))
    compute = bom["fabrics"]["compute"]
    assert compute["cables"]["leaf-spine"] == {"unknown": compute["links"]["leaf-spine"]}
    assert any("over a panel" in check["message"] for check in bom["checks"] if check["id"] == "no-part-known")


def test_eight_links_of_a_module_leave_it_in_one_cable(built: Built) -> None:
    """A fan-out has as many legs as its module has links."""
    switch = {"ports": 64, "port_gbps": 1600, "split": 8, "cage": "osfp"}
    bom = built(plan(ends("generic-200g", "generic-1600g"), switch=switch))
    assert bom["fabrics"]["compute"]["cables"]["server-leaf"] == {"generic-mpo-om4-x8": 16}


def test_no_fan_out_is_made_up(built: Built) -> None:
    """Where the catalogue has no fan-out of that length, the line says so."""
    links = ends("generic-200g", "generic-800g")
    links["server-leaf"]["length"] = "200 m"
    bom = built(plan(links))
    assert bom["fabrics"]["compute"]["cables"]["server-leaf"] == {"unknown": 128}
    assert any("needs a fan-out cable" in check["message"] for check in bom["checks"])


def test_groups_of_links_begin_a_cage_each_and_unknown_ones_fill_up() -> None:
    """Another module takes the next cage, links without a known part come last and share the cage that is begun."""
    sockets = tuple(Socket(port // 2, port % 2) for port in range(20))
    plugs = (*(CagePlug(part, 2) for part in "abcd"), UNKNOWN)
    shares = LeafShares(plugs, (1, 2, 3, 4), sockets, closed=20, down=len(sockets))
    assert shares.first_ports((5, 2, 2, 1, 4)) == [0, 6, 8, 10, 11]
    assert shares._replace(plugs=(plugs[0], UNKNOWN)).first_ports((5, 5)) == [0, 5]
    assert shares._replace(plugs=(plugs[0], plugs[0])).first_ports((5, 5)) == [0, 5]
    with pytest.raises(TooFewCages):
        shares.first_ports((5, 2, 2, 1, 10))


def test_cables_of_several_links_are_not_shared() -> None:
    """A splitter of one group leads to its machines alone: the next group begins the next cage."""
    sockets = tuple(Socket(port // 4, port % 4) for port in range(16))
    split = CagePlug("a", 4, links_of_cable=2)
    assert LeafShares((split, split), (1,), sockets, closed=16, down=len(sockets)).first_ports((3, 3)) == [0, 4]
    assert count_cables(split, sockets[:3]) == 2
    assert count_pieces(split, sockets[:5]) == 2


def test_cages_that_hold_links_up_take_nothing_else() -> None:
    """Behind `closed` there is room for what the servers have, and for no other part."""
    sockets = tuple(Socket(port // 2, port % 2) for port in range(5))
    shares = LeafShares((CagePlug("a", 2), CagePlug("b", 2)), (1,), sockets, closed=4, down=len(sockets))
    assert shares.first_ports((5, 0)) == [0, 0]
    assert shares.first_ports((2, 2)) == [0, 2]
    with pytest.raises(TooFewCages):
        shares.first_ports((3, 1))


@pytest.mark.parametrize(("links", "said"), [(1, "a known fibre"), (2, "a known fibre"), (4, "over a panel")])
def test_modules_that_no_fibre_joins(links: int, said: str) -> None:
    """A module of two links has a receptacle for each: only more leave it in one cable."""
    identity = Identity("module", "m", "M")
    module = Module(
        identity, figure(400 * links), figure(links), "osfp", "dr4", "single-mode", "mpo", None, ("ethernet",), None
    )
    between = FABRICS["two tiers"].links[-1]
    assert said in missing_fibre_message(between, Medium(module, module, None, Fraction(30)), receptacles=2)


def test_the_same_modules_with_other_fibres_are_not_the_same_parts() -> None:
    """What a medium is made of is its modules and its cable."""
    rest: Any = (None, figure(1), None, None, (), "multimode", "mpo", (), {})
    fibres = (Cable(Identity("cable", id, id), "fibre", *rest) for id in ("one", "other"))
    with_fibre, with_other = (Medium(None, None, fibre, Fraction(3)) for fibre in fibres)
    assert same_parts(with_fibre, with_fibre)
    assert not same_parts(with_fibre, with_other)


@pytest.mark.parametrize(("ups", "together"), [((4, 4), 2), ((4, 2), 1), ((4, 3), 1), ((8, 4), 2)])
def test_links_that_surely_run_between_the_same_two(ups: tuple[int, int], together: int) -> None:
    """Leaves with so many links up to two spines: of uneven ones nothing is sure."""
    fabric = FABRICS["few"]
    leaf, spine = fabric.tiers
    fitted = tuple(Fitted(figure(1), figure(30), figure(up)) for up in ups)
    partly = fabric._replace(tiers=(replace(leaf, fitted=fitted), spine))
    assert parallel_links(partly, fabric.links[-1]) == together
