"""The page of `bomgen serve` in Chromium, used as people use it: serve.cjs takes the steps, and here is what shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from depth import DEEP
from processor import PATIENCE
from workbook_edits import Quote, workbook_of

from bomgen.cli.command import main
from bomgen.workflow.plan_files import open_plan

CHECKOUT = Path(__file__).parents[2]
FIXED = """bomgen: 1
name: NAME
title: A small cluster
cluster:
  gpu: h100-sxm
  servers: 4
fabrics:
  compute: default
quote:
  price_book: indicative
"""
TRAINING = """bomgen: 1
name: NAME
workload:
  training:
    model: llama-3.1-70b
    tokens: 2T
    target_days: 30
    mfu: 40%
cluster:
  gpu: h100-sxm
fabrics:
  compute: default
quote:
  price_book: indicative
"""
SEARCHED = TRAINING.replace("    target_days: 30\n", "").replace("gpu: h100-sxm", "gpu: h100-sxm\n  servers: 64")
PLANS = {
    **dict.fromkeys(("mistake", "completion", "quote", "download", "save", "writers", "keyboard"), FIXED),
    **dict.fromkeys(
        ("everyone", "phone", "wall", "dark", "typing", "other", "share", "stranger", "killed/killed"), FIXED
    ),
    **dict.fromkeys(("search", "browsers"), SEARCHED),
    "days": TRAINING,
    "back": FIXED.partition("quote:")[0],
    "alone/alone": FIXED,
    "windows": FIXED.replace("\n", "\r\n"),
    "refused": f"{FIXED}spares: {{server: *servers}}\n".replace("servers: 4", "servers: &servers 4"),
    "prices": FIXED.partition("quote:")[0],
}
"""The plan of each story that begins with one."""
LIST = "Part number,Price USD,Price USD\ndgx-h100,300000,200000\nqm9700,25000,20000\n"
"""A price list of two columns that may be the price."""
OPEN = "Part number,Price,Price\ndgx-h100,300000,200000\nqm97000,25000,20000\n"
"""A list that names no currency, either, and has a slip in a part number."""
TWO = "Part number,List price USD,Partner USD\ndgx-h100,300000,255000\nqm9700,25000,21000\n"
"""A list with a second column of prices, which its heading does not call so."""
LANGUAGES = 2
LEFT_OUT = () if DEEP else ("wall", "windows", "typing", "share", "browsers", "writers", "instead")
"""Stories that are left to `make deep`: another width, other ends of lines, many builds, browsers or
writers at once, links, the other column of a list."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plans and the files that are dropped."""
    place = tmp_path_factory.mktemp("serve")
    for name in ("killed", "alone", "customers"):
        (place / name).mkdir()
    for name, text in PLANS.items():
        (place / f"{name}.yaml").write_bytes(text.replace("NAME", Path(name).name).encode())
    (place / "open.csv").write_text(OPEN, "utf-8")
    (place / "list.csv").write_text(LIST, "utf-8")
    (place / "two.csv").write_text(TWO, "utf-8")
    (place / "quote.xlsx").write_bytes(_edited(place / "quote.yaml"))
    return place


def _edited(plan: Path) -> bytes:
    """Return the quote of a plan with two servers to spare, and a switch that the plan does not need."""
    quote = Quote(workbook_of(open_plan(str(plan), None)))
    quote.cell("server", "spare").value = 2
    quote.cell("compute.switch.leaf", "quantity").value = 3
    return quote.saved()


@pytest.fixture(scope="module")
def stories(judge: Any, folder: Path) -> dict[str, dict[str, Any]]:
    """What every story shows, by its name."""
    chromium = judge("chromium-headless-shell")
    judge("npm:axe-core")
    environment = {**os.environ, "NODE_PATH": str(judge("npm:playwright-core").parent), "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("serve.cjs")), str(chromium), sys.executable, str(folder), *LEFT_OUT],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    print(*(f"{name}: {seen['seconds']:.1f} s" for name, seen in found.items()), sep="\n")
    return found


@pytest.fixture
def story(stories: dict[str, dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    """What a story shows, which went to its end."""

    def told(name: str) -> dict[str, Any]:
        assert "failed" not in stories[name], stories[name]["failed"]
        return stories[name]

    return told


def test_a_mistake_is_underlined_with_its_remedy(story):
    """While the result stays the last valid one, in its tab only; a corrected mistake leaves no mark."""
    seen = story("mistake")
    assert seen["underlined"] == "h100-sx"
    assert seen["tip"] == "no gpu 'h100-sx'; did you mean 'h100-sxm'?"
    assert seen["listed"] == [f"Line 5: {seen['tip']}"]
    assert seen["state"].startswith("Fix the errors")
    assert seen["kept"]
    assert seen["left"] == 0
    assert seen["other"] == ""


def test_parts_are_completed(story):
    """The parts that begin so come first, and Enter takes one; a new line begins where a key or an item does."""
    seen = story("completion")
    assert seen["parts"][0].startswith("h20H20")
    assert "h200-sxmH200 SXM 141GB" in seen["parts"]
    assert seen["line"].strip() == "gpu: h200-sxm"
    assert seen["text"].endswith("  charges:\n    - {kind: support, years: 3, share: 4%}\n")


def test_days_change_the_total(story):
    """The total, the difference since the last save with its lines, and the quote in the frame."""
    seen = story("days")
    assert seen["before"] == seen["again"] != seen["after"]
    assert seen["delta"].startswith("Changes since the last save: +")
    assert any(line.startswith("DGX H100") for line in seen["lines"])
    assert seen["after"] in seen["shown"]


def test_the_form_writes_a_plan_that_builds(story, folder, tmp_path):
    """Answers become keys of the text, before it is saved, too, and the text becomes answers; comments stay."""
    seen = story("form")
    assert "h200-sxm" in seen["text"]
    assert seen["text"].startswith("# The published calculation of optical modules")
    assert "gpu: h100-sxm" in seen["written"]
    assert "customer: Acme" in seen["written"]
    assert seen["again"] == seen["written"].replace("Acme", "Nobody") == (folder / "from-form.yaml").read_text("utf-8")
    done = CliRunner().invoke(main, ["build", str(folder / "from-form.yaml"), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output


def test_a_plan_begins_with_the_form(story, folder, tmp_path):
    """By keys alone; its blocks have comments, and the page says what a quote lacks and how parts get prices."""
    seen = story("begin")
    assert seen["begin"].startswith("Answer the first question")
    assert seen["headings"] == ["Workload", "Hardware", "Network", "Storage and site", "Prices", "Quote"]
    assert seen["axe"] == {}
    assert seen["purposes"] == ["training", "inference", "training"]
    assert not seen["dialog"]
    written = seen["written"]
    assert "\nname: begun\n" in written
    for line in ("workload:", "  training:", "quote:"):
        assert [text for text in written.splitlines() if text.startswith(line) and "# " in text], written
    for line in ("tax: 19%", "customer: Acme", "kind: support, years: 3"):
        assert line in written
    assert "has a price yet" in seen["prices"]
    assert "dgx-b300" in seen["list"]
    assert "part: dgx-b300, price: 280000" in seen["book"]
    assert seen["total"] == "2 of 10 lines priced"
    assert seen["missing"].startswith("A quote to a customer also needs: Vendor.")
    names = "".join(seen["formats"])
    assert "wiring-ibnet" in names
    assert not [text for text in seen["formats"] if text.startswith("dot")]
    done = CliRunner().invoke(main, ["build", str(folder / "begun.yaml"), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output


def test_an_answer_about_a_list_can_be_changed(story):
    """Back shows the question before with its answer, after a refusal, too; slips are named."""
    seen = story("back")
    assert "has prices in SEK" in seen["refused"]
    assert seen["currencies"][:2] == ["Choose …", "USD"]
    assert seen["near"] == ["qm97000 ≈ qm9700"]


def test_designs_are_filtered(story):
    """By words of title and name."""
    seen = story("gallery")
    assert seen["all"] > len(seen["shown"]) > 0
    assert all("H200" in text and "XE9680" in text for text in seen["shown"])


def test_the_only_plan_is_compared(story):
    """With a copy that the page saves, and with a design."""
    seen = story("alone")
    assert seen["said"].startswith("This folder has no other plan.")
    assert seen["copy"] == FIXED.replace("NAME", "alone")
    assert "my-a100-32-zh.yaml" not in seen["compared"]
    assert "a100-32-zh.yaml" in seen["compared"]
    assert seen["scrolled"]
    assert "32 卡 A100" in seen["compared"] or "my-a100-32-zh" in seen["compared"]


def test_a_price_list_is_asked_about_and_used(story):
    """The question names both columns; its answer raises the coverage and the total."""
    seen = story("prices")
    assert "B 'Price USD', C 'Price USD'" in seen["asked"]
    assert seen["offered"] == ["Choose …", "B: Price USD", "C: Price USD"]
    assert seen["coverage"] == "Priced lines: 0 of 6 before, 2 of 6 after"
    assert (seen["before"], seen["after"]) == ("No total yet", "2 of 6 lines priced")
    assert "{part: dgx-h100, price: 200000}" in seen["book"]
    assert "price_book: list.prices.yaml" in seen["text"]


@pytest.mark.deep
def test_another_column_of_prices_is_one_click_away(story):
    """And back again; the warning names no command."""
    seen = story("instead")
    [said] = seen["said"]
    assert said.endswith("those of column BRead column C: Partner USD instead")
    assert seen["amount"] == "at least 1,062,000.00 USD"


def test_an_edited_quote_is_taken_and_its_conflict_chosen(story):
    """What the plan calculates is a conflict; a setting that gives the same is chosen, and the other edit taken."""
    seen = story("quote")
    [conflict] = seen["conflicts"]
    assert "compute.switch.leaf" in conflict
    assert "  spare_servers: 2\n" in seen["text"]
    assert "spares: {switch: 1}" in seen["text"]


def test_a_point_of_a_search_is_picked(story):
    """Pointing at one says what it is; a click writes it into the plan, and nothing else."""
    seen = story("search")
    assert seen["points"] > 1
    servers = seen["said"].partition("Number of GPU servers: ")[2].partition(":")[0]
    assert seen["after"] == seen["before"].replace("servers: 64", f"servers: {servers}") != seen["before"]


def test_workbooks_have_the_bytes_of_the_command(story, folder, tmp_path):
    """What is downloaded is what `bomgen build` writes: the quote alone."""
    seen = story("download")
    arguments = ["build", str(folder / "download.yaml"), "-o", str(tmp_path), "-f", "quote.xlsx"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert seen["name"] == "quote.xlsx"
    content = (folder / "downloads" / "quote.xlsx").read_bytes()
    assert content == (tmp_path / "download" / "quote.xlsx").read_bytes()
    assert "A small cluster" in seen["printed"]


def test_a_plan_is_saved_in_place(story):
    """The file changes when it is saved, and not before."""
    seen = story("save")
    assert seen["unsaved"] == FIXED.replace("NAME", "save")
    assert seen["written"] == seen["text"] == seen["unsaved"].replace("servers: 4", "servers: 6")


@pytest.mark.deep
def test_a_file_keeps_the_ends_of_its_lines(story):
    """It is not changed by opening it; a key that is held saves once, and asks nothing."""
    seen = story("windows")
    assert seen["opened"] == "windows.yaml"
    assert seen["dialogs"] == 0
    written = PLANS["windows"].replace("NAME", "windows").replace("servers: 4", "servers: 6")
    assert seen["written"] == written


def test_a_refusal_is_said_where_it_was_asked_for(story):
    """In the dialog or the form, which stay as they are; the name of another file is not taken without a question."""
    seen = story("refused")
    assert seen["link"].startswith("Failed: the link")
    assert "none/refused.yaml' does not exist" in seen["name"]
    assert "Replaces refused.yaml, which already exists." in seen["exists"]
    assert seen["kept"] == PLANS["refused"].replace("NAME", "refused")
    assert "cannot be edited alone" in seen["form"]
    assert seen["answers"] == "h100-sxm"
    assert seen["typed"] == "Meanwhile"
    assert "title: After all" in seen["title"]
    assert seen["folder"].startswith("Failed: ")


@pytest.mark.deep
def test_a_second_writer_loses_nothing(story):
    """Nothing is written until somebody has chosen; then the file is the text that was chosen, and the other undone."""
    seen = story("writers")
    mine, theirs = seen["Keep my version"], seen["Load the version on disk"]
    for choice in (mine, theirs):
        assert "# by another program" in choice["on_disk"]
        assert choice["written"] == choice["text"]
    assert "servers: 6" in mine["text"]
    assert "# by another program" not in mine["text"]
    assert theirs["text"] == theirs["on_disk"]
    assert "servers: 7" in seen["undone"]
    assert seen["unread"]["said"] == "The version on disk cannot be loaded because it is not UTF-8 text."
    assert seen["unread"]["buttons"] == ["Keep my version"]


def test_two_customers_keep_their_prices(story):
    """Each has those that were entered for it; plans that are not listed are mentioned; processes end with the page."""
    seen = story("customers")
    first, second = seen["books"]
    assert "price: 100000" in first
    assert "price: 300000" in second
    assert len(seen["unlisted"]) == 2
    assert all("2 are listed" in said for said in seen["unlisted"]), seen["unlisted"]
    assert seen["open"] > 0
    assert seen["closed"] == 0


def test_a_server_that_is_killed_takes_no_text_with_it(story):
    """The page says what to do and keeps the text; a server that is started again has the saved one."""
    seen = story("killed")
    assert "Restart `bomgen serve`" in seen["said"]
    assert "servers: 6" in seen["text"]
    assert "servers: 7" in seen["copy"]
    assert "servers: 4" in seen["back"]


@pytest.mark.deep
def test_builds_that_are_overtaken_are_given_up(story):
    """What is shown at the end is the last text; older builds are ended or answered, and none fails."""
    seen = story("typing")
    assert {*seen["statuses"]} <= {200, 499}
    assert seen["servers"] == "12"


@pytest.mark.deep
def test_two_browsers_do_not_disturb_each_other(story):
    """While one searches, the other's edit shows at once; a search ends when it is stopped."""
    seen = story("browsers")
    assert seen["before"] != seen["after"]
    assert seen["searching"] == 1
    assert seen["stopped"] == 0
    assert seen["other"] == SEARCHED.replace("NAME", "browsers")


@pytest.mark.deep
def test_a_link_holds_the_plan(story, folder):
    """The link of one person opens at the page of another, and has no token; the report is a file without scripts."""
    seen = story("share")
    assert not seen["token"]
    assert seen["text"] == FIXED.replace("NAME", "share")
    assert (folder / "downloads" / seen["name"]).read_text("utf-8").startswith("<!DOCTYPE html>")


def test_pages_of_others_get_nothing(story):
    """A page of another origin that knows the token reads nothing, writes nothing and frames nothing."""
    seen = story("stranger")
    assert seen["statuses"]
    assert [status for status in seen["statuses"] if not status.endswith((" 403", " 501"))] == []
    assert {**seen["tried"], "text": ""} == {
        **dict.fromkeys(("read", "call"), "TypeError"),
        **dict.fromkeys(("script", "style"), "refused"),
        "text": "",
    }
    assert seen["framed"] == 0
    assert seen["kept"] == FIXED.replace("NAME", "stranger")


def test_axe_finds_nothing(story):
    """In no view or dialog, light or dark."""
    seen = story("everyone")
    assert seen["axe"] == {}


@pytest.mark.parametrize("name", ["phone", pytest.param("wall", marks=pytest.mark.deep)])
def test_every_screen_is_wide_enough(story, name):
    """No view, tab or dialog is wider than 390 or 1920 pixels, in either language, nor is a document in the frame."""
    seen = story(name)
    assert {name: wide for name, wide in (seen["overflow"] | seen["frames"]).items() if wide} == {}
    assert len(seen["frames"]) == LANGUAGES * len(seen["words"]["en"]["tabs"])
    assert [seen["words"][code]["lang"] for code in ("en", "zh")] == ["en", "zh"]
    assert not {*seen["words"]["en"]["tabs"]} & {*seen["words"]["zh"]["tabs"]}


def test_dark_and_light(story):
    """Page and document are dark as the machine is, and light when somebody says so; a quote is paper."""
    seen = story("dark")
    assert [min(_levels(ground)) < 64 for ground in seen["paper"]] == [True, False]
    assert [min(_levels(ground)) < 64 for ground in seen["dark"]] == [True, True]
    assert [min(_levels(ground)) > 192 for ground in seen["light"]] == [True, True]


def _levels(colour: str) -> list[int]:
    return [int(level) for level in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def test_keys_are_enough(story):
    """A plan is opened, edited and saved and a tab chosen without a mouse, with a focus that is always seen."""
    seen = story("keyboard")
    assert seen["unseen"] == []
    assert "servers: 8" in seen["written"]
    assert seen["tab"] == "Margin"
    assert seen["back"] == "tab-margin"


def test_nothing_leaves_the_machine(stories):
    """No story asks another address, and the browser complains of nothing, its policy included."""
    assert {name: found["requests"] for name, found in stories.items() if found["requests"]} == {}
    assert {name: found["errors"] for name, found in stories.items() if found["errors"]} == {}
