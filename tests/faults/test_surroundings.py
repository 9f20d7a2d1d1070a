"""Clocks that are wrong and consoles of other code pages: every command does what it does elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from children import Child, Outcome, State, outcome, state
from depth import DEEP, few
from test_streams import PRINTING

TURN = "\x1b[31m\x9b5m\N{RIGHT-TO-LEFT OVERRIDE}"
CONTROLS = {"\x1b", "\x9b", "\N{RIGHT-TO-LEFT OVERRIDE}"}
PLAN = """bomgen: 1
name: small
title: 训练集群 “α” — ½ Ω → 5 µm ✓ 𝔹
cluster: {gpu: h100-sxm, servers: 8}
fabrics: {compute: {switch: qm9700}}
quote: {language: zh, customer: {name: Müller & 株式会社 한국}, price_book: 价格.csv}
"""
BOOK = "part,price,currency,source\nqm9700,25000,USD,报价单 €\n"
BILL = f"Part,Description,Qty\nMQM9700-NS2F,交换机{TURN},4\nFOO-1{TURN},其他,2\n"
FILES = {"plan.yaml": PLAN, "价格.csv": BOOK, "bill.csv": BILL, "wrong.yaml": PLAN.replace("qm9700", "交换机–9700")}
COMMANDS = {
    **PRINTING,
    "every": ("build", "plan.yaml", "-f", "md,html,xlsx,json,csv,cdx,svg"),
    "wrong": ("check", "wrong.yaml"),
    "wrong-json": ("check", "wrong.yaml", "--format", "json"),
    "wrong-github": ("check", "wrong.yaml", "--format", "github"),
    "explained": ("explain", "plan.yaml", "--why"),
    "json": ("explain", "plan.yaml", "-f", "json"),
    "compared": ("compare", "plan.yaml", "plan.yaml", "-f", "html"),
    "changed": ("diff", "plan.yaml", "plan.yaml", "--set-new", "title=其他 ✓"),
    "changed-md": ("diff", "plan.yaml", "plan.yaml", "--set-new", "title=其他 ✓", "-f", "md"),
    "priced": ("prices", "价格.csv"),
    "book": ("prices", "价格.csv", "-o", "book.xlsx"),
    "searched": ("search", "plan.yaml", "--over", "cluster.servers=4..6", "--minimise", "gpus"),
    "seen": ("xray", "bill.csv", "--language", "zh"),
    "seen-md": ("xray", "bill.csv", "--language", "zh", "-f", "md"),
    "seen-html": ("xray", "bill.csv", "--language", "zh", "-f", "html"),
    "seen-json": ("xray", "bill.csv", "--language", "zh", "-f", "json"),
    "beside": ("diff", "bill.csv", "plan.yaml"),
    "cables": ("wiring", "plan.yaml", "-f", "xlsx", "-o", "w.xlsx"),
    "part": ("schema", "part"),
    "ids": ("schema", "plan", "--with-catalog"),
    "no-option": ("build", "--选项–✓"),
    "no-plan": ("build", "没有–✓.yaml"),
    "edited": ("apply", "价格.csv", "plan.yaml"),
}
CODE_PAGES = ("gbk", "cp437", "shift_jis", "cp1252", "ascii")
DRAWN = ("explain", "explained")
"""Commands that draw a tree, with other characters where a console has none for it."""
FOR_PROGRAMS = ("schema", "ids", "part", "seen-json", "json", "wrong-json", "checked", "build", "wiring", "prices")
"""Commands whose results are in UTF-8 wherever they go."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a plan, its price book and somebody's bill, in Chinese and with characters of many code pages."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(
    command: str, work: Path, name: str, happens: Callable[[], object] = lambda: None, code_page: str = "utf-8"
) -> tuple[Outcome, State]:
    """How a command ends in a copy of the folder, with streams of a code page, and what it leaves there."""
    place = work / name
    place.mkdir()
    for path in work.iterdir():
        if path.is_file():
            (place / path.name).write_bytes(path.read_bytes())
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = Child(COMMANDS[command], place, happens, {**environment, "PYTHONIOENCODING": code_page})
    return done.outcome(code_page), state(place)


@pytest.mark.parametrize("command", few(COMMANDS, 3))
def test_code_pages(command: str, work: Path) -> None:
    """What a code page lacks is replaced on the console; exit codes and files are those of any other.

    Nothing controls a terminal: whoever reads a pipe may show it on one, as `less -R` and the log of a review do.
    """
    here, left = run(command, work, "utf-8")
    if command != "parquet":
        assert not CONTROLS & set(here.out.decode("utf-8") + here.said)
    for code_page in CODE_PAGES if DEEP else CODE_PAGES[:1]:
        done, files = run(command, work, code_page, code_page=code_page)
        assert "Traceback" not in done.said, (code_page, done.said)
        assert (done.code, files) == (here.code, left), code_page
        shown = (
            here.out if command in FOR_PROGRAMS else here.out.decode("utf-8", "replace").encode(code_page, "replace")
        )
        assert done.out in (here.out, shown) or command in DRAWN, code_page


@pytest.mark.parametrize("command", COMMANDS if DEEP else ("every", "lock", "init"))
@pytest.mark.parametrize("clock", [0, 4_500_000_000], ids=["1970", "2112"])
def test_clocks(command: str, clock: int, work: Path) -> None:
    """A clock after a flat battery, or one of the next century, changes no result and no exit code."""

    def set_clock() -> None:
        then = time.gmtime(clock)
        time.time = lambda: float(clock)
        time.localtime = lambda *_: then  # which zip files have their dates from

    (then, files_then), (now, files_now) = run(command, work, "then", set_clock), run(command, work, "now")
    if command == "init":  # its plan has the date of the day, and the prices are older or newer than that
        assert (then.code, files_then.keys()) == (now.code, files_now.keys())
    else:
        assert (then, files_then) == (now, files_now)


# places -------------------------------------------------------------------------------------------------------------

TREE = {
    "plans/deep/plan.yaml": """bomgen: 1
name: small
extends: ../base.yaml
cluster: {gpu: h100-sxm, servers: 8}
fabrics: {compute: {switch: qm9700, links: {server-leaf: {medium: transceiver, length: 20 m}}}}
templates: [offer.txt.j2]
quote: {charges: [{kind: freight, price: 100}], tax: 6%, alternatives: [{name: a, set: {cluster.servers: 4}}]}
""",
    "plans/deep/offer.txt.j2": "{{ plan.name }}\n",
    "plans/base.yaml": """workload: {training: {model: {name: m, parameters: 30B}, tokens: 600B}}
quote: {currency: EUR, price_book: ../prices/book.csv, exchange: {USD: {rate: 0.9, date: 2026-10-01}}}
""",
    "prices/book.csv": "part,price,currency,source\nqm9700,25000,USD,list\ndgx-h100,300000,EUR,list\n",
    ".git/HEAD": "",
}


def test_results_say_nothing_of_where_they_were_made(tmp_path: Path) -> None:
    """The same bytes from any current folder, by any path to the plan, wherever the checkout lies."""
    made = []
    for number, (checkout, folder, plan) in enumerate(
        (
            ("one", "one/plans/deep", "plan.yaml"),
            ("one", "one", "plans/deep/plan.yaml"),
            ("one", "one/prices", "../plans/deep/plan.yaml"),
            ("a/checkout/elsewhere", ".", "a/checkout/elsewhere/plans/deep/plan.yaml"),
            ("a/checkout/elsewhere", ".", str(tmp_path / "a/checkout/elsewhere/plans/deep/plan.yaml")),
        )
    ):
        for name, text in TREE.items():
            (tmp_path / checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / checkout / name).write_text(text, encoding="utf-8")
        out = tmp_path / f"out{number}"
        done = outcome(["build", plan, "-q", "-f", COMMANDS["every"][-1], "-o", out], tmp_path / folder)
        assert (done.code, [line for line in done.errors if "deprecated" not in line]) == (0, [])
        made.append(state(out))
    assert all(files == made[0] for files in made)
    result = made[0]["small/bom.json"] or b""
    assert b'"plans/deep/plan.yaml:4:' in result
    assert b'"plans/base.yaml:1:' in result
    assert str(tmp_path).encode() not in b"".join(filter(None, made[-1].values()))


def test_problems_are_named_as_the_user_named_the_plan(tmp_path: Path) -> None:
    """A message leads to its line from the current folder."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("qm9700,", "qm9701,").replace("30B", "many"), encoding="utf-8")
    done = outcome(["check", "../plans/deep/plan.yaml"], tmp_path / "prices")
    assert done.said.startswith("../plans/base.yaml:1:"), done
