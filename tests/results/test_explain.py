"""`bomgen explain`: trees of numbers, lines and totals, and the reasons for what was chosen."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bomgen.catalog.files import Catalog
from bomgen.cli import command
from bomgen.core.language import language
from bomgen.results.explain import INDENTED, Node, NotKnown, explained, explanation_lines, markdown, text, to_data
from bomgen.results.numbers import dotted
from bomgen.results.reasons import Reason, find_reasons
from bomgen.results.result import Report, numbers_of, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

ROOT = Path(__file__).parents[2]
WORDS = language("en")
TREE = {"gpu": "h100-sxm", "servers": 256}


def worked(name: str) -> tuple[PlanFile, Report]:
    """A plan of plans/ and its result."""
    file = open_plan(str(ROOT / "plans" / f"{name}.yaml"), str(ROOT))
    return file, work_out(file)


def planned(folder: Path, **plan: Any) -> tuple[PlanFile, Report]:
    """A plan given as data and its result."""
    content = json.dumps({"bomgen": 1, "name": "a", **plan}).encode()
    file = PlanFile("plan.yaml", content, folder, folder)
    return file, work_out(file)


def why(made: tuple[PlanFile, Report], path: str) -> Reason:
    """The one reason for a subject."""
    found = [each for each in find_reasons(made[1], WORDS, path) if each.subject == path]
    assert len(found) == 1
    return found[0]


def nodes(node: Node) -> list[Node]:
    """A node and all below it."""
    return [node, *(each for below in node.inputs for each in nodes(below))]


@pytest.fixture(scope="module")
def quoted() -> tuple[PlanFile, Report]:
    """A plan with prices, discounts, charges and tax."""
    return worked("llama65b-quote")


def test_every_number_is_explained_once(quoted: tuple[PlanFile, Report]) -> None:
    """Each has a tree of its own, and a derivation that comes up again leads to where it stands."""
    _, report = quoted
    found = explained(report, None, WORDS)
    assert list(found.trees) == [dotted(steps) for steps in numbers_of(report)]
    every = [node for tree in found.trees.values() for node in nodes(tree)]
    again = [node for node in every if node.see is not None]
    assert again
    assert all(node.see in found.trees and not node.inputs for node in again)
    assert all(node.kind != "derived" or node.inputs or node.see is not None or not node.left_out for node in every)


def test_every_leaf_has_a_place_or_a_document_or_says_that_it_has_none(quoted: tuple[PlanFile, Report]) -> None:
    """Given numbers have a place, cited and assumed ones their documents and confidence."""
    found = explained(quoted[1], None, WORDS)
    for node in (each for tree in found.trees.values() for each in nodes(tree)):
        if node.kind == "given":
            assert node.place is not None
        elif node.kind in ("cited", "assumed", "chosen"):
            assert node.confidence in ("high", "medium", "low")
            assert node.documents or "unverified" in node.origin or node.kind == "chosen"
        else:
            assert node.kind == "derived"


@pytest.mark.parametrize("name", ["llama65b-quote", "superpod-b300-xdr-8su", "hpn-like"])
def test_every_line_comes_to_its_amount(name: str) -> None:
    """Quantity, spares, unit price and discount of each line give the amount that bom.json has."""
    _, report = worked(name)
    for line in result(report)["lines"]:
        node = explained(report, line["id"], WORDS).trees[line["id"]]
        assert node.value == line["amount"]
        parts = {each.name: each for each in node.inputs}
        pieces = parts["quantity"].value + (parts["spare"].value if "spare" in parts else 0)
        assert pieces == line["quantity"] + line["spare"]
        assert parts["unit_price"].value == line["unit_price"]
        if line["amount"] is None:
            assert "no price book has a price" in parts["unit_price"].origin
        else:
            left = 1 - Decimal(str(parts["discount"].value if "discount" in parts else 0))
            assert abs(pieces * Decimal(line["unit_price"]) * left - Decimal(line["amount"])) <= Decimal("0.005")


def test_a_price_says_its_book_line_and_date(quoted: tuple[PlanFile, Report]) -> None:
    """The unit price of a switch leads to the line of the price book that it was read in."""
    node = explained(quoted[1], "compute.switch.spine", WORDS).trees["compute.switch.spine"]
    price = next(each for each in node.inputs if each.name == "unit_price")
    assert price.place is not None
    book = (ROOT / "plans" / price.place.file).read_text("utf-8").splitlines()
    assert "qm9700" in book[price.place.line - 1]
    assert any(note.startswith("as of 2026-") for note in price.notes)


def test_totals_add_up(quoted: tuple[PlanFile, Report]) -> None:
    """What is due is the list less discount with tax; the list is the sum of the lines shown below it."""
    found = explained(quoted[1], "totals", WORDS).trees
    assert list(found) == ["totals.list", "totals.discount", "totals.tax", "totals.amount"]
    amounts = {name.partition(".")[2]: Decimal(node.value) for name, node in found.items()}
    assert amounts["amount"] == amounts["list"] - amounts["discount"] + amounts["tax"]
    assert sum(Decimal(each.value) for each in found["totals.list"].inputs) == amounts["list"]


def test_a_total_without_all_prices_says_so() -> None:
    """A total that leaves lines out is said to be a lower bound."""
    _, report = worked("llama65b")
    node = explained(report, "totals.amount", WORDS).trees["totals.amount"]
    assert node.notes == ("at least: 10 lines have no price",)


def test_depth_cuts_a_tree(quoted: tuple[PlanFile, Report]) -> None:
    """Nought shows the number alone, one what it was worked out from; what is left out is counted."""
    path = "fabrics.compute.switches.leaf"
    whole = explained(quoted[1], path, WORDS).trees[path]
    alone, one = (explained(quoted[1], path, WORDS, depth).trees[path] for depth in (0, 1))
    assert (alone.inputs, alone.left_out) == ((), len(whole.inputs))
    assert [each.name for each in one.inputs] == [each.name for each in whole.inputs]
    assert not any(each.inputs for each in one.inputs)


def test_without_signs_a_tree_is_indented(quoted: tuple[PlanFile, Report]) -> None:
    """Blanks take the place of the drawing, and the same words stand on every line."""
    found = explained(quoted[1], "fabrics.compute.switches.leaf", WORDS)
    drawn = text(found).splitlines()
    plain = ["".join(piece.text for piece in line) for line in explanation_lines(found, INDENTED)]
    assert [re.sub("[├└│─]", " ", line).split() for line in drawn] == [line.split() for line in plain]
    assert not any(sign in line for line in plain for sign in "├└│─")


def test_markdown_and_json_have_the_same_numbers(quoted: tuple[PlanFile, Report]) -> None:
    """Every number of the tree is an item of the list and an entry of the data."""
    found = explained(quoted[1], "workload", WORDS)
    every = [node for tree in found.trees.values() for node in nodes(tree)]
    items = [line for line in markdown(found).splitlines() if line.lstrip().startswith("- **")]
    assert len(items) == len(every)

    def count(data: Mapping[str, Any]) -> int:
        return 1 + sum(count(each) for each in data["inputs"])

    assert sum(count(each) for each in to_data(found)["explained"].values()) == len(every)


@pytest.mark.parametrize(("servers", "taken"), [(256, 2), (257, 3)])
def test_two_tiers_of_64_ports_reach_2048_endpoints(servers: int, taken: int, tmp_path: Path) -> None:
    """Leiserson 1985: P^2/2 endpoints in two tiers; one more server takes a third tier, and both reasons say so."""
    made = planned(tmp_path, cluster={**TREE, "servers": servers}, fabrics={"compute": {"switch": "qm9700"}})
    reason = why(made, "fabrics.compute.tiers")
    others = {other.name: other.reason for other in reason.others}
    assert reason.chosen.startswith("two tiers, 96 switches" if taken == 2 else "three tiers, ")
    assert reason.by == "rule"
    assert "support at most 64 endpoints" in others["one tier"]
    if taken == 3:
        assert "support at most 2,048 endpoints; 2,056 are required" in others["two tiers"]
    else:
        assert "also fits, with " in others["three tiers"]


@pytest.mark.parametrize("name", ["superpod-h100-4su", "llama65b", "superpod-b200-16su", "meta-24k", "h100-127"])
def test_no_division_of_ports_is_smaller_than_the_one_taken(name: str) -> None:
    """The fabric that is built is the first of the search, and every runner-up has more of something."""
    made = worked(name)
    for built in made[1].design.fabrics:
        for reason in find_reasons(made[1], WORDS, f"fabrics.{built.plan.name}.ports.leaf.up"):
            if not reason.subject.endswith("leaf.up") or not reason.others:
                continue
            planes = built.plan.planes.value
            switches = int(re.search(r"(\d+) switch", reason.chosen)[1])  # type: ignore[index]
            assert switches * planes == built.fabric.switches.value
            assert all(" more: " in other.reason for other in reason.others)


def test_the_leaves_of_dual_homed_machines_are_divided_in_pairs(tmp_path: Path) -> None:
    """32 servers and five machines have a port of 200G on either of two leaves: 37 down, 19 up of 400G, one spine."""
    hosts = [{"name": "management servers", "count": 5, "ports": 2}]
    fabric = {"topology": "fat-tree", "homing": "dual", "switch": "sn5600", "ports_per_server": 2, "hosts": hosts}
    made = planned(tmp_path, cluster={"gpu": "h20", "servers": 32}, fabrics={"storage": fabric})
    reason = why(made, "fabrics.storage.ports.leaf.up")
    assert reason.chosen == "37 downlinks and 19 uplinks per leaf: 3 switches and 38 links between them"
    assert [other.reason.split()[:4] for other in reason.others[:2]] == [
        ["2", "switches", "more:", "4"],
        ["4", "switches", "more:", "6"],
    ]
    assert [other.name for other in why(made, "fabrics.storage.tiers").others] == ["three tiers"]


PRICES = {"qm9700": 25000, "qm9790": 20000, "mma4z00-ns": 879, "mma4z00-ns-flt": 800, "mfp7e10-n030": 138}


def test_other_switches_are_named_with_what_they_cost(tmp_path: Path) -> None:
    """Those of a tier are changed with the tiers above it, whose switches are the same, and not with those below."""
    book = {"bomgen_prices": 1, "name": "book", "currency": "USD", "date": "2026-10-01", "source": "a test"}
    prices = [{"part": part, "price": price} for part, price in PRICES.items()]
    (tmp_path / "book.yaml").write_text(json.dumps({**book, "prices": prices}))
    made = planned(
        tmp_path,
        cluster={"gpu": "h100-sxm", "server": "dgx-h100", "servers": 64},
        fabrics={"compute": {"switch": "qm9700"}},
        quote={"currency": "USD", "price_book": "book.yaml"},
    )
    for tier, saved in (("leaf", "120,000.00"), ("spine", "40,000.00")):
        [other] = why(made, f"fabrics.compute.{tier}.switch").others
        assert other.name == "qm9790 (QM9790)"
        assert other.reason == f"would need 16 + 8 switches: {saved} USD less"


def test_a_rate_without_known_parts_saves_no_modules(tmp_path: Path) -> None:
    """No module joins two SN5600 at 200G: that its links have no modules is no saving. A pair has links of one rate."""
    for topology, kind in (("fat-tree", "leaf-spine"), ("mesh", "leaf-leaf")):
        made = planned(
            tmp_path,
            cluster={"gpu": "h100-sxm", "server": "dgx-h100", "servers": 17 if topology == "fat-tree" else 8},
            fabrics={"compute": {"topology": topology, "switch": "sn5600"}},
        )
        others = {other.name: other.reason for other in why(made, f"fabrics.compute.links.{kind}").others}
        assert others["200G"] == "cannot be built, or no parts are known"
        assert others["800G"].startswith("would need ")


def test_tiers_that_no_switch_has_ports_for_are_told(tmp_path: Path) -> None:
    """A fabric of one switch may say how fast links are that only more tiers would have: 800G is beyond a QM9700."""
    links = {"spine-core": {"rate": "800G"}}
    made = planned(tmp_path, cluster={**TREE, "servers": 4}, fabrics={"compute": {"switch": "qm9700", "links": links}})
    two, three = why(made, "fabrics.compute.tiers").others
    assert two.reason.startswith("also fits")
    assert three.reason == ("cannot be built: QM9700 has no port for links of 800 Gb/s; its fastest carry 400 Gb/s")


def test_servers_that_carry_the_gpu_are_named(tmp_path: Path) -> None:
    """The default of the catalogue is one; a plan that names another has chosen itself, with the place."""
    made = planned(tmp_path, cluster=TREE)
    default = why(made, "cluster.server")
    assert (default.by, default.place) == ("default", None)
    assert "dgx-h100" in default.chosen
    carriers = {record.id for record in Catalog().records_where("server", "gpu", "h100-sxm")}
    assert {other.name.split()[0] for other in default.others} == carriers - {"dgx-h100"}
    own = why(planned(tmp_path, cluster={**TREE, "server": "hgx-h100-8-generic"}), "cluster.server")
    assert own.by == "plan"
    assert own.place is not None
    reasons = {other.name.split()[0]: other.reason for other in own.others}
    assert reasons.keys() == carriers - {"hgx-h100-8-generic"}
    assert reasons["dgx-h100"] == "the plan specifies another; 8 GPUs, 8 NICs of 400 Gb/s, 10.2 kW, 8 U"


def test_other_ways_of_a_link_are_those_of_bom_json() -> None:
    """A reason for every way that bom.json lists."""
    made = worked("superpod-h100-floor")
    data = result(made[1])
    for name, fabric in data["fabrics"].items():
        for kind, chosen in fabric["links_chosen"].items():
            reason = why(made, f"fabrics.{name}.links_chosen.{kind}")
            assert len(reason.others) == len(chosen["others"])


def test_one_more_server_in_a_rack_is_too_much() -> None:
    """NVIDIA's design has four DGX H100 of 10.2 kW in a rack of 40 kW: five draw 51 kW."""
    reason = why(worked("superpod-h100-4su"), "site.servers_per_rack")
    assert (reason.by, reason.chosen) == ("plan", "4 x DGX H100 per rack")
    assert reason.others[0].reason == "they need 51 kW, but a rack has 40 kW"


def test_one_line_card_fewer_is_too_few() -> None:
    """Arista 7808R3 with 36 ports a card: 192 + 28 links take seven cards of eight slots; six hold 216."""
    reason = why(worked("meta-24k-28-cores"), "fabrics.compute.chassis.spine.line_cards")
    assert reason.chosen.startswith("7 line cards")
    assert [(other.name, other.reason) for other in reason.others] == [
        ("6 line cards", "support 216 links; 220 are required"),
        ("a line card in every slot", "would add 36 unused ports"),
    ]


def test_splits_that_do_not_fit_are_named() -> None:
    """Less tensor parallelism does not fit, and says what is missing; 1016 = 8 x 127 GPUs are awkward."""
    reason = why(worked("h100-127"), "workload.parallelism")
    assert reason.by == "search"
    fewer, *others = reason.others
    assert "of the 1,016 GPUs" in fewer.reason
    assert others
    assert all("a shortfall of" in other.reason for other in others)


@pytest.mark.parametrize("plan", sorted((ROOT / "plans").glob("*.yaml")), ids=lambda plan: plan.stem)
def test_every_plan_has_its_reasons(plan: Path) -> None:
    """Everything that was chosen has a reason, and every line of parts finds at least one."""
    _, report = worked(plan.stem)
    found = find_reasons(report, WORDS)
    assert all(each.chosen and each.because and each.by in ("plan", "default", "rule", "search") for each in found)
    assert len({each.subject for each in found}) == len(found)
    for line in report.quote.lines:
        if line.line.category in ("server", "switch", "transceiver", "cable") and line.line.role != "panel":
            assert find_reasons(report, WORDS, line.line.id, False), line.line.id


def test_the_command_shows_a_line_with_its_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the bill: its tree, then why its part; with --why the latter alone."""
    monkeypatch.chdir(ROOT)
    arguments = ["explain", "plans/llama65b-quote.yaml", "compute.switch.spine"]
    shown = CliRunner().invoke(command.main, arguments)
    assert shown.stdout.startswith("compute.switch.spine = ")
    only = CliRunner().invoke(command.main, [*arguments, "--why"])
    assert only.stdout.startswith("why fabrics.compute.spine.switch: 16 x qm9700 (QM9700)\n")
    assert only.stdout in shown.stdout
    assert (
        json.loads(CliRunner().invoke(command.main, [*arguments, "--format", "json"]).stdout)["why"][0]["by"] == "plan"
    )


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are bold on a terminal, and plain where NO_COLOR is set or the output is none."""
    monkeypatch.chdir(ROOT)
    arguments = ["explain", "plans/llama65b.yaml", "fabrics.compute.switches.leaf"]
    assert "\x1b[1mleaf" in CliRunner().invoke(command.main, arguments, color=True).stdout
    assert "\x1b" not in CliRunner().invoke(command.main, arguments).stdout
    assert "\x1b" not in CliRunner().invoke(command.main, arguments, color=True, env={"NO_COLOR": "1"}).stdout


def test_money_is_shown_in_the_currency_of_the_quote(quoted: tuple[PlanFile, Report]) -> None:
    """In text and in JSON; no unit is called money."""
    _, report = quoted
    found = explained(report, "operation", language("en"))
    costs = [node for tree in found.trees.values() for node in nodes(tree)]
    assert all(node.unit != "money" and not node.shown.endswith("money") for node in costs)
    currency = report.plan.quote.currency
    assert found.trees["operation.total_cost"].unit == currency
    assert found.trees["operation.total_cost"].shown.endswith(f" {currency}")


def test_a_path_far_from_all_names_the_sections(quoted: tuple[PlanFile, Report]) -> None:
    """In a line, not every number of the result."""
    with pytest.raises(NotKnown) as caught:
        explained(quoted[1], "zzzzzz", language("en"))
    message = str(caught.value)
    assert message.startswith("the result has no number 'zzzzzz'; there are ")
    assert message.endswith(", totals and ids of lines")
    assert ", fabrics, " in message
    assert "fabrics." not in message


@pytest.mark.parametrize(
    ("server", "fabric", "said", "owned"),
    [
        (
            "dell-xe9680-h200",
            "compute",
            "NIC in the configuration of PowerEdge XE9680, 8 x H200 SXM",
            "no included NIC",
        ),
        (
            "dell-xe9680-h200",
            "storage",
            "NIC in the configuration of PowerEdge XE9680, 8 x H200 SXM",
            "no included NIC",
        ),
        ("smc-as-a126gs-tnmr", "storage", "default NIC, because the ports of AS-A126GS-TNMR", "no known built-in port"),
    ],
)
def test_nics_that_are_not_included_are_not_counted_as_the_servers_own(
    tmp_path: Path, server: str, fabric: str, said: str, owned: str
) -> None:
    """Eight NICs that are ordered are no eight included ones, of which the fabric needs more."""
    fabrics = {"compute": {"switch": "7060x6-64pe"}, "storage": "default"}
    reason = why(planned(tmp_path, cluster={"server": server, "servers": 8}, fabrics=fabrics), f"fabrics.{fabric}.nic")
    words = language("en")
    assert words.message(reason.because).startswith(said)
    [other] = reason.others
    assert words.message(other.reason).startswith(f"{owned}; the fabric requires ")
