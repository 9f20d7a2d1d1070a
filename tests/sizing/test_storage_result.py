"""Storage as part of a whole result: lines, power, racks, warnings, and what the report says of lost time."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from written_plans import plan_file

from bomgen.core.document import Document, Table
from bomgen.core.language import language
from bomgen.documents.chapters.contents import document
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

Worked = Callable[[dict[str, Any]], Report]
Built = Callable[[dict[str, Any]], dict[str, Any]]

SERVERS = {
    **{"name": "All-flash X", "part_number": "AFX-1", "vendor": "Acme", "capacity": "500 TB"},
    **{"read": "90 GB/s", "write": "65 GB/s", "power": "2.5 kW", "rack_units": 2},
}
TRAINING = {"model": {"name": "GPT-3", "parameters": "175B"}, "tokens": "300B"}


def plan(storage: dict[str, Any] | None, training: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A cluster of 64 DGX H100 with storage, and with a training run where one is given."""
    found: dict[str, Any] = {"bomgen": 1, "name": "stored", "cluster": {"gpu": "h100-sxm", "servers": 64}, **more}
    if storage is not None:
        found["storage"] = storage
    if training is not None:
        found["workload"] = {"training": training}
    return found


def rules(report: Report, *wanted: str) -> list[str]:
    """The messages of a report's warnings of some rules."""
    return [problem.message for problem in report.problems if problem.rule in wanted]


def page(report: Report, code: str = "en") -> Document:
    """A report as a document in a language."""
    return document(report, language(code))


def tables(page: Document, section: str) -> dict[str, Table]:
    """The tables of a section by id."""
    return {table.id: table for table in page.section(section).tables}


def test_storage_servers_are_bought_and_explained(built: Built) -> None:
    """As many as the greatest need asks for, with spares, at their part number, with the reason in the line."""
    bom = built(plan({"dataset": "3 PB", "servers": SERVERS}, spares={"storage": 1}))
    (line,) = [line for line in bom["lines"] if line["category"] == "storage"]
    assert (line["part"], line["sku"], line["vendor"], line["description"]) == (
        *("all-flash-x", "AFX-1", "Acme"),
        "All-flash X",
    )
    assert (line["quantity"], line["spare"], line["unit_price"]) == (6, 1, None)
    assert "max(for_capacity, for_read, for_write); for_capacity = 6, for_read = 1, for_write = 1" == line["explain"]
    assert 6 == bom["storage"]["servers"]


def test_a_price_book_names_them_by_part_number(tmp_path: Path) -> None:
    """A price for the part number, or for the name as an id, is found."""
    for part in ("AFX-1", "all-flash-x"):
        book = f"{{bomgen_prices: 1, name: b, currency: USD, prices: [{{part: {part}, price: 100000}}]}}"
        (tmp_path / "book.yaml").write_text(book, encoding="utf-8")
        text = """
            {bomgen: 1, name: priced, cluster: {gpu: h100-sxm, servers: 64}, quote: {price_book: book.yaml},
             storage: {servers: {name: All-flash X, part_number: AFX-1, count: 3}}}"""
        report = work_out(PlanFile("plan.yaml", text.encode(), tmp_path, tmp_path))
        (line,) = [line for line in result(report)["lines"] if line["category"] == "storage"]
        assert "300000.00" == line["amount"]


def test_they_stand_in_management_racks_and_draw_power(built: Built) -> None:
    """Their height needs racks, their power is part of the site's, and no part of the network's."""
    bare, stored = (
        built(plan({"dataset": "40 PB", **storage}, site={"rack": {"units": 42, "power": "40 kW"}}))["site"]
        for storage in ({}, {"servers": SERVERS})
    )
    assert 80 * 2500 == stored["storage_power_w"] == stored["power_w"] - bare["power_w"]
    assert "network_power_w" not in stored
    # 160 U, and 200 kW in racks of 40
    assert (0, 5) == (bare.get("management_racks", 0), stored["management_racks"])


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"count": 5}, ["5 x All-flash X hold 2500 TB, but 3000 are required; 6 are enough"]),
        ({"count": 6}, []),
        ({"count": 7, "write": "2 GB/s"}, ["7 x All-flash X write 14 GB/s, but 15 are required; 8 are enough"]),
    ],
)
def test_too_few_are_warned_of(worked: Worked, servers: dict[str, Any], words: list[str]) -> None:
    """A number given by hand stands; where it falls short, the report says by how much."""
    report = worked(plan({"dataset": "3 PB", "servers": {**SERVERS, **servers}}))
    assert words == rules(report, "storage-short")
    assert servers["count"] == next(line for line in report.bill.lines if line.category == "storage").quantity.value


def test_bandwidth_that_nobody_publishes_is_said(worked: Worked, tmp_path: Path) -> None:
    """A number that follows from the data alone does not say that the system is fast enough."""
    (tmp_path / "parts" / "storage").mkdir(parents=True)
    (tmp_path / "parts" / "storage" / "acme.yaml").write_text("name: Acme 1\ncapacity: 500 TB\n", encoding="utf-8")
    stored = {**plan({"dataset": "1 PB", "servers": "acme"}), "catalog": ["parts/"]}
    found = rules(work_out(plan_file(stored, tmp_path)), "storage-unrated")
    assert [message.split(" so that")[0] for message in found] == [
        "no read bandwidth of Acme 1 is known,",
        "no write bandwidth of Acme 1 is known,",
    ]
    assert rules(worked(plan({"servers": {"part": "wekapod-nitro-15t", "count": 8}})), "storage-unrated") == []


def test_estimates_of_a_system_are_said_with_their_range(worked: Worked) -> None:
    """Usable capacity from the drives, reads from the ports, writes from the reads; what the plan gives is exact."""
    (capacity, read, write) = rules(
        worked(plan({"dataset": "1 PB", "servers": "powerscale-f910"})), "estimated-storage"
    )
    assert "257.6 TB per unit, estimated from its drives (range 206.1 to 320.2)" in capacity
    assert "14.5 GB/s per unit, estimated from its ports (range 10 to 21.75)" in read
    assert "4.64 GB/s per unit, estimated from its read bandwidth (range 1.2 to 15.66)" in write
    given = {"part": "powerscale-f910", "capacity": "250 TB", "read": "12 GB/s", "write": "5 GB/s"}
    assert rules(worked(plan({"dataset": "1 PB", "servers": given})), "estimated-storage") == []


def test_without_a_part_number_nothing_can_be_ordered(worked: Worked) -> None:
    """A server that has only a name is pointed out."""
    report = worked(plan({"servers": {"count": 2}}))
    message = "storage server is defined only in the plan and cannot be ordered; set its `part_number`"
    assert message in rules(report, "inline-part")


def test_keys_without_effect_are_pointed_out(worked: Worked) -> None:
    """Checkpoints need a training run, a level a bandwidth that is not given."""
    silly = {"checkpoint_every": "1 h", "keep": 2, "restart": "5 min", "interruption_gpu_hours": 1000}
    found = rules(worked(plan({**silly, "level": "best", "read_per_server": "4 GB/s"})), "no-effect")
    assert [f"storage.{key}" for key in silly] == [message.split()[0] for message in found]
    given = {"read_per_server": "4 GB/s", "write_per_server": "2 GB/s", "level": "best", "checkpoint_every": "1 h"}
    found = rules(worked(plan(given, TRAINING)), "no-effect")
    assert ["storage.level"] == [message.split()[0] for message in found]


def test_checkpoints_that_take_all_the_time_are_warned_of(worked: Worked) -> None:
    """An interval shorter than a checkpoint takes to write leaves nothing."""
    report = worked(plan({"checkpoint_every": "1 min", "write_per_server": "100 MB/s"}, TRAINING))
    message = (
        "a checkpoint takes 383 s to write, but one is due every 60 s, which leaves no time for training; "
        "write faster or less often"
    )
    assert [message] == rules(report, "checkpoint-time")
    assert 0 == result(report)["workload"]["lost_time"]["goodput"]


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("goodput", [None, "estimate", "90%"])
def test_the_report_says_whether_the_estimate_was_used(worked: Worked, goodput: str | None, code: str) -> None:
    """The table of lost time is always there; a note says what the run counts with."""
    training = {**TRAINING, "goodput": goodput} if goodput else TRAINING
    report = worked(plan(None, training))
    shown = page(report, code)
    assert 10 == len(tables(shown, "sizing")["lost-time"].rows)
    lost = report.design.sizing.lost
    assert lost is not None
    share = language(code).value(lost.goodput.value, "share")
    notes = [note.text for note in shown.section("sizing").notes if share in note.text]
    words = {"en": ("for information only", "because the plan sets"), "zh": ("未被采用", "因此本任务采用")}[code]
    assert [words[goodput == "estimate"] in note for note in notes] == [True]
    if goodput == "90%":
        assert ("90%" if code == "zh" else "90 %") in notes[0]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_chapter_shows_every_level(worked: Worked, code: str) -> None:
    """Beside the numbers of the plan stand good, better and best at the size of the cluster."""
    shown = tables(page(worked(plan({"level": "better"})), code), "storage")
    rates = [(row.cells[1].value, row.cells[2].value) for row in shown["storage-levels"].rows]
    assert [(30 * 10**9, 15 * 10**9), (80 * 10**9, 40 * 10**9), (250 * 10**9, 125 * 10**9)] == rates
    assert language(code).word("category-storage") == language(code).word("section-storage")


def test_storage_of_gpus_without_a_known_server(built: Built) -> None:
    """Bandwidth is then that of servers with eight GPUs, as an assumption."""
    bom = built({"bomgen": 1, "name": "x", "cluster": {"gpu": "k80", "gpus": 256}, "storage": {"level": "good"}})
    assert bom["cluster"]["server"] is None
    assert 15 * 10**9 == bom["storage"]["read_bytes_per_second"]
    assert "GPUs per server for storage bandwidth, if the server is unknown" in [
        entry["name"] for entry in bom["assumptions"]
    ]


@pytest.mark.parametrize(("optimizer", "precision", "bytes_each"), [("adam", "bf16", 14), ("adam-8bit", "bf16", 8)])
def test_a_checkpoint_follows_the_optimizer(built: Built, optimizer: str, precision: str, bytes_each: int) -> None:
    """Weights, master copy and what the optimizer remembers, for each parameter."""
    bom = built(plan({}, {**TRAINING, "optimizer": optimizer, "precision": precision}))
    assert 175 * 10**9 * bytes_each == bom["workload"]["lost_time"]["checkpoint_bytes"]


def test_adapters_are_checkpointed_without_the_frozen_weights(built: Built) -> None:
    """A run that trains adapters writes these alone."""
    tuned = {"fine_tuning": {"model": "llama-3.1-8b", "tokens": "50M", "rank": 16, "sequence": 2048}}
    bom = built({**plan({"keep": 2}), "workload": tuned})
    assert bom["workload"]["trainable_parameters"] * 14 == bom["storage"]["checkpoint_bytes"]


def test_a_size_that_would_swing_settles(worked: Worked) -> None:
    """One unit more of storage lets a larger cluster lose less: it is kept, because the smaller one is too small."""
    training = {**TRAINING, "model": {"name": "70B", "parameters": "70B"}, "tokens": "1T", "zero": 3}
    wanted = plan({}, {**training, "target_days": 7, "goodput": "estimate"})
    wanted["cluster"] = {"gpu": "h100-sxm"}
    sizing = worked(wanted).design.sizing
    assert sizing.lost is not None
    assert sizing.run is not None
    assert sizing.days is not None
    assert sizing.run.goodput is sizing.lost.goodput
    assert 1800 == sizing.gpus.value
    assert sizing.days.value <= 7


def assumed(report: Report, names: Iterable[str]) -> list[str]:
    """Those of some assumptions that a report names."""
    found = {entry["name"] for entry in result(report)["assumptions"]}
    return [name for name in names if name in found]


def test_what_is_assumed_is_said(worked: Worked) -> None:
    """Level, interruptions, restart and checkpoints kept are listed until the plan gives them."""
    names = [
        *("Storage bandwidth level", "GPU-hours between interruptions", "Checkpoints kept"),
        "Time from an interruption until training resumes",
    ]
    assert names == assumed(worked(plan({"dataset": "1 TB"}, TRAINING)), names)
    given = {"write_per_server": "2 GB/s", "read_per_server": "4 GB/s", "interruption_gpu_hours": 1000}
    assert [] == assumed(worked(plan({**given, "keep": 2, "restart": "5 min"}, TRAINING)), names)
