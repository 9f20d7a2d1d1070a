"""Locks: the same quote later, whatever price books say, and what is said of a lock that is stale."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bomgen.cli.command import main
from bomgen.results.result import Report
from bomgen.workflow.library import build, check
from bomgen.workflow.pipeline import lock_result, work_out
from bomgen.workflow.plan_files import lock_name, open_plan

PLAN = """\
bomgen: 1
name: x
cluster: {gpu: h100-sxm, servers: 32}
fabrics:
  compute: {topology: rail-optimized, switch: qm9700}
quote:
  currency: EUR
  price_book: [list.yaml, dollars.csv]
  exchange: {USD: {rate: 0.9, date: 2026-11-02, source: ECB}}
  alternatives: [{name: more, set: {cluster.servers: 64}}]
"""
LIST = """\
bomgen_prices: 1
name: List
currency: EUR
prices:
  - {part: dgx-h100, price: 300000}
  - {part: qm9700, price: 20000}
  - {part: qm9700, price: 18000, from_quantity: 10}
  - {part: mqm8700-hs2f, price: 7000}
"""
DOLLARS = "part,price,currency\nmfp7e10-n030,100,USD\n"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with two price books and a rate, in the current folder."""
    for name, text in (("x.yaml", PLAN), ("list.yaml", LIST), ("dollars.csv", DOLLARS)):
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "x.yaml"


def run(*arguments: str) -> Result:
    """The outcome of a command."""
    return CliRunner().invoke(main, list(arguments))


def result_of(plan: Path) -> Report:
    """The result of a plan, with its lock where there is one."""
    return work_out(open_plan(plan.name, None))


def amended(path: Path, old: str, new: str) -> None:
    """Replace a text that stands in a file."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def warnings_of(plan: Path) -> list[str]:
    """What is said of a stale lock."""
    return [problem.message for problem in result_of(plan).stale]


def test_a_lock_keeps_the_quote_byte_for_byte(plan: Path) -> None:
    """Other prices, another rate's source, a book that is gone: every file of the build stays as it was."""
    assert run("lock", "x.yaml").exit_code == 0
    assert run("build", "x.yaml", "-o", "then").exit_code == 0
    amended(plan.with_name("list.yaml"), "20000", "25000")
    amended(plan.with_name("list.yaml"), "prices:\n", "prices:\n  - {part: mma4z00-ns, price: 1}\n")
    plan.with_name("dollars.csv").unlink()
    assert run("build", "x.yaml", "-o", "now").exit_code == 0
    files = sorted(path.name for path in Path("then/x").iterdir())
    assert {"bom.csv", "bom.json", "report.html", "report.md", "report.xlsx"} <= set(files)
    assert [Path("then/x", name).read_bytes() for name in files] == [Path("now/x", name).read_bytes() for name in files]
    assert sorted(entry["name"] for entry in json.loads(Path("now/x/bom.json").read_bytes())["plan"]["inputs"]) == [
        "x.lock"
    ]


def test_a_lock_costs_what_the_books_cost(plan: Path) -> None:
    """A fresh lock changes no amount, of the plan or its alternatives, and is not stale."""
    free = result_of(plan)
    assert run("lock", "x.yaml").exit_code == 0
    pinned = result_of(plan)
    amounts = [[line.amount for line in each.quote.lines] for each in (free, *free.alternatives)]
    assert amounts == [[line.amount for line in each.quote.lines] for each in (pinned, *pinned.alternatives)]
    assert pinned.stale == ()
    assert run("check", "--locked", "x.yaml").exit_code == 0
    # 32 servers at 300 000, 8 leaves and 4 spines of the price break from ten: 12 x 18 000.
    by_part = {line.line.part: line.amount for line in pinned.quote.lines}
    assert by_part["dgx-h100"] == Decimal(9_600_000)
    assert sum(line.amount or 0 for line in pinned.quote.lines if line.line.part == "qm9700") == 12 * 18_000


def test_writing_a_lock_twice_gives_the_same_bytes_and_takes_what_is_new(plan: Path) -> None:
    """The second lock does not rest on the first."""
    assert run("lock", "x.yaml").exit_code == 0
    first = Path("x.lock").read_bytes()
    assert run("lock", "x.yaml").exit_code == 0
    assert Path("x.lock").read_bytes() == first
    amended(plan.with_name("list.yaml"), "300000", "310000")
    assert warnings_of(plan)
    assert run("lock", "x.yaml").exit_code == 0
    assert warnings_of(plan) == []


def test_what_is_stale_is_said(plan: Path) -> None:
    """Prices, price breaks, rates, books and currencies that changed, each with then and now."""
    assert run("lock", "x.yaml").exit_code == 0
    books = {name: plan.with_name(name).read_text("utf-8") for name in ("x.yaml", "list.yaml", "dollars.csv")}
    changes = (
        ("list.yaml", "price: 300000", "price: 310000", "dgx-h100 300000 EUR -> 310000 EUR"),
        ("list.yaml", "price: 18000", "price: 18500", "qm9700 from 10 18000 EUR -> 18500 EUR"),
        ("list.yaml", "price: 20000}", "price: 20000, source: a}", "qm9700 (date, source or validity)"),
        ("list.yaml", "  - {part: qm9700, price: 20000}\n", "", "qm9700 20000 EUR -> no price"),
        ("list.yaml", "prices:\n", "prices:\n  - {part: mma4z00-ns, price: 9}\n", "no price -> 9 EUR"),
        ("x.yaml", "rate: 0.9", "rate: 0.8", "the pinned 0.9 of 2026-11-02 is taken"),
        ("x.yaml", "[list.yaml, dollars.csv]", "[list.yaml]", "no longer names the price book dollars.csv"),
        ("x.yaml", "switch: qm9700", "switch: mqm8700-hs2f", "prices that are not pinned: mqm8700-hs2f"),
        ("x.yaml", "currency: EUR", "currency: GBP", "they are not used"),
    )
    for name, old, new, wanted in changes:
        amended(plan.with_name(name), old, new)
        if "GBP" in new:
            amended(plan, "{USD:", "{EUR: {rate: 0.85, date: 2026-11-02}, USD:")
        if "8700" in new:
            amended(plan, "{topology: rail-optimized,", "{topology: rail-optimized, link: 200G,")
        assert [message for message in warnings_of(plan) if wanted in message], wanted
        checked = run("check", "x.yaml")
        assert (checked.exit_code, "[stale-lock]" in checked.stderr) == (0, True)
        refused = run("check", "--locked", "x.yaml")
        assert (refused.exit_code, refused.stdout, ": error: " in refused.stderr) == (1, "", True)
        assert run("build", "--locked", "x.yaml", "-o", "none").exit_code == 1
        assert not Path("none").exists()
        for file, text in books.items():
            plan.with_name(file).write_text(text, "utf-8")
        assert warnings_of(plan) == []


def test_what_nothing_rests_on_makes_no_lock_stale(plan: Path) -> None:
    """A price of a part that the plan knows nothing of, or another title, leaves the lock as it is."""
    assert run("lock", "x.yaml").exit_code == 0
    amended(plan.with_name("list.yaml"), "price: 7000", "price: 8000")
    amended(plan, "name: x\n", "name: x\ntitle: another\n")
    assert warnings_of(plan) == []


def test_a_changed_record_of_the_catalogue_is_stale(plan: Path) -> None:
    """A part folder of the plan's own, where a figure of the switch changes."""
    parts = plan.with_name("parts") / "switch"
    parts.mkdir(parents=True)
    data = Path(__file__).parents[2] / "bomgen" / "data" / "switch" / "qm9700.yaml"
    shutil.copy(data, parts / "own-switch.yaml")
    amended(plan, "switch: qm9700", "switch: own-switch")
    amended(plan, "name: x\n", "name: x\ncatalog: [parts/]\n")
    assert run("lock", "x.yaml").exit_code == 0
    assert warnings_of(plan) == []
    (parts / "own-switch.yaml").write_text(data.read_text("utf-8") + "# looked up again\n", "utf-8")
    (message,) = warnings_of(plan)
    assert "the catalogue has changed: switch/own-switch" in message


def test_a_default_that_changed_is_named_with_what_it_was(plan: Path) -> None:
    """A lock has the defaults that its result rested on; `--locked` refuses a plan whose defaults are others now."""
    assert run("lock", "x.yaml").exit_code == 0
    lock = plan.with_name("x.lock")
    assert "  fabric-build-out: exact\n" in lock.read_text("utf-8")
    record = next(line for line in lock.read_text("utf-8").splitlines() if "assumption/fabric-build-out: " in line)
    amended(lock, "  fabric-build-out: exact\n", "  fabric-build-out: full\n")
    amended(lock, record, f'  assumption/fabric-build-out: "{"0" * 64}"')
    (message,) = warnings_of(plan)
    assert "defaults have changed: fabric-build-out full -> exact" in message
    assert run("check", "x.yaml", "--locked").exit_code == 1
    amended(lock, "  fabric-build-out: full\n", "")
    assert any("uses defaults that are not pinned: fabric-build-out exact" in each for each in warnings_of(plan))


def test_another_program_that_counts_otherwise_is_told(plan: Path) -> None:
    """The same plan on the same prices and records, and another bill: the lock says what it was."""
    text, _ = lock_result(open_plan("x.yaml", None))
    lines = next(line for line in text.splitlines() if line.startswith("lines: "))
    Path("x.lock").write_text(text.replace(lines, f'lines: "{"0" * 64}"').replace("version: ", "version: 1"), "utf-8")
    Path("x.lock").write_text(Path("x.lock").read_text("utf-8").replace('version: 1"', 'version: "1'), "utf-8")
    (message,) = warnings_of(plan)
    assert "the bill is not the one of this lock, which bomgen 1" in message


def test_a_lock_stands_beside_its_plan(tmp_path: Path) -> None:
    """Its name is the plan's; a plan from standard input has none."""
    assert [lock_name(name) for name in ("a/x.yaml", "x.yml", "x.y", "x")] == [
        "a/x.lock",
        "x.lock",
        "x.y.lock",
        "x.lock",
    ]
    refused = run("lock", "-")
    assert (refused.exit_code, "name its file" in refused.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_a_lock_is_a_file_of_the_plans_own(plan: Path, tmp_path: Path) -> None:
    """Two plans whose names differ by the suffix alone have no common lock, and a link leads to none elsewhere."""
    plan.with_suffix(".yml").write_text(PLAN, "utf-8")
    refused = run("lock", "x.yaml", "x.yml")
    assert (refused.exit_code, "have one lock, x.lock" in refused.stderr) == (2, True)
    plan.with_suffix(".yml").unlink()
    outside = tmp_path.parent / f"{tmp_path.name}.txt"
    outside.write_text("mine", "utf-8")
    Path("x.lock").symlink_to(outside)
    for command in ("lock", "check"):
        refused = run(command, "x.yaml")
        assert (refused.exit_code, "leads out of the plan's folder tree" in refused.stderr) == (2, True)
    assert outside.read_text("utf-8") == "mine"


def test_the_sellers_costs_are_in_no_lock(plan: Path) -> None:
    """A cost book is neither pinned nor named."""
    amended(plan, "  currency: EUR\n", "  currency: EUR\n  cost_book: secret.yaml\n")
    plan.with_name("secret.yaml").write_text(LIST.replace("300000", "123456"), "utf-8")
    assert run("lock", "x.yaml").exit_code == 0
    text = Path("x.lock").read_text("utf-8")
    assert "secret" not in text
    assert "123456" not in text


def test_a_rate_that_is_set_comes_over_the_lock(plan: Path) -> None:
    """By --set or by an alternative; other overrides leave the pinned rate in force."""
    amended(plan, "alternatives: [", "alternatives: [{name: weak, set: {quote.exchange.USD.rate: 0.5}}, ")
    assert run("lock", "x.yaml").exit_code == 0
    amended(plan, "rate: 0.9", "rate: 0.8")

    def cables(report: Report) -> set[Decimal]:
        return {line.unit.amount or Decimal(0) for line in report.quote.lines if line.line.part == "mfp7e10-n030"}

    file = open_plan(plan.name, None)
    pinned = work_out(file)
    assert [cables(each) for each in (pinned, *pinned.alternatives)] == [{90}, {50}, {90}]
    assert cables(work_out(file, ["cluster.servers=64"])) == {90}
    for setting in ("quote.exchange.USD.rate=0.7", "quote.exchange={USD: {rate: 0.7, date: 2026-11-03}}"):
        over = work_out(file, [setting])
        assert [cables(each) for each in (over, *over.alternatives)][::2] == [{70}, {70}]
        assert any("by --set, and the pinned 0.9 of 2026-11-02 is not taken" in each.message for each in over.stale)


def test_books_that_only_alternatives_name_are_pinned(plan: Path) -> None:
    """They are inputs, their prices are in the lock, and what has changed in them is stale; each is named once."""
    amended(plan, "{name: more, set: {", "{name: more, set: {quote.price_book: other.yaml, ")
    other = plan.with_name("other.yaml")
    other.write_text(LIST.replace("300000", "250000"), "utf-8")
    names = [entry.name for entry in result_of(plan).inputs]
    assert names == ["list.yaml", "dollars.csv", "other.yaml"]
    assert run("lock", "x.yaml").exit_code == 0
    assert warnings_of(plan) == []
    then = [each.quote.totals.amount for each in result_of(plan).alternatives]
    amended(other, "250000", "260000")
    assert [each.quote.totals.amount for each in result_of(plan).alternatives] == then
    (message,) = warnings_of(plan)
    assert message.startswith("other.yaml has changed; the pinned prices are used: dgx-h100 250000 EUR")
    other.unlink()
    assert [each.quote.totals.amount for each in result_of(plan).alternatives] == then


def other_digest(text: str, *after: str) -> str:
    """A lock with another digest behind texts that stand in it one after the other."""
    at = 0
    for each in after:
        at = text.index(each, at) + len(each)
    length = len(text[at:].split("\n")[0].strip(' "'))
    end = text.index("\n", at)
    return text[:at] + f' "{"0" * length}"' + text[end:]


def test_what_differs_of_bills_is_named(plan: Path) -> None:
    """Amounts in the minor unit of the currency, by alternative; of equal amounts the lines."""
    assert run("lock", "x.yaml").exit_code == 0
    lock = Path("x.lock")
    fresh = other_digest(lock.read_text("utf-8"), "lines:")
    report = result_of(plan)
    amount, more = (each.quote.totals.amount for each in (report, *report.alternatives))
    cases = (
        (fresh, "the same amount, with other lines"),
        (
            other_digest(fresh, "bills:", "compute.switch.leaf:"),
            "the same amount, with other lines: compute.switch.leaf",
        ),
        (
            other_digest(fresh, "alternative: more", "compute.switch.leaf:"),
            "alternative 'more' the same amount, with other lines: compute.switch.leaf",
        ),
        (fresh.replace(f'- amount: "{amount}"', '- amount: "1.5"'), f"{amount} EUR now, 1.50 EUR then"),
        (
            fresh.replace(f'    amount: "{more}"', '    amount: "10"'),
            f"alternative 'more' {more} EUR now, 10.00 EUR then",
        ),
    )
    for text, wanted in cases:
        lock.write_text(text, "utf-8")
        (message,) = warnings_of(plan)
        assert message.startswith(f"the bill is not the one of this lock: {wanted};"), wanted


def test_a_lock_of_before_bills_were_in_it_is_read(plan: Path) -> None:
    """It says what the whole came to."""
    assert run("lock", "x.yaml").exit_code == 0
    lock = Path("x.lock")
    text = lock.read_text("utf-8")
    before = text[: text.index("bills:")] + text[text.index("rates:") :]
    lock.write_text(before, "utf-8")
    assert warnings_of(plan) == []
    lock.write_text(other_digest(before, "lines:").replace("amount: ", "amount: 1 #"), "utf-8")
    (message,) = warnings_of(plan)
    assert " EUR now, 1.00 EUR then;" in message


@pytest.mark.usefixtures("plan")
def test_the_lock_is_named_as_what_is_read_or_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """-v names it; where it cannot be read, it is the lock that is at fault and not the plan."""
    assert run("lock", "x.yaml").exit_code == 0
    size = Path("x.lock").stat().st_size
    assert f"read x.lock, {size} bytes" in run("check", "-v", "x.yaml").stderr
    opened = Path.open

    def refused(self: Path, *arguments: Any, **named: Any) -> Any:
        if self.suffix == ".lock":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **named)

    monkeypatch.setattr(Path, "open", refused)
    said = run("check", "x.yaml")
    assert (said.exit_code, said.stderr) == (2, "Error: cannot read the lock 'x.lock': Permission denied\n")


def test_margin_and_the_library_say_that_a_lock_is_stale(plan: Path) -> None:
    """As `check` and `build` do."""
    amended(plan, "  currency: EUR\n", "  currency: EUR\n  cost_book: list.yaml\n")
    assert run("lock", "x.yaml").exit_code == 0
    amended(plan.with_name("list.yaml"), "300000", "310000")
    assert "[stale-lock]" in run("margin", "x.yaml").stderr
    assert [problem.rule for problem in build("x.yaml").warnings].count("stale-lock") == 1
    assert build("x.yaml").warnings == tuple(check("x.yaml"))


def test_a_lock_keeps_the_names_of_devices(plan: Path) -> None:
    """A locked plan that grows past 99 servers has the names of its lock; one written anew keeps them, too."""
    assert run("lock", "x.yaml").exit_code == 0
    assert "\n  server: 2\n" in plan.with_name(lock_name("x.yaml")).read_text("utf-8")
    plan.write_text(PLAN.replace("servers: 32", "servers: 128"), "utf-8")
    assert run("lock", "x.yaml").exit_code == 0
    for arguments, first in ((["wiring", "x.yaml"], "server-01,"), (["wiring", "y.yaml"], "server-001,")):
        plan.with_name("y.yaml").write_text(plan.read_text("utf-8"), "utf-8")
        assert f",{first}" in run(*arguments).output
