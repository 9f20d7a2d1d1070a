"""Laws of storage and lost time: what more GPUs, faster storage and other intervals do to the goodput."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.numbers import numbers
from bomgen.results.result import Report
from bomgen.sizing.storage import RESOLUTION, square_root

SECONDS_A_DAY = 86400
HOURS_A_DAY = 24

Worked = Callable[[dict[str, Any]], Report]
Built = Callable[[dict[str, Any]], dict[str, Any]]


def plan(servers: int, billions: int, storage: dict[str, Any], **training: Any) -> dict[str, Any]:
    """A training run on DGX H100 with what the plan says of storage."""
    model = {"name": "law", "parameters": f"{billions}B"}
    return {
        "bomgen": 1,
        "name": "law",
        "workload": {"training": {"model": model, "tokens": "1T", "zero": 3, **training}},
        "cluster": {"gpu": "h100-sxm", "servers": servers},
        "storage": storage,
    }


def goodput(worked: Worked, plan: dict[str, Any]) -> Fraction:
    """The goodput that is estimated for a plan."""
    lost = worked(plan).design.sizing.lost
    assert lost is not None
    return Fraction(lost.goodput.value)


SERVERS = st.integers(2, 4000)
BILLIONS = st.integers(1, 40)
MEGABYTES = st.integers(100, 40_000)


@given(SERVERS, st.integers(1, 500), BILLIONS, MEGABYTES)
def test_more_gpus_never_raise_the_goodput(
    worked: Worked, servers: int, more: int, billions: int, megabytes: int
) -> None:
    """At one bandwidth a server a larger cluster loses a larger share of its time."""
    of_server = {"write_per_server": f"{megabytes} MB/s"}
    assert goodput(worked, plan(servers + more, billions, of_server)) <= goodput(
        worked, plan(servers, billions, of_server)
    )


@given(SERVERS, BILLIONS, MEGABYTES, st.integers(1, 5000))
def test_faster_storage_never_lowers_the_goodput(
    worked: Worked, servers: int, billions: int, megabytes: int, more: int
) -> None:
    """A checkpoint that is written faster costs no more, and may be written more often."""
    slower, faster = (
        goodput(worked, plan(servers, billions, {"write_per_server": f"{rate} MB/s"}))
        for rate in (megabytes, megabytes + more)
    )
    assert slower <= faster


@given(SERVERS)
def test_a_better_level_is_no_slower(worked: Worked, servers: int) -> None:
    """Good, better and best are what they are called, at every size."""
    stored = worked(plan(servers, 7, {"level": "good"})).design.sizing.stored
    assert stored is not None
    for rates in zip(*((level.read.value, level.write.value) for level in stored.levels), strict=True):
        assert list(rates) == sorted(rates)


@given(SERVERS, BILLIONS, st.integers(2, 300))
def test_youngs_interval_is_the_best_of_those_nearby(
    worked: Worked, servers: int, billions: int, per_cent: int
) -> None:
    """A longer or a shorter interval between checkpoints never raises the goodput."""
    storage = {"write_per_server": "1 GB/s", "restart": "5 min"}
    lost = worked(plan(servers, billions, storage)).design.sizing.lost
    assert lost is not None
    assume(lost.goodput.value > 0)
    seconds = float(lost.checkpoint.interval_days.value) * SECONDS_A_DAY
    for other in (seconds * (1 + per_cent / 100), seconds / (1 + per_cent / 100)):
        every = {**storage, "checkpoint_every": f"{other:.6f} s"}
        assert goodput(worked, plan(servers, billions, every)) <= lost.goodput.value


@given(SERVERS, BILLIONS, MEGABYTES, st.integers(0, 120))
def test_the_estimate_is_that_of_the_report(built: Built, servers: int, billions: int, rate: int, minutes: int) -> None:
    """The goodput follows from the other numbers of bom.json."""
    bom = built(plan(servers, billions, {"write_per_server": f"{rate} MB/s", "restart": f"{minutes + 1} min"}))
    lost = bom["workload"]["lost_time"]
    between = lost["mean_time_between_interruptions_days"]
    interval = lost["checkpoint_interval_days"]
    share = lost["checkpoint_write_seconds"] / SECONDS_A_DAY / interval
    share += (interval / 2 + (minutes + 1) / 60 / HOURS_A_DAY) / between
    assert lost["goodput"] == pytest.approx(max(1 - share, 0))
    assert lost["interruptions"] == pytest.approx(bom["workload"]["days"] / between)
    assert lost["checkpoint_bytes"] == billions * 10**9 * 14 == bom["storage"]["checkpoint_bytes"]


@given(st.integers(1, 4000), st.integers(10, 200), st.sampled_from(("good", "better", "best")))
def test_an_estimate_settles_or_is_refused(worked: Worked, days: int, billions: int, level: str) -> None:
    """A cluster sized with the goodput of its own size meets its days; where none does, more days are asked for."""
    wanted = plan(1, billions, {"level": level}, target_days=days / 10, goodput="estimate")
    wanted["workload"]["training"]["tokens"] = "15T"
    del wanted["cluster"]["servers"]
    sizing, refused = None, ""
    try:
        sizing = worked(wanted).design.sizing
    except PlanErrors as error:
        refused = error.problems[0].rule
    if sizing is None:
        assert refused in ("no-goodput", "infeasible")
        return
    assert sizing.run is not None
    assert sizing.lost is not None
    assert sizing.days is not None
    assert sizing.run.goodput is sizing.lost.goodput
    assert sizing.days.value <= Fraction(days, 10)


@given(SERVERS, BILLIONS)
def test_an_estimate_is_used_only_when_asked(worked: Worked, servers: int, billions: int) -> None:
    """The days are those of all time unless the plan asks for the estimate, and then longer by its share."""
    offered = worked(plan(servers, billions, {})).design.sizing
    used = worked(plan(servers, billions, {}, goodput="estimate")).design.sizing
    assert offered.lost is not None
    assert offered.lost.goodput.value > 0
    assert offered.days is not None
    assert used.days is not None
    assert offered.days.value == used.days.value * offered.lost.goodput.value


@given(
    st.integers(1, 600),
    st.fixed_dictionaries({"capacity": st.integers(1, 900), "read": st.integers(1, 200), "write": st.integers(1, 200)}),
    st.sets(st.sampled_from(("capacity", "read", "write")), min_size=1),
    st.integers(1, 3000),
)
def test_storage_servers_meet_every_need_and_one_less_does_not(
    built: Built, servers: int, one: dict[str, int], known: set[str], dataset: int
) -> None:
    """So many servers as the plan's own hold the data and carry the bandwidth; one of them less would fall short."""
    units = {"capacity": "TB", "read": "GB/s", "write": "GB/s"}
    scales = {"capacity": 10**12, "read": 10**9, "write": 10**9}
    named = {"name": "a", **{key: f"{one[key]} {units[key]}" for key in known}}
    wanted = plan(servers, 7, {"dataset": f"{dataset} TB", "servers": named})
    del wanted["workload"]
    bom = built(wanted)
    found = bom["storage"]
    needs = {
        "capacity": found["capacity_bytes"],
        "read": found["read_bytes_per_second"],
        "write": found["write_bytes_per_second"],
    }

    def enough(count: int) -> bool:
        return all(count * one[key] * scales[key] >= needs[key] for key in known)

    assert enough(found["servers"])
    assert not enough(found["servers"] - 1)
    assert [found["servers"]] == [line["quantity"] for line in bom["lines"] if line["category"] == "storage"]


@given(st.fractions(min_value=Fraction(1, 10**18), max_value=10**6))
def test_roots_are_exact_to_their_resolution(number: Fraction) -> None:
    """A root is rounded up to whole parts: its square is no less than the number, that of one part less is."""
    root = square_root(number)
    assert root**2 >= number > (root - Fraction(1, RESOLUTION)) ** 2


def test_numbers_of_storage_come_only_when_asked(worked: Worked) -> None:
    """Without the block there is no storage in bom.json, with an empty cluster no checkpoint in it."""
    without = plan(4, 7, {})
    assert not [path for path in numbers(worked(without).design) if path[0] == "storage"]
    alone = plan(4, 7, {"dataset": "1 TB"})
    del alone["workload"]
    assert not [path for path in numbers(worked(alone).design) if "checkpoint" in path[-1]]
