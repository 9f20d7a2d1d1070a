"""Cross-checks of part records: figures of one part that contradict each other, or those of the parts that it names.

`bomgen check parts/` and `bomgen catalog --audit` report them, and the tests run them over all built-in records. A
contradiction is a warning: a data sheet may be right against every rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice, pairwise
from typing import NamedTuple

from bomgen.catalog.files import NOT_PARTS, Catalog, Record, UnknownPart
from bomgen.catalog.identity import supply_capacity
from bomgen.catalog.parts import ANY, parse_pcie
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.jobs import spend

RULE = "cross-check"
SHOWN_OTHERS = 5
"""Parts that a message lists."""
GBPS_PER_TBPS = 1000
LANES = {"sr": 1, "dr1": 1, "fr1": 1, "sr4": 4, "vr4": 4, "dr4": 4, "fr4": 4, "lr4": 4, "sr8": 8, "vr8": 8, "dr8": 8}
"""Lanes of one engine, by optic (IEEE 802.3)."""
FIBRES = {"sr": "multimode", "vr": "multimode", "dr": "single-mode", "fr": "single-mode", "lr": "single-mode"}
"""Fibre by the letters of an optic (IEEE 802.3)."""
LONGEST_M = {"sr": 400, "vr": 50, "dr": 2000, "fr": 3000, "lr": 10000}
"""Longest reach by the letters of an optic: 10GBASE-SR and VR over OM4, vendors' long variants of DR and FR, LR."""
LONGEST_SR_M = 100
"""Longest reach of SR with lanes of 50 Gb/s and more over OM4 (IEEE 802.3cd, 802.3db)."""
FAST_LANE = 50
PRECISIONS = ("tf32", "bf16", "fp8", "fp4")
"""Precisions from wide to narrow: a narrower one is as fast or faster."""
MOST_FASTER = 5
"""Largest known ratio of the peaks of two neighbours of `PRECISIONS`, rounded up: 4.4 (Rubin, FP8 to BF16)."""
MOST_SPARSE = 4
"""Largest ratio of a sparse peak to the dense one: 16:4 sparsity (Trainium 2)."""
SHORTEST_READ, LONGEST_READ = Fraction(5, 1000), 1
"""Plausible seconds to read a GPU's whole memory once: 13 ms (Rubin) to 0.47 s (DGX Spark)."""
CAPACITY_TOLERANCE = Fraction(1, 100)
"""Rounding of a capacity that a data sheet states in Tb/s."""


class Contradiction(NamedTuple):
    """Figures of a part that cannot all be right; `key` is the one to look at first."""

    key: str
    message: str
    """What contradicts what; the remedy follows."""


def contradictions(record: Record, catalog: Catalog) -> Iterator[Contradiction]:
    """Yield the contradictions within a record, and with the records of the parts that it names."""
    for check in _CHECKS.get(record.kind, ()):
        # A figure in a wrong unit, or a part that is not in the catalogue, is an error of its own.
        with suppress(PlanErrors, UnknownPart):
            yield from check(record, catalog)


def cross_check(record: Record, catalog: Catalog) -> Iterator[Problem]:
    """Yield the contradictions of a record as warnings at their lines."""
    for key, text in contradictions(record, catalog):
        message = f"{text}; compare both with the data sheet and correct one"
        yield Problem(record.source.mark((*record.steps, key)), "warning", message, RULE, key)


def numbers_in_conflict(records: Sequence[Record], by_number: Mapping[str, Sequence[Record]]) -> Iterator[Problem]:
    """Yield a warning for each order number of `records` that a part of another kind, or another sold alone, has too.

    `known` are the records of the catalogue by their numbers. A chassis is sold with several GPUs under one number.
    """
    for record in records:
        for key in ("part_number", "ordering_number"):
            number = str(record.value(key) or "").lower()
            same = by_number.get(number, ()) if number else ()
            spend(len(same))
            conflicts = (f"{twin.kind} {twin.id}" for twin in same if _conflict(record, twin))
            if listed := list(islice(conflicts, SHOWN_OTHERS)):
                text = f"the number {record.value(key)} is also that of {', '.join(listed)}"
                message = f"{text}; correct one, or remove the part that is described twice"
                yield Problem(record.source.mark((key,)), "warning", message, "number-twice", key)


def _conflict(record: Record, twin: Record) -> bool:
    if (record.kind, record.id) == (twin.kind, twin.id):
        return False
    ordered = record.value("ordering_number"), twin.value("ordering_number")
    if None not in ordered and ordered[0] != ordered[1]:
        return False  # editions of one model, each with a number to order it by
    return record.kind != twin.kind or record.kind != "server" or record.value("gpu") == twin.value("gpu")


def records_by_number(catalog: Catalog, kinds: Sequence[str]) -> dict[str, list[Record]]:
    """Return the parts of some kinds by each of their order numbers, in lower case."""
    by_number: dict[str, list[Record]] = {}
    for record in (record for kind in kinds if kind not in NOT_PARTS for record in catalog.all(kind)):
        for number in {str(record.value(key) or "").lower() for key in ("part_number", "ordering_number")}:
            by_number.setdefault(number, []).append(record)
    return by_number


def _ports_and_cages(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the ports of a switch with its cages, its capacity and the links that a cage splits into."""
    ports, cages, per_cage = (record.value(key) for key in ("ports", "cages", "ports_per_cage"))
    if None not in (ports, cages, per_cage) and ports != cages * per_cage:
        yield Contradiction("ports", f"{ports} ports, but {cages} cages of {per_cage} have {cages * per_cage}")
    rate, capacity = record.value("port_gbps"), record.value("capacity_tbps")
    if None not in (ports, rate, capacity) and (record.value("switches_per_unit") or 1) == 1:
        tbps = Fraction(ports * rate, GBPS_PER_TBPS)
        if abs(tbps - capacity) > CAPACITY_TOLERANCE * capacity:
            text = f"{ports} ports of {rate}G carry {float(tbps):g} Tb/s, but the capacity is {float(capacity):g} Tb/s"
            yield Contradiction("capacity_tbps", text)
    split, most = record.value("split"), record.value("max_ports_per_cage")
    if None not in (split, most, per_cage) and split * per_cage > most:
        text = f"{per_cage} ports of a cage split into {split * per_cage} links, but a cage has at most {most}"
        yield Contradiction("split", text)


def _ports_and_nics(record: Record, catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the network ports of a server with its NICs, their cages and their slots."""
    named = record.value("nic")
    nic = catalog.find_original("nic", named) if isinstance(named, str) else None
    nics, cages, per_cage = (record.value(key) for key in ("nics", "cages", "ports_per_cage"))
    if None not in (nics, cages, per_cage):
        ports = nics * (nic.value("ports") or 1 if nic else 1)
        if ports != cages * per_cage:
            text = f"{nics} NICs have {ports} ports, but {cages} cages of {per_cage} have {cages * per_cage}"
            yield Contradiction("nics", text)
    rate = record.value("port_gbps") or (nic.value("port_gbps") if nic else None)
    if nic and rate != nic.value("port_gbps"):
        yield Contradiction("port_gbps", f"ports of {rate}G, but the NIC {nic.id} has {nic.value('port_gbps')}G")
    yield from _bus(record, "nic_slot", rate)


def _port_and_bus(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the rate of a NIC's port with its bus; two ports together may exceed it."""
    yield from _bus(record, "host_bus", record.value("port_gbps"))


def _bus(record: Record, key: str, rate: int | None) -> Iterator[Contradiction]:
    text = record.value(key)
    bus = parse_pcie(str(text), record.origin(key)) if text else None
    if bus and rate and rate > bus.value:
        yield Contradiction("port_gbps", f"a port of {rate}G is faster than its {text} ({bus.value} Gb/s)")


def _power_and_supplies(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the maximum power of a machine with the rating of the supplies that carry it."""
    count, needed = (record.value("power_supplies", key) for key in ("count", "needed"))
    if count and needed and needed > count:
        yield Contradiction("power_supplies", f"{needed} power supplies are needed, but there are {count}")
    carried, power = supply_capacity(record), record.figure("power", "W")
    if needed and carried and power and power.value > carried.value:
        text = f"a power of {float(power.value):g} W, but the supplies needed give {float(carried.value):g} W"
        yield Contradiction("power", text)


def _module(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the rate of a module with the lanes of its engines, its fibre and reach with those of its optic."""
    lanes, lane = LANES.get(str(record.value("optic"))), record.value("lane_gbps")
    rate, ports = record.value("rate_gbps"), record.value("ports") or 1
    if lanes and lane and rate and rate != lanes * lane * ports:
        yield Contradiction("rate_gbps", f"{rate}G, but {ports} x {lanes} lanes of {lane}G are {lanes * lane * ports}G")
    optic, fibre = str(record.value("optic")), record.value("fibre")
    usual = FIBRES.get(optic[:2])
    if usual and fibre not in (None, ANY, usual):
        yield Contradiction("fibre", f"the optic {optic} runs over {usual}, not over {fibre}")
    reach, longest = record.figure("reach", "m"), LONGEST_M.get(optic[:2])
    if optic.startswith("sr") and (lane or 0) >= FAST_LANE:
        longest = LONGEST_SR_M
    if reach and longest and reach.value > longest:
        yield Contradiction("reach", f"a reach of {float(reach.value):g} m, but {optic} reaches at most {longest} m")


def _links_and_rate(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the rate of a cable with that of its links."""
    links, link, rate = record.value("links") or 1, record.value("link_gbps"), record.value("rate_gbps")
    if link and rate and links * link != rate:
        yield Contradiction("rate_gbps", f"{rate}G, but {links} links of {link}G are {links * link}G")


def _gpu(record: Record, _catalog: Catalog) -> Iterator[Contradiction]:
    """Compare the peaks of an accelerator by precision, dense with sparse ones, and its memory with its bandwidth."""
    dense = {name: record.value(f"{name}_tflops") for name in PRECISIONS}
    listed = [(name, peak) for name, peak in dense.items() if peak]
    for (wide, slow), (narrow, fast) in pairwise(listed):
        if not slow <= fast <= MOST_FASTER * slow:
            text = f"{narrow} at {float(fast):g} TFLOP/s, {wide} at {float(slow):g}: 1 to {MOST_FASTER} times is usual"
            yield Contradiction(f"{narrow}_tflops", text)
    for key in [key for key in record.data if key.endswith("_sparse_tflops")]:
        name = key.removesuffix("_sparse_tflops")
        peak, sparse = record.value(f"{name}_tflops"), record.value(key)
        if peak and sparse and not peak < sparse <= MOST_SPARSE * peak:
            text = f"{name} at {float(sparse):g} TFLOP/s sparse and {float(peak):g} dense: 1 to {MOST_SPARSE} times"
            yield Contradiction(key, f"{text} is usual")
    memory, bandwidth = record.figure("memory", "bytes"), record.figure("memory_bandwidth", "bytes/s")
    if memory and bandwidth:
        seconds = Fraction(memory.value) / Fraction(bandwidth.value)
        if not SHORTEST_READ <= seconds <= LONGEST_READ:
            text = f"at this bandwidth the memory is read in {float(seconds):.2g} s: 5 ms to 1 s is usual"
            yield Contradiction("memory_bandwidth", text)


_Check = Callable[[Record, Catalog], Iterator[Contradiction]]
_CHECKS: Mapping[str, tuple[_Check, ...]] = {
    "gpu": (_gpu,),
    "server": (_ports_and_nics, _power_and_supplies),
    "nic": (_port_and_bus,),
    "switch": (_ports_and_cages, _power_and_supplies),
    "storage": (_power_and_supplies,),
    "appliance": (_power_and_supplies,),
    "transceiver": (_module,),
    "cable": (_links_and_rate,),
}
"""Cross-checks by kind of part."""
