"""Plans from one end to the other: a report that its own checks and those here find right, or problems in place."""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random

import jsonschema
from oracles import Unwritten, dumped, held, well_told
from trees import Plans
from tripwire import nothing_touched

from bomgen.core import schema
from bomgen.core.diagnostics import OutputError, PlanErrors
from bomgen.core.yaml_source import decoded, read
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.inputs import text_of
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import PlanFile

CHECKOUT = Path(__file__).parents[2]
PLANS = CHECKOUT / "plans"
MOST_BYTES = 8192
TOKENS = ("bomgen: 1\n", "cluster: ", "fabrics: ", "quote: ")
FILE = "plan.yaml"
SELDOM = 32
"""One plan of so many, by its own bytes, is also wired and written in every form, which is slow."""
MOST_LINKS = 20_000
"""Links up to which a plan is wired."""
FORMS = ("md", "html", "xlsx", "json", "csv", "cdx", "svg")
SMALL = """
bomgen: 1
name: small
cluster: {gpu: h100-sxm, servers: 16}
fabrics: {compute: {switch: qm9700}, storage: default, in_band: default, out_of_band: default}
"""


@cache
def plans() -> Plans:
    """The plans of the checkout, and what others are made of."""
    return Plans([read(content.decode(), FILE).data for content in seeds()])


@cache
def load() -> None:
    """Import what stages import when they are asked."""
    import bomgen.cabling.length_fitting
    import bomgen.cabling.wiring  # noqa: F401


def seeds() -> Iterator[bytes]:
    """The plans of the checkout, without their comments, and a small one."""
    for text in (SMALL, *(path.read_text("utf-8") for path in sorted(PLANS.glob("*.yaml")))):
        yield (dumped(read(text, FILE).data) + "\n").encode()


def run(data: bytes) -> None:
    """Work out what the bytes of a plan stand for, write nothing, and hold the result against what is known of it."""
    load()
    file = PlanFile(FILE, data, PLANS, CHECKOUT)
    with nothing_touched(reading=True):
        try:
            report = work_out(file)
        except PlanErrors as errors:
            _told(file, errors)
            return
    _result_holds(report)
    if crc32(data) % SELDOM == 0:
        _all_of_it(file, report)


def _told(file: PlanFile, errors: PlanErrors) -> None:
    """The problems, each inside the text of its file."""
    names = {problem.mark.file for problem in errors.problems}
    texts = {name: text_of(file, name).removeprefix("\ufeff") for name in names if not name.endswith(".xlsx")}
    well_told(errors.problems, {name: text for name, text in texts.items() if text})


def _result_holds(report: Report) -> None:
    """No check fails; pieces are counted; the totals are the sums of the lines."""
    held(all(check.status != "fail" for check in report.checks), lambda: str(report.checks))
    for line in report.quote.lines:
        quantity = line.line.quantity.value
        held(isinstance(quantity, int) and quantity >= 0, lambda: f"{line.line.id}: {quantity!r}")  # noqa: B023
        spare = line.line.spare.value if line.line.spare else 0
        held(isinstance(spare, int) and spare >= 0, lambda: f"{line.line.id}: {spare!r} spare")  # noqa: B023
    totals = report.quote.totals
    amounts = [line.amount for line in report.quote.lines if line.amount is not None]
    if totals.amount is not None:
        held(sum(amounts, Decimal(0)) + (totals.tax or 0) == totals.amount, lambda: f"{totals}")
    for built in report.design.fabrics:
        for place, ports in built.fabric.free_ports.items():
            held(ports.value >= 0, lambda: f"{place}: {ports.value} free")  # noqa: B023
    if report.problems:
        well_told(report.problems, {})


def _all_of_it(file: PlanFile, report: Report) -> None:
    """The result fits its schema, every form can be written, and the wiring agrees with the design."""
    data = result(report)
    jsonschema.Draft202012Validator(schema.document("bom")).validate(data)
    held(json.loads(json.dumps(data, allow_nan=False)) == data, "JSON changes it")
    try:
        render(report._replace(templates=()), FORMS)
        for each in report.each_cluster:
            links = sum(int(link.count.value) for built in each.design.fabrics for link in built.fabric.links)
            if links <= MOST_LINKS:
                list_cables(each)
    except PlanErrors as errors:
        _told(file, errors)
    except OutputError:
        return
    held(result(work_out(file)) == data, "another result the second time")


def mutated(data: bytes, most: int, random: Random, other: Callable[[bytes, int], bytes]) -> bytes:
    """Another plan: one with other keys and values; seldom other bytes."""
    if random.random() < 0.02:
        return other(data, most)
    try:
        plan = read(decoded(data, FILE), FILE).data
    except PlanErrors:
        plan = None
    if not isinstance(plan, dict) or random.random() < 0.02:
        plan = random.choice(plans().kept)
    try:
        return (dumped(plans().changed(random, plan)) + "\n").encode()[:most]
    except (Unwritten, UnicodeEncodeError):
        return data
