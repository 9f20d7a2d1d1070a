"""What is said of a bill: every sentence gets what it holds, and prices of a bill are calculated as bills do."""

from __future__ import annotations

import ast

import pytest
from package_source import TREES

from bomgen.catalog.files import Catalog
from bomgen.core.language import language
from bomgen.core.messages import places
from bomgen.xray.contents import open_bill
from bomgen.xray.inspection import find_lacking
from bomgen.xray.laws import ConsistencyChecks
from bomgen.xray.parts import Requirements, check_parts, check_prices

CATALOG = Catalog()


def test_every_finding_has_what_its_sentence_holds() -> None:
    """Calls of `at_line` with a code of their own pass the places of its sentence."""
    wrong, seen = [], 0
    for path, tree in TREES.items():
        for node in ast.walk(tree) if path.parent.name in ("reading", "xray") else ():
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "at_line":
                continue
            code = node.args[2]
            if not isinstance(code, ast.Constant):
                continue
            seen += 1
            given = {each.arg for each in node.keywords} - {"weight"}
            if given != places(language("en").messages[f"xray-{code.value}"]):
                wrong.append((path.name, code.value, sorted(filter(None, given))))
    assert wrong == []
    assert seen > 20


def codes(text: str) -> list[tuple[str, int]]:
    """What prices and parts of a bill bring up, with the line."""
    bill = open_bill(text.encode(), "bill.csv", CATALOG)
    found = [*check_parts(bill), *check_prices(bill), *ConsistencyChecks(bill).findings()]
    return sorted((each.code, each.mark.line) for each in found if each.severity == "error")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        # 10 x 100 less 15 % is 850; net prices have the discount in them; Chinese discounts say what is paid
        ("Part,Qty,Unit price,Discount,Amount\nX,10,100,15%,850", []),
        ("Part,Qty,Unit price,Discount,Amount\nX,10,100,15%,860", [("amount", 2)]),
        ("Part,Qty,List price,Discount,Net price,Amount\nX,10,100,15%,85,850", []),
        # a price with tax says nothing of an amount without
        ("型号,数量,单价（含税）,金额（含税）\nX,4,113,460", [("amount", 2)]),
        ("型号,数量,含税单价,未税金额\nX,4,113,400", []),
        # a net price is the list price less the discount, but for what was rounded
        ("Part,Qty,List price,Disc. %,Net price,Amount\nX,4,30000,10,28500,114000", [("net-price", 2)]),
        ("Part,Qty,List price,Disc. %,Net price,Amount\nX,4,30000,10,27000,108000", []),
        ("Part,Qty,List price,Disc. %,Net price,Amount\nX,4,1450,25,1088,4352", []),
        ("Part,Qty,List price,Discount,Net price,Amount\nX,4,1450,50,1400,5600", []),
        ("Part,Qty,List price,Discount,Net price\nX,4,1000,0.25,3000", []),
        ("型号,数量,列表价,折扣,净价\nX,1,1000,8.5折,850", []),
        ("型号,数量,列表价,折扣,净价\nX,1,1000,85%,850", []),
        ("型号,数量,列表价,折扣,净价\nX,1,1000,8.5折,800", [("net-price", 2)]),
        ("型号,数量,单价,折扣,金额\nX,10,100,8.5折,850", []),
        ("Part;Qty;Unit price;Amount\nX;10;1.234,50;12.345,00", []),
        (
            'Part,Qty,Unit price,Amount\nX,2,"$1,000.00","$2,000.00"\nY,1,500,500\n'
            ",,Subtotal,2500\n,,Tax 13%,325\n,,Total,2825",
            [],
        ),
        ("Part,Qty,Unit price,Amount\nX,2,1000,2000\n,,zzgl. MwSt. 19 %,380\n,,Gesamtsumme,2380", []),
        ("Part,Qty,Unit price,Amount\nX,2,1000,2000\n,,另加13%增值税,260\n,,合计,2260", []),
        ("Part,Qty,Unit price,Amount\nX,2,1000,2000\nY,1,500,500\n,,Tax 13%,352\n,,Total,2852", [("sum", 4)]),
        ("Part,Qty,Unit price,Amount\nX,2,1000,2000\nY,1,500,500\n,,Total,2600", [("sum", 4)]),
        # pieces with spares in a column of their own are paid for, too
        ("Part,Qty,Spare,Unit price,Amount\nX,10,1,100,1100", []),
    ],
)
def test_arithmetic(lines: str, wrong: list[tuple[str, int]]) -> None:
    """Amounts and sums of a bill, by hand."""
    assert codes(lines) == wrong


HEAD = "Part,Description,Qty,Fabric,Role\nMQM9700-NS2F,,2,compute,leaf\n"


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        # a twin-port module serves two links, a fibre has two ends; one of the fibres that are too many may be a spare
        (
            "MMA4Z00-NS-FLT,,16,compute,server-leaf/server\nMMA4Z00-NS,,16,compute,server-leaf/leaf\nMFP7E10-N030,,32,compute,server-leaf",
            [],
        ),
        (
            "MMA4Z00-NS-FLT,,15,compute,server-leaf/server\nMMA4Z00-NS,,16,compute,server-leaf/leaf\nMFP7E10-N030,,32,compute,server-leaf",
            [],
        ),
        (
            "MMA4Z00-NS-FLT,,8,compute,server-leaf/server\nMMA4Z00-NS,,16,compute,server-leaf/leaf\nMFP7E10-N030,,32,compute,server-leaf",
            [("ends", 3)],
        ),
        (
            "MMA4Z00-NS-FLT,,16,compute,server-leaf/server\nMMA4Z00-NS,,16,compute,server-leaf/leaf\nMFP7E30-N030,,32,compute,server-leaf",
            [("wrong-fibre", 5)],
        ),
        ("MMA4Z00-NS,,16,compute,server-leaf/leaf\nMFP7E10-N030,,32,compute,server-leaf", [("one-end", 3)]),
        # two switches have 64 cages
        (
            "MMA4Z00-NS-FLT,,80,compute,server-leaf/server\nMMA4Z00-NS,,80,compute,server-leaf/leaf\nMFP7E10-N030,,160,compute,server-leaf",
            [("cages", 2)],
        ),
        # 100 m are more than DR4 modules of the NS series reach; MFP7E30 is sold so long
        (
            "MMS4X00-NS-FLT,,16,compute,server-leaf/server\nMMS4X00-NS,,16,compute,server-leaf/leaf\nMFP7E30-N150,,32,compute,server-leaf",
            [("reach", 5)],
        ),
    ],
)
def test_laws(lines: str, wrong: list[tuple[str, int]]) -> None:
    """What holds for any fabric, by hand."""
    assert codes(HEAD + lines) == wrong


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        # a B200 board has eight GPUs, each of which needs a licence; whether its six cords are included is not known
        ("HGX-B200-8-GENERIC,2\nNVAIE-3Y,16\nCORD-C20,12", set()),
        ("HGX-B200-8-GENERIC,2\nNVAIE-3Y,12\nCORD-C20,12", {("required-few", 3, -4)}),
        ("HGX-B200-8-GENERIC,2\nCORD-C20,12", {("choose-pieces", 2, 0)}),
        ("HGX-B200-8-GENERIC,2\nNVAIE-3Y,16", set()),
        ("HGX-B200-8-GENERIC,2\nNVAIE-3Y,16\nCORD-C20,14", {("required-many", 4, 2)}),
        # six cords of a DGX H100 are in its box, its licences in its software bundle; an SR680a V3 takes eight cords
        ("DGXH100,2", set()),
        ("LENOVO-SR680A-V3,2\nRACK-RAILS,2\nNVAIE-3Y,16\nCORD-C20,12", {("required-few", 5, -4)}),
        ("LENOVO-SR680A-V3,2\nNVAIE-3Y,16\nCORD-C20,16\nRACK-RAILS,2", set()),
        ("LENOVO-SR680A-V3,2\nNVAIE-3Y,16", {("required", 2, -16), ("required", 2, -2)}),
    ],
)
def test_required_parts(lines: str, wrong: set[tuple[str, int, int]]) -> None:
    """Licences are counted by the GPUs of the servers, cords by their power supplies."""
    bill = open_bill(f"Part,Qty\n{lines}".encode(), "bill.csv", CATALOG)
    assert {(each.code, each.mark.line, each.pieces) for each in Requirements(bill).findings()} == wrong


UNKNOWN = "Part,Description,Qty\nQM9700,switch,64\nMMA4Z00-NS,,100\nMFP7E10-N030,fibre,12000\n"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        # 12 000 fibres have 24 000 ends, 100 twin-port modules light 200 of them
        ("", {("ends", "error", -11900)}),
        # 12 000 unknown optics of two engines may light all of them, whatever device their words name
        ("ABC-123,OSFP plug for the switch,12000", {("ends-open", "unknown", 0)}),
        ("ABC-123,,12000", {("ends-open", "unknown", 0)}),
        # 11 000 may light 22 000: 1 800 ends are left, which are 900 modules
        ("ABC-123,optics,11000", {("ends", "error", -900)}),
        # what is certainly no module lights none; of modules without a quantity nobody knows how many there are
        ("ABC-123,copper cable,12000", {("ends", "error", -11900)}),
        ("ABC-123,transceiver,-", set()),
    ],
)
def test_unknown_lines_may_be_what_seems_to_be_missing(lines: str, found: set[tuple[str, str, int]]) -> None:
    """No module is counted as missing that a line which is not recognised may be."""
    bill = open_bill((UNKNOWN + lines).encode(), "bill.csv", CATALOG)
    assert {(each.code, each.severity, each.pieces) for each in ConsistencyChecks(bill).findings()} == found


@pytest.mark.parametrize(
    ("lines", "severity"), [("", "doubt"), ("ABC-123,,2", "unknown"), ("ABC-123,trunk cable,2", "doubt")]
)
def test_unknown_lines_may_be_what_is_required(lines: str, severity: str) -> None:
    """A line without words may be the cords of a server; one that is a cable of a network is not."""
    bill = open_bill(f"Part,Description,Qty\nLENOVO-SR680A-V3,,2\n{lines}".encode(), "bill.csv", CATALOG)
    assert [each.severity for each in Requirements(bill).findings() if each.pieces == -16] == [severity]


@pytest.mark.parametrize("quantity", ["-", "–", "—", "n/a", "as needed", "TBD"])
def test_cables_without_a_number_of_pieces_are_cables(quantity: str) -> None:
    """Lines whose quantity is not a number are said to be so, and nothing else is said to lack them."""
    text = f"Part,Description,Qty\nMQM9700-NS2F,switch,2\nMMA4Z00-NS,,64\nMFP7E10-N030,fibre,{quantity}\n"
    bill = open_bill(text.encode(), "bill.csv", CATALOG)
    found = [each.code for each in (*check_prices(bill), *ConsistencyChecks(bill).findings(), *find_lacking(bill))]
    assert sorted(found) == ["quantity", "without-racks"]


@pytest.mark.parametrize(
    ("price", "found"),
    [
        ("US$769.00 [official]", []),
        ("769 (est.)", []),
        ("on request", []),
        ("US$769.00 [2 pieces]", ["no-amount"]),
        ("769 or 800", ["no-amount"]),
    ],
)
def test_prices_with_notes(price: str, found: list[str]) -> None:
    """An amount with a note in brackets is read; one that cannot be read is shown."""
    bill = open_bill(f"Part,Qty,Unit price\nMMA4Z00-NS,2,{price}\n".encode(), "bill.csv", CATALOG)
    assert [each.code for each in check_prices(bill)] == found
    assert (bill.lines[0].unit_price == 769) == (found == [] and price != "on request")


def test_a_rack_scale_system_is_a_rack_of_gpus() -> None:
    """A GB300 NVL72 has 72 GPUs in 18 trays of 4 (NVIDIA's name has the number), and is itself a rack."""
    bill = open_bill(b"part,quantity\nGB300 NVL72,2", "bill.csv", CATALOG)
    licences = [each for each in Requirements(bill).findings() if each.code == "choose-pieces"]
    assert [each.message.parameters["pieces"] for each in licences] == [144]
    assert not list(find_lacking(bill))
    assert [each.code for each in find_lacking(open_bill(b"part,quantity\nDGXH100,2", "bill.csv", CATALOG))]
