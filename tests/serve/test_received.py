"""Files that are dropped on the page, and searches."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from workbook_edits import Quote

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import heard_by
from bomgen.output.price_lists import written
from bomgen.serve import engine, form, received
from bomgen.serve.calls import Refused, Workspace
from bomgen.workflow.pipeline import list_unpriced_parts, work_out

PLAN = """bomgen: 1
name: small
cluster:
  gpu: h100-sxm   # kept
  servers: 4
fabrics:
  compute: default
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return an empty folder."""
    return Workspace(tmp_path)


def dropped(name: str, content: bytes, **more: Any) -> dict[str, Any]:
    """Return a request with a file."""
    return {"name": name, "base64": base64.b64encode(content).decode(), "path": "small.yaml", "text": PLAN, **more}


def test_a_price_list_is_understood_and_raises_the_coverage(workspace: Workspace) -> None:
    """The columns, the plan that names the book, and what is priced before and after."""
    content = b"Part number,Description,Price USD\ndgx-h100,Server,300000\nqm9700,Switch,25000\n"
    found = received.prices(workspace, dropped("list.csv", content))
    json.dumps(found)
    assert all(heading in found["html"] for heading in ("Part number", "Price USD"))
    before, after = found["coverage"]["before"], found["coverage"]["after"]
    assert (before["priced"], after["priced"], after["amount"]) == (0, 2, "at least 1,250,000.00 USD")
    assert "list.prices.yaml" in found["text"]
    assert "cost_book: list.prices.yaml" in found["as_costs"]
    assert "# kept" in found["text"]
    workspace.save(found["file"]["path"], found["file"]["text"], found["file"]["version"])
    built = engine.build(workspace, {"path": "small.yaml", "text": found["text"]})
    assert built["headline"][0][1] == "2 of 6 lines priced"


def test_a_second_column_of_prices_can_be_read_instead(workspace: Workspace) -> None:
    """The warning has the answer that reads it."""
    content = b"Part number,List price USD,Partner USD\ndgx-h100,300000,255000\nqm9700,25000,21000\n"
    [problem] = received.prices(workspace, dropped("list.csv", content))["problems"]
    assert "column C 'Partner USD' looks like prices, too, and is not read" in problem["message"]
    [question] = problem["questions"]
    assert question["choices"] == [{"value": "price=C", "label": "C: Partner USD"}]
    answers = {question["key"]: question["choices"][0]["value"]}
    again = received.prices(workspace, dropped("list.csv", content, answers=answers))
    assert "{part: dgx-h100, price: 255000}" in again["file"]["text"]
    assert again["problems"] == []


def test_a_list_may_be_filled_in_by_parts(workspace: Workspace) -> None:
    """Rows that have no price yet are left out, as of a vendor's list."""
    request = {"path": "small.yaml", "text": PLAN, "format": "unpriced-csv"}
    head, *rows = csv.reader(io.StringIO(base64.b64decode(engine.download(workspace, request)["base64"]).decode()))
    rows[0][2] = "300000"
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    found = received.prices(workspace, dropped("filled.csv", out.getvalue().encode()))
    assert (found["coverage"]["after"]["priced"], found["unused"]) == (1, [])
    assert "rows without a price" in found["html"]


def test_prices_of_no_part_of_the_plan_are_named(workspace: Workspace) -> None:
    """Of a vendor's list and of a price book; parts by another of their names are used."""
    for head in ("Part number,Price USD\n{}", "part,price,currency\n{}"):
        end = ",USD" if "currency" in head else ""
        rows = "".join(f"{part},100{end}\n" for part in ("DGX-H100", "210-BGHS", "qm9700"))
        found = received.prices(workspace, dropped("list.csv", head.format(rows).encode()))
        assert found["unused"] == ["210-BGHS"], found


def test_the_currency_of_the_plan_is_offered_first(workspace: Workspace) -> None:
    """Then those that the list names, then all others."""
    content = b"Prices in USD or EUR\nPart number,Price\ndgx-h100,300000\n"
    request = dropped("list.csv", content) | {"text": f"{PLAN}quote: {{currency: SEK}}\n"}
    offered = [choice["label"] for choice in received.prices(workspace, request)["questions"][0]["choices"]]
    assert offered[:4] == ["SEK", "EUR", "USD", "AED"]
    assert len(offered) == len({*offered})


def test_numbers_close_to_parts_of_the_plan_are_named(workspace: Workspace) -> None:
    """A slip is, a part that the plan does not buy is not."""
    content = b"part,price,currency\nqm97000,100,USD\nother-thing-9,100,USD\ndgx-h200,100,USD\n"
    assert received.prices(workspace, dropped("list.csv", content))["near"] == [
        {"part": "qm97000", "parts": ["qm9700"]}
    ]


def test_parts_without_a_price_are_listed_to_be_filled_in(workspace: Workspace) -> None:
    """The list is that of `bomgen prices --for`, names parts by their ids, and prices them once it is filled in."""
    request = {"path": "small.yaml", "text": PLAN, "format": "unpriced-csv"}
    listed = base64.b64decode(engine.download(workspace, request)["base64"])
    assert listed == written(list_unpriced_parts(work_out(workspace.plan_file("small.yaml", PLAN))), "csv")
    head, *rows = csv.reader(io.StringIO(listed.decode()))
    assert "dgx-h100" in [row[0] for row in rows]
    out = io.StringIO()
    csv.writer(out).writerows([head, *([*row[:2], "100", *row[3:]] for row in rows)])
    found = received.prices(workspace, dropped("filled.csv", out.getvalue().encode()))
    assert found["coverage"]["after"]["priced"] == found["coverage"]["after"]["lines"]
    workspace.save(found["file"]["path"], found["file"]["text"], "")
    with pytest.raises(Refused, match="every part has a price"):
        engine.download(workspace, request | {"text": found["text"]})


def test_no_price_book_of_another_plan_is_written(workspace: Workspace) -> None:
    """A new plan whose name another one had before it was saved takes a free name; so does a copy of a plan."""
    entered = dropped("my-cluster-prices.csv", b"part,price,currency\ndgx-h100,100,USD\n", entered=True)
    first = received.prices(workspace, entered)
    assert (first["file"]["path"], first["file"]["version"]) == ("my-cluster-prices.prices.yaml", "")
    workspace.save(**first["file"])
    second = received.prices(workspace, entered)
    assert (second["file"]["path"], second["file"]["version"]) == ("my-cluster-prices-2.prices.yaml", "")
    assert "price_book: my-cluster-prices-2.prices.yaml" in second["text"]
    workspace.save("first.yaml", first["text"], "")
    listed = dropped("my-cluster-prices.csv", b"part,price,currency\ndgx-h100,200,USD\n", text=first["text"])
    assert received.prices(workspace, listed | {"path": "copy.yaml"})["file"]["path"] == second["file"]["path"]


def test_prices_that_are_entered_later_leave_the_earlier_ones(workspace: Workspace) -> None:
    """They have a book of their own, whatever the plan is called; a list replaces its earlier state."""
    first = received.prices(workspace, dropped("A b-prices.csv", b"part,price,currency\ndgx-h100,100,USD\n"))
    workspace.save(**first["file"])
    switches = b"part,price,currency\nqm9700,200,USD\n"
    again = received.prices(workspace, dropped("A b-prices.csv", switches, text=first["text"]))
    assert (again["file"]["path"], again["coverage"]["after"]["priced"]) == ("a-b-prices.prices.yaml", 1)
    later = received.prices(workspace, dropped("A b-prices.csv", switches, text=first["text"], entered=True))
    assert (later["file"]["path"], later["coverage"]["after"]["priced"]) == ("a-b-prices-2.prices.yaml", 2)


def test_an_ambiguous_column_is_asked_about(workspace: Workspace) -> None:
    """The question has the columns to choose from, and its answer settles it."""
    content = b"Part number,Price USD,Price USD\ndgx-h100,300000,200000\nqm9700,25000,20000\n"
    found = received.prices(workspace, dropped("list.csv", content))
    [question] = found["questions"]
    assert question["key"] == "price"
    assert [choice["value"] for choice in question["choices"]] == ["price=B", "price=C"]
    assert [choice["label"] for choice in question["choices"]] == ["B: Price USD", "C: Price USD"]
    answered = received.prices(workspace, dropped("list.csv", content, answers={"price": "price=C"}))
    assert answered["questions"] == []
    assert "200000" in answered["file"]["text"]


@pytest.mark.parametrize(
    ("content", "question", "labels"),
    [
        (
            "Part,Price,Price\nqm9700,2,1\n",
            "有 2 列可能是价格：B 列“Price”、C 列“Price”",
            ["B: Price", "C: Price"],
        ),
        ("a,b\nqm9700,2\n", "未找到表头行。哪一列是料号？", ["A: a", "B: b"]),
        (
            "Prices incl. VAT\nPart number,Price USD\nqm9700,2\n",
            "“Prices incl. VAT”表明价格含税，",
            ["0%"],
        ),
        ("Part number,Price\nqm9700,2\n", "未注明币种", ["USD"]),
        ("Part number,Price USD\nqm9700,25.000\n", "“25.000”中的分隔符可能是小数点，", ["小数点：1,234.50"]),
        ("Part number,List price USD,折扣\nqm9700,9,35\n", "“折扣”可能是优惠率，", ["优惠率（下浮）", "实付比例"]),
        (
            "Part number,Price USD,Valid until\nqm9700,2,03/04/2027\n",
            "“03/04/2027”可能是 2027-04-03 或 2027-03-04",
            ["日、月、年", "月、日、年"],
        ),
    ],
    ids=["columns", "header", "tax", "currency", "separator", "discount", "date"],
)
def test_questions_are_asked_in_the_language_of_the_page(
    workspace: Workspace, content: str, question: str, labels: list[str]
) -> None:
    """So are their answers; what a list says is quoted as it is."""
    found = received.prices(workspace, dropped("list.csv", content.encode(), language="zh"))["questions"][0]
    assert found["message"].startswith(question)
    assert [choice["label"] for choice in found["choices"]][: len(labels)] == labels


@pytest.mark.parametrize(
    ("content", "keys", "first", "answers", "price"),
    [
        ("Part number,Price\ndgx-h100,300000\n", ["currency"], "currency=USD", ["currency=USD"], 300000),
        (
            "Prices in USD or EUR\nPart number,Price\ndgx-h100,300000\n",
            ["currency"],
            "currency=USD",
            ["currency=USD"],
            300000,
        ),
        (
            "Part number,List price USD,折扣\ndgx-h100,300000,40%\nqm9700,20000,35%\n",
            ["discount"],
            "discount=C",
            ["paid=C"],
            120000,
        ),
        ('Part number,Price USD\ndgx-h100,"300,000"\n', ["decimal"], "decimal=point", ["decimal=point"], 300000),
        (
            "Part number,Price USD,Valid until\ndgx-h100,300000,03/04/2026\n",
            ["dates"],
            "dates=dmy",
            ["dates=mdy"],
            300000,
        ),
        (
            "dgx-h100,x,300000\nqm9700,y,25000\n",
            ["part", "price"],
            "part=A",
            ["part=A", "price=C", "currency=USD"],
            300000,
        ),
    ],
)
def test_a_list_is_asked_about_until_it_is_clear(
    workspace: Workspace, content: str, keys: list[str], first: str, answers: list[str], price: int
) -> None:
    """Each question has what `bomgen prices --columns` takes as its choices, and the chosen ones settle it."""
    asked = received.prices(workspace, dropped("list.csv", content.encode()))
    assert [question["key"] for question in asked["questions"]] == keys
    assert asked["questions"][0]["choices"][0]["value"] == first
    given: dict[str, str] = {}
    for _ in answers:
        for question in asked["questions"]:
            offered = [choice["value"] for choice in question["choices"]]
            given[question["key"]] = next(answer for answer in answers if answer in offered)
        asked = received.prices(workspace, dropped("list.csv", content.encode(), answers=given))
    assert asked["questions"] == []
    assert f"price: {price}" in asked["file"]["text"]


def test_a_bill_is_explained(workspace: Workspace) -> None:
    """The bill of a plan is explained by a plan that builds."""
    bill = base64.b64decode(engine.download(workspace, {"path": "a.yaml", "text": PLAN, "format": "csv"})["base64"])
    found = received.xray(workspace, dropped("vendor.csv", bill))
    json.dumps(found)
    assert "<html" in found["html"]
    assert found["plan"] is not None
    assert engine.build(workspace, found["plan"])["headline"]


def test_a_bill_with_two_quantities_is_asked_about(workspace: Workspace) -> None:
    """The question has both columns, and its answer settles it."""
    bill = b"Part number,Quantity,Quantity\nMQM9700-NS2F,2,3\nMFP7E10-N030,64,65\n"
    found = received.xray(workspace, dropped("bill.csv", bill))
    [question] = found["questions"]
    assert [choice["value"] for choice in question["choices"]] == ["quantity=B", "quantity=C"]
    assert "choose with" not in question["message"]
    answered = received.xray(workspace, dropped("bill.csv", bill, answers={"quantity": "quantity=C"}))
    assert answered["questions"] == []
    assert ">65<" in answered["html"]


def test_outputs_of_devices_are_verified(workspace: Workspace) -> None:
    """Several files are one network: the page says which cables are as planned; a file without a form is refused."""
    of_leaf = "device_a,port_a,device_b,port_b\n"
    halves = [of_leaf + f"server-01,nic{port},compute-leaf-01,1/{port}\n" for port in (1, 2)]
    files = [dropped(f"{number}.csv", half.encode()) for number, half in enumerate(halves)]
    files = [{name: file[name] for name in ("name", "base64")} for file in files]
    found = received.verify(workspace, {"path": "small.yaml", "text": PLAN, "files": files})
    assert "2 of 40 cables as planned, 0 wrong" in found["html"]
    renamed = [dropped("0.csv", halves[0].replace("compute-leaf-01", "sw7").encode()), files[1]]
    renamed.append(dropped("names.csv", b"built,planned\nsw7.example.net,compute-leaf-01\n"))
    assert received.verify(workspace, {"path": "small.yaml", "text": PLAN, "files": renamed}) == found
    with pytest.raises(PlanErrors, match="no form of output is recognised"):
        received.verify(workspace, {**dropped("a.txt", b""), "files": [dropped("a.txt", b"Hello")]})


def edited(workspace: Workspace, cells: dict[str, Any], text: str = PLAN) -> bytes:
    """Return the quote of the plan with other values in cells of its bill that hold these texts or numbers."""
    content = engine.download(workspace, {"path": "small.yaml", "text": text, "format": "quote.xlsx"})["base64"]
    book = openpyxl.load_workbook(io.BytesIO(base64.b64decode(content)))
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if str(cell.value) in cells:
                    cell.value = cells[str(cell.value)]
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_an_unedited_quote_changes_nothing(workspace: Workspace) -> None:
    """The text stays as it is."""
    found = received.apply(workspace, dropped("quote.xlsx", edited(workspace, {})))
    assert (found["changes"], found["conflicts"], found["text"]) == ([], [], PLAN)


def test_the_preview_of_an_edited_quote_says_what_has_no_price(workspace: Workspace) -> None:
    """One of five lines has a price: both totals are lower bounds."""
    (workspace.folder / "own.csv").write_text("part,price,currency\nqm9700,25000,USD\n", "utf-8")
    text = f"{PLAN}quote: {{price_book: own.csv}}\n"
    found = received.apply(workspace, dropped("quote.xlsx", edited(workspace, {"25000": 24000}, text)) | {"text": text})
    assert (found["before"], found["after"]) == ("at least 50,000.00 USD", "at least 48,000.00 USD")


def test_a_conflict_is_chosen_about(workspace: Workspace) -> None:
    """A part that the plan does not buy is a conflict; the choice for the plan takes the rest."""
    content = edited(workspace, {"GPU server DGX H100": "Another server"})
    found = received.apply(workspace, dropped("quote.xlsx", content))
    json.dumps(found)
    assert found["text"] == PLAN
    assert found["conflicts"]
    choices = {conflict["key"]: "plan" for conflict in found["conflicts"]}
    chosen = received.apply(workspace, dropped("quote.xlsx", content, choices=choices))
    assert {conflict["chosen"] for conflict in chosen["conflicts"]} == {"plan"}


def test_a_setting_that_gives_an_edited_quantity_may_be_chosen(workspace: Workspace) -> None:
    """A switch more is one to spare, if that is what is chosen."""
    quote = Quote(edited(workspace, {}))
    line = next(line for line in quote.lines if ".switch." in line)
    quote.cell(line, "quantity").value += 1
    content = quote.saved()
    [conflict] = received.apply(workspace, dropped("quote.xlsx", content))["conflicts"]
    keep, *settings = [choice["value"] for choice in conflict["choices"]]
    assert keep == "plan"
    in_chinese = received.apply(workspace, dropped("quote.xlsx", content, language="zh"))
    assert in_chinese["changes"] == ["Bill of materials!E5  compute.switch.leaf, quantity：2 → 3"]
    assert in_chinese["conflicts"][0]["message"].endswith("“compute.switch.leaf”的 quantity 为 3；按方案应为 2")
    assert "spares.switch=1" in settings
    found = received.apply(workspace, dropped("quote.xlsx", content, choices={conflict["key"]: "spares.switch=1"}))
    assert found["text"] == f"{PLAN}spares: {{switch: 1}}\n"


def test_one_price_of_a_part_may_be_chosen_for_all_its_lines(workspace: Workspace) -> None:
    """The edited price of one line is that of the part, if that is what is chosen."""
    large = PLAN.replace("servers: 4", "servers: 64")
    quote = Quote(edited(workspace, {}, large))
    quote.cell("compute.switch.leaf", "unit_price").value = 700
    request = dropped("quote.xlsx", quote.saved()) | {"text": large}
    [conflict] = received.apply(workspace, request)["conflicts"]
    assert [choice["value"] for choice in conflict["choices"]] == ["plan", "qm9700=700"]
    assert conflict["choices"][1]["label"] == "qm9700 costs 700"
    assert "a part has one price" in conflict["message"]
    [chinese] = received.apply(workspace, request | {"language": "zh"})["conflicts"]
    assert "同一部件只能有一个单价" in chinese["message"]
    assert chinese["choices"][1]["label"] == "qm9700 单价 700"
    taken = received.apply(workspace, request | {"choices": {conflict["key"]: "qm9700=700"}})
    assert taken["conflicts"] == []
    assert "price: 700" in taken["files"][0]["text"]


def test_a_workbook_of_another_state_may_be_taken(workspace: Workspace) -> None:
    """It is a conflict by itself, and its edits are taken once it is chosen."""
    quote = Quote(edited(workspace, {}))
    quote.cell("server", "quantity").value = 6
    older = PLAN.replace("name: small", "name: new")
    request = dropped("quote.xlsx", quote.saved()) | {"text": older}
    [conflict] = received.apply(workspace, request)["conflicts"]
    assert [choice["value"] for choice in conflict["choices"]] == ["force"]
    [chinese] = received.apply(workspace, request | {"language": "zh"})["conflicts"]
    assert chinese["message"].startswith("此工作簿属于方案“small”")
    taken = received.apply(workspace, request | {"choices": {conflict["key"]: "force"}})
    assert "servers: 6" in taken["text"]


def test_edits_that_are_not_taken_are_named(workspace: Workspace) -> None:
    """In the quote of an older state, of a plan that has its edits: cells with texts that bomgen writes by itself."""
    dated = f"{PLAN}quote: {{date: 2026-11-28}}\n"
    request = dropped("quote.xlsx", edited(workspace, {"GPU server DGX H100": "Another"})) | {"text": dated}
    found = received.apply(workspace, request)
    assert (found["changes"], found["conflicts"], found["text"]) == ([], [], dated)
    assert {"Bill of materials!D4", "By part number!C5"} <= {*found["passed_over"]}


def test_a_file_that_is_none_is_refused(workspace: Workspace) -> None:
    """Broken base64, no name, too large."""
    for request in (
        {"name": "a.csv", "base64": "§"},
        {"name": "", "base64": ""},
        dropped("a.csv", b"x" * (5 * 10**6 + 1)),
    ):
        with pytest.raises(Refused):
            received.prices(workspace, request)


def test_a_search_has_points_to_pick(workspace: Workspace) -> None:
    """A picked point becomes values of the plan, with comments kept."""
    request = {"path": "small.yaml", "text": f"{PLAN}quote: {{price_book: indicative}}\n"}
    over = {"cluster.servers": [2, 4, 8], "cluster.gpu": ["h100-sxm", "h200-sxm"]}
    found = form.search(workspace, {**request, "over": over, "minimise": "power"})
    json.dumps(found)
    assert found["points"], found["search"]
    assert [measure["name"] for measure in found["measures"]] == ["power"]
    point = found["points"][0]["set"]
    text = form.set_values(workspace, {"text": PLAN, "set": point})["text"]
    assert "# kept" in text
    assert f"servers: {point['cluster.servers']}" in text


def test_servers_are_searched_with_their_gpus(workspace: Workspace) -> None:
    """Not the product of both; one without a price is shown, few are recommended, and a picked server has its GPU."""
    load = "requests_per_minute: 600, prompt_tokens: 900, output_tokens: 99"
    served = f"workload: {{inference: {{model: llama-3.1-70b, {load}}}}}\n"
    request = {
        "path": "small.yaml",
        "text": f"{PLAN}{served}quote: {{price_book: indicative}}\n".replace("servers: 4", ""),
    }
    over = {"cluster.server": ["dgx-h200", "dgx-b200", "hls-gaudi2"]}
    found = form.search(workspace, {**request, "over": over, "minimise": ["cost", "requests", "ttft", "power"]})
    points = {point["set"]["cluster.server"]: point["measures"] for point in found["points"]}
    assert points["dgx-b200"]["requests"] > points["dgx-h200"]["requests"] >= 600
    assert points["hls-gaudi2"]["cost"] is None
    assert found["search"]["recommended"][0] == {"design": 1, "reason": "cost"}
    text = form.set_values(workspace, {"text": PLAN, "set": {"cluster.server": "dgx-b200"}})["text"]
    assert "gpu: b200-sxm" in text
    gpus = {**over, "cluster.gpu": ["h200-sxm"]}
    assert len(form.search(workspace, {**request, "over": gpus, "minimise": "cost"})["points"]) == 1


def test_keys_and_measures_are_proposed_for_a_search(workspace: Workspace) -> None:
    """Keys of the plan and of the form with their values; none below a plain value."""
    found = form.space(workspace, {"text": PLAN})
    keys = {each["key"]: each for each in found["keys"]}
    assert keys["cluster.servers"]["value"] == 4
    labels = {choice["value"]: choice["label"] for choice in keys["cluster.gpu"]["choices"]}
    assert labels["h200-sxm"].startswith("H200 SXM 141GB")
    assert found["own"] == {"over": {"cluster.server": "sold"}}
    assert not [key for key in keys if key.startswith("fabrics.compute.")]
    assert {"cost", "days"} <= {each["name"] for each in found["measures"]}


class Stopper:
    """A listener that interrupts a search, as the process of a page is interrupted."""

    def stage(self, name: str) -> None:
        """Ignore stages."""

    def read(self, name: str, size: int) -> None:
        """Ignore files."""

    def count(self, what: str, done: int, size: int) -> None:
        """Interrupt the search once designs were tried."""
        if what == "search" and 0 < done <= size:
            raise KeyboardInterrupt


def test_a_stopped_search_has_what_it_found(workspace: Workspace) -> None:
    """The designs tried so far are compared."""
    request = {"path": "small.yaml", "text": PLAN, "over": {"cluster.servers": [2, 4, 8]}, "minimise": "power"}
    with heard_by(Stopper()):
        found = form.search(workspace, request)
    assert found["stopped"] is True
    assert found["points"]


def test_how_a_list_was_read_is_said_in_the_language_of_the_page(workspace: Workspace) -> None:
    """Columns, notes and rows that are left out; only what the list itself says stays as it is."""
    content = "Part number,Price USD,Remark\nqm9700,2,a\nqm97000,,b\nunknown-1,3,c\nTotal,5,\n"
    html = received.prices(workspace, dropped("list.csv", content.encode(), language="zh"))["html"]
    said = [
        "list.csv：表头在第 1 行",
        "按列标题",
        "料号",
        "未读取",
        "币种：USD（按价格列标题）",
        "未采用：1 行没有价格",
    ]
    assert [text for text in [*said, "1 个价格与目录内的料号不符"] if text not in html] == []
    assert not re.search(r"by its heading|not read|header in|left out|no price|near:", html)


def test_a_sheet_of_cables_is_compared_with_a_plan(workspace: Workspace) -> None:
    """The second sentence says that a cable of the chosen plan is missing; without a plan it is about the sheet."""
    plan = {"path": "a.yaml", "text": PLAN}
    sheet = base64.b64decode(engine.download(workspace, {**plan, "format": "wiring-csv"})["base64"])
    lines = sheet.decode("utf-8-sig").splitlines(keepends=True)
    shortened = "".join(lines[:-1]).encode()
    found = received.xray(workspace, dropped("cables.csv", shortened))
    assert found["has_cables"]
    compared = received.xray(workspace, dropped("cables.csv", shortened, plan=plan))
    number, said = len(lines) - 1, " cables as planned, 0 wrong, 1 missing, 0 not checked"
    assert f"{number - 1} of {number}{said}" in compared["html"]
    assert said not in found["html"]
