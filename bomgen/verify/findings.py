"""What was built compared with the plan: the findings, and the result as a document, a list of work and data.

Links are compared in this order: the same two ports; the same two devices in other ports; the rest. A cable counts
once, and a port that has its planned cable has no other: further neighbours are a NIC's firmware, or outdated.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from io import StringIO
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from bomgen import __version__
from bomgen.cabling.matching import MovedEnds, order_moves
from bomgen.cabling.types import INFINIBAND_LANES, NOWHERE, Wiring
from bomgen.core.diagnostics import error_at
from bomgen.core.document import Column, Document, Note, Row, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.safety import escape_formula
from bomgen.output.wiring.columns import ACTION, KEEP, NAMES, TODAY, list_labels, tables
from bomgen.pricing.bill_line import cable_id, cable_sku
from bomgen.verify.reading import (
    MANAGEMENT,
    NAMELESS,
    NO_PORT,
    AsBuilt,
    Names,
    PlannedLinks,
    SeenEnd,
    SeenLink,
    SeenPort,
    name_devices,
    pair_ports,
    short_name,
)

ACTIONS = {
    "exchanged": "exchange",
    "unplanned": "remove",
    **dict.fromkeys(("crossed", "wrong-rail", "one-end-wrong", "other-port"), "move"),
    "wrong-part": "change",
    "missing": "add",
    **dict.fromkeys(("speed", "width", "errors"), "check"),
    "not-asked": "ask",
    "assumed": "keep",
    "as-planned": "keep",
}
"""What a state asks for, in the order of work; of the links of a cable the first of these states counts."""
RIGHT = ("as-planned", "assumed")
NOT_YET = ("missing", "not-asked")
USUAL_ERROR_RATE = 1e-12
"""Bit error rate from which a link is reported, the most that the InfiniBand Architecture Specification permits."""
MOST_IN_RING = 4
"""Cables that are taken for crossed by mistake; where nobody kept to the list of ports, rings are longer."""
End = tuple[int | None, int | None]
"""Planned device and port of an end; None where it is not known."""


class Work(NamedTuple):
    """A row of the list of work."""

    action: str
    state: str
    piece: int | None
    """The planned cable; None for one that is not planned."""
    links: tuple[SeenLink, ...]
    """The cables that were found at its ends."""
    rows: tuple[SeenPort, ...]
    """The rows of outputs that show it."""
    ring: int = 0
    """Cables that can only be changed together; 0 for one by itself."""


class Verification(NamedTuple):
    """The result."""

    planned: PlannedLinks
    names: Names
    work: tuple[Work, ...]
    """Every cable, in the order of work."""

    @property
    def counts(self) -> Counter[str]:
        """Return the number of cables by state."""
        return Counter(work.state for work in self.work if work.action != "unplug")

    @property
    def has_findings(self) -> bool:
        """Return whether some cable is not as planned."""
        return any(state not in (*RIGHT, "not-asked") for state in self.counts)


def verify(as_built: AsBuilt, wiring: Wiring, given: Mapping[str, str], error_rate: float) -> Verification:
    """Return the comparison of outputs with a wiring; `given` are planned names by built ones."""
    planned = PlannedLinks(wiring)
    links = pair_ports(as_built.ports, planned)
    names = name_devices(links, planned, given)
    comparison = _Comparison(as_built, links, planned, names, error_rate)
    return Verification(planned, names, tuple(comparison.list_work()))


class _Comparison:
    """The state of every planned link, by its row in the wiring."""

    def __init__(
        self, as_built: AsBuilt, links: Sequence[SeenLink], planned: PlannedLinks, names: Names, error_rate: float
    ) -> None:
        self.planned, self.names, self.error_rate = planned, names, error_rate
        self.states = ["missing"] * len(planned.ends)
        self.links = [tuple[SeenLink, ...]()] * len(planned.ends)
        self.facts = defaultdict[tuple[int, int], list[SeenPort]](list)
        self.unplanned = list[SeenLink]()
        self.rings = dict[int, int]()
        """The ring of each row, named after one of them."""
        self.ends = dict(enumerate(map(self._resolve, links)))
        """The planned ends of cables that no link has yet, by their number in `all_links`."""
        self.all_links = links
        self._note_facts(as_built.ports)
        self._match_ports()
        self._match_devices()
        self._explain_rest()
        self._judge_rates()
        self._mark_exchanged()
        self._mark_not_asked(as_built)

    def _note_facts(self, rows: Iterable[SeenPort]) -> None:
        """Note what is stated of planned ports apart from their neighbours."""
        for row in rows:
            if row.is_down or not row.far_device:
                device = self._device(row.device)
                port = None if device is None else self.planned.port(device, row.port, self.names.nics)
                if device is not None and port is not None:
                    self.facts[device, port].append(row)

    def _resolve(self, link: SeenLink) -> tuple[End, End]:
        first, second = (self.names.end(end, self.planned) for end in link.ends)
        return first, second

    def _device(self, name: str) -> int | None:
        """Return the planned device of a built one, which may have no cable."""
        short = short_name(name, self.planned.numbers.__contains__)
        return self.names.devices.get(short, self.planned.numbers.get(short))

    def _match(self, row: int, number: int, state: str) -> None:
        self.states[row], self.links[row] = state, (self.all_links[number],)
        del self.ends[number]

    def _match_ports(self) -> None:
        """Match the cables in their planned ports, first those that name both."""
        planned, named = self.planned, {*self.names.devices.values()}
        for state in RIGHT:
            for number, ends in list(self.ends.items()):
                seen = self.all_links[number].ends
                for near, far, far_seen in ((*ends, seen[1]), (*ends[::-1], seen[0])):
                    row, end = planned.link_at.get(near), planned.far_end(near)
                    if row is None or end is None or self.states[row] != "missing":
                        continue
                    is_same_device = far[0] == end[0] or far_seen.device == NAMELESS
                    is_unknown = far[1] is None and (is_same_device or (far[0] is None and end[0] not in named))
                    if far == end if state == "as-planned" else is_unknown:
                        self._match(row, number, state)
                        break
        used = {end for row, state in enumerate(self.states) if state != "missing" for end in planned.ends[row]}
        self.ends = {number: ends for number, ends in self.ends.items() if not used & {*ends}}

    def _match_devices(self) -> None:
        """Match cables between the two planned devices in other ports, of a server the planned NIC, if it is known.

        A cable that has one end in its port goes to the link of that port, first of the lower end.
        """
        planned, open_rows = self.planned, defaultdict[frozenset[End | int | None], list[int]](list)
        for row, state in enumerate(self.states):
            if state == "missing":
                for sides in {
                    frozenset(self._side(end, known) for end in planned.ends[row]) for known in (True, False)
                }:
                    open_rows[sides].append(row)
        at_port = {end: number for number, ends in self.ends.items() for end in ends}
        for shared in (0, 1, None):
            for number, ends in list(self.ends.items()):
                rows = open_rows.get(frozenset(self._side(end) for end in ends), [])
                if shared is None and (self._is_alone(rows, ends) or self._is_in_ring(number, at_port)):
                    continue
                for row in rows:
                    is_shared = shared is None or planned.ends[row][shared] in ends
                    if self.states[row] == "missing" and is_shared:
                        self._match(row, number, "other-port")
                        break

    def _is_alone(self, rows: Sequence[int], ends: tuple[End, End]) -> bool:
        """Return whether one link between two devices lacks its cable, but a cable there is in the port of another."""
        if any(port is None for _, port in ends) or sum(self.states[row] == "missing" for row in rows) > 1:
            return False
        at_ends = (self.planned.link_at.get(end) for end in ends)
        return any(row is not None and self.states[row] == "missing" for row in at_ends)

    def _is_in_ring(self, number: int, at_port: Mapping[End, int]) -> bool:
        """Return whether a cable is one of a few that have each other's ports."""
        current, end = number, self.ends[number][1]
        for _ in range(MOST_IN_RING):
            planned_end = self.planned.far_end(end)
            following = None if planned_end is None else at_port.get(planned_end)
            if following not in self.ends or following == current:
                return False
            if following == number:
                return True
            current, end = following, self.ends[following][self.ends[following][0] == planned_end]
        return False

    def _side(self, end: End, known: bool = True) -> End | int | None:
        """Return what must be right of an end: a switch, or a NIC if its port is `known`."""
        device, port = end
        return end if known and port is not None and device is not None and self.planned.is_host(device) else device

    def _explain_rest(self) -> None:
        """Explain the links that have no cable between their devices by the cables at their ports."""
        at_port = dict[End, int]()
        for number, ends in self.ends.items():
            for end in ends:
                at_port.setdefault(end, number)
        told = set[int]()
        for row, state in enumerate(self.states):
            if state == "missing":
                numbers = [at_port[end] for end in self.planned.ends[row] if end in at_port]
                told.update(numbers)
                self.links[row] = tuple(self.all_links[number] for number in numbers)
                if numbers:
                    self.states[row] = "crossed" if len(numbers) == len(self.planned.ends[row]) else "one-end-wrong"
                    if self._is_wrong_rail(row, at_port):
                        self.states[row] = "wrong-rail"
                for number in numbers:
                    self._join(row, number, at_port)
        others = (self.all_links[number] for number in self.ends if number not in told)
        self.unplanned = [link for link in others if not any(MANAGEMENT.fullmatch(end.port) for end in link.ends)]

    def _join(self, row: int, number: int, at_port: Mapping[End, int]) -> None:
        """Join the rows of the two ports of a cable in a ring."""
        for end in self.ends[number]:
            other = self.planned.link_at.get(end)
            if other is not None and at_port.get(end) == number:
                root, last = self._root(row), self._root(other)
                self.rings[max(root, last)] = min(root, last)

    def _root(self, row: int) -> int:
        while self.rings.setdefault(row, row) != row:
            row = self.rings[row]
        return row

    def _is_wrong_rail(self, row: int, at_port: Mapping[End, int]) -> bool:
        """Return whether a NIC is at a switch that has none of its rail or plane."""
        nic, planned_port = self.planned.ends[row]
        if nic not in at_port or not self.planned.is_host(nic[0]):
            return False
        device = next((device for device, _ in self.ends[at_port[nic]] if device != nic[0]), None)
        if device is None or self.planned.is_host(device) or device == planned_port[0]:
            return False
        return nic[1] not in self._rails.get(device, (nic[1],))

    @cached_property
    def _rails(self) -> Mapping[int, set[int]]:
        """Return the ports of hosts that each switch has links to."""
        ports = defaultdict[int, set[int]](set)
        for (host, port), (switch, _) in self.planned.ends:
            if self.planned.is_host(host):
                ports[switch].add(port)
        return ports

    def _judge_rates(self) -> None:
        """Note links in their ports that are too slow or narrow, have errors, or another part than planned."""
        wiring, parts = self.planned.wiring, dict[tuple[int, float, int | None], frozenset[str]]()
        for row, state in enumerate(self.states):
            if state not in RIGHT:
                continue
            kind, metres = int(wiring.cable_type[row]), float(wiring.length_m[row])
            rate = wiring.cable_types[kind].rate_gbps
            stated = list(self.links[row][0].rows)
            for end in self.planned.ends[row]:
                stated += self.facts.get(end, ())
            for seen in stated:
                if seen.gbps is not None and seen.gbps < rate:
                    narrow = seen.lanes is not None and seen.gbps * INFINIBAND_LANES >= rate * seen.lanes
                    self.states[row] = "width" if narrow else "speed"
                elif seen.error_rate is not None and seen.error_rate > self.error_rate:
                    self.states[row] = "errors"
                elif seen.length_m is not None and seen.length_m != metres:
                    self.states[row] = "wrong-part"
                else:
                    stated_parts: list[tuple[str, tuple[int, float, int | None]]] = []
                    if seen.cable:
                        stated_parts.append((seen.cable, (kind, metres, None)))
                    if seen.part and (device := self._device(seen.device)) is not None:
                        side = int(device == self.planned.ends[row][1][0])
                        stated_parts.append((seen.part, (kind, metres, side)))
                    for number, key in stated_parts:
                        accepted = parts.setdefault(key, _part_numbers(wiring, *key))
                        if accepted and not _words(number) & accepted:
                            self.states[row] = "wrong-part"
                if self.states[row] not in RIGHT:
                    break

    def _mark_exchanged(self) -> None:
        """Mark the links of devices that have exchanged their places, whose names the cables contradict."""
        places = {device for pair in self.names.exchanged for device in pair}
        for row, (first, second) in enumerate(self.planned.ends):
            if self.states[row] in RIGHT and places & {first[0], second[0]}:
                self.states[row] = "exchanged"

    def _mark_not_asked(self, as_built: AsBuilt) -> None:
        """Mark missing links of which neither device gave an output."""
        asked, fabrics = set[int](), set[str | None]()
        kinds, wiring = self.planned.wiring.kinds, self.planned.wiring
        for row in as_built.ports:
            device = self._device(row.device)
            if device is not None:
                asked.add(device)
                if row.mark.file in as_built.whole:
                    fabrics.add(kinds[self.planned.kind[device]].fabric)
        whole = {number for number, cable_type in enumerate(wiring.cable_types) if cable_type.fabric in fabrics}
        for number, (first, second) in enumerate(self.planned.ends):
            is_asked = {first[0], second[0]} & asked or int(wiring.cable_type[number]) in whole
            if self.states[number] == "missing" and not is_asked:
                self.states[number] = "not-asked"

    def list_work(self) -> Iterator[Work]:
        """Yield every cable in the order of work; the links of a cable are one row."""
        pieces = defaultdict[int, list[int]](list)
        for row, piece in enumerate(self.planned.wiring.piece.tolist()):
            pieces[piece].append(row)
        rank = {state: number for number, state in enumerate(ACTIONS)}
        sizes = Counter(self._root(row) for row in list(self.rings))
        by_state = defaultdict[str, list[Work]](list)
        for piece, rows in pieces.items():
            worst = min(rows, key=lambda row: rank[self.states[row]])
            links = tuple(dict.fromkeys(link for row in rows for link in self.links[row]))
            stated = [seen for link in links for seen in link.rows]
            stated += [seen for row in rows for end in self.planned.ends[row] for seen in self.facts.get(end, ())]
            ring = sizes.get(self._root(worst), 0) if worst in self.rings else 0
            state = self.states[worst]
            by_state[state].append(Work(ACTIONS[state], state, piece, links, tuple(stated), ring if ring > 1 else 0))
        by_state["unplanned"] = [
            Work(ACTIONS["unplanned"], "unplanned", None, (link,), link.rows) for link in self.unplanned
        ]
        groups = defaultdict[str, list[Work]](list)
        for state in ACTIONS:
            groups[ACTIONS[state]] += by_state[state]
        for action in dict.fromkeys(ACTIONS.values()):
            yield from self._order(groups[action]) if action == ACTIONS["crossed"] else groups[action]

    def _order(self, moves: Sequence[Work]) -> Iterator[Work]:
        """Yield moves so that every port is free when a cable is plugged into it; new cables come first."""
        cables, origin, used = dict[int, Work](), dict[int, SeenLink](), set[SeenLink]()
        for work in moves:
            free = next((link for link in work.links if link not in used), None)
            if work.piece is None or free is None:
                yield work._replace(action=ACTIONS["missing"])
            else:
                cables[work.piece], origin[work.piece] = work, free
                used.add(free)
        before, after = list[tuple[int, int]](), list[tuple[int, int]]()
        rows = np.flatnonzero(np.isin(self.planned.wiring.piece, list(cables)))
        ports = len(self.planned.wiring.ports) + 1
        for row in rows.tolist():
            piece = int(self.planned.wiring.piece[row])
            after += [(piece, device * ports + port) for device, port in self.planned.ends[row]]
        for piece, link in origin.items():
            known = [(device, port) for device, port in self._resolve(link) if device is not None]
            before += [(piece, device * ports + port) for device, port in known if port not in (None, NO_PORT)]
        for piece, unplugged in order_moves(_moved_ends(before), _moved_ends(after)):
            yield cables[piece]._replace(action="unplug") if unplugged else cables[piece]


def _moved_ends(ends: Sequence[tuple[int, int]]) -> MovedEnds:
    cable, port = (np.array(column, dtype=np.int64) for column in (zip(*ends, strict=True) if ends else ((), ())))
    return MovedEnds(cable, port, port, np.zeros(len(cable), dtype=np.int64))


def _part_numbers(wiring: Wiring, cable_type: int, metres: float, side: int | None) -> frozenset[str]:
    """Return the numbers of the part plugged in at one end, or of the cable without one; empty without order number."""
    medium = wiring.cable_types[cable_type].medium
    cable = medium.cable if medium else None
    if medium and side is not None and (module := (medium.lower, medium.upper)[side]):
        return frozenset() if module.identity.generic else _words(module.identity.sku, module.identity.id)
    if cable is None or cable.identity.generic or (cable.fibre and side is not None):
        return frozenset()
    length = Fraction(str(metres))
    return _words(cable_sku(cable, length), cable_id(cable, length))


def _words(*numbers: str | None) -> frozenset[str]:
    return frozenset(word.lower() for number in numbers if number for word in number.split() if word != "/")


FORMAT = 1
"""Version of the JSON format."""
FOUND = ("found", "ring", "seen_in")
"""Columns of the list of work besides those of a work order."""
COLUMNS = (ACTION, *NAMES, *TODAY, *FOUND)
MOST_SHOWN = 40
"""Rows of work that a terminal shows at first."""
MOST_NAMES = 8
"""Unidentified devices that a sentence names."""
SEVERAL = "; "
NARROW, MIDDLE, WIDE = 10, 24, 44


def list_rows(verification: Verification) -> Iterator[dict[str, Any]]:
    """Yield the list of work in the columns of a work order, each row with what was found, and where it was seen."""
    wiring = verification.planned.wiring
    pieces = [work.piece for work in verification.work if work.piece is not None]
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    listed = replace(wiring, labels=tuple(list_labels(wiring))).take_cables(np.array(pieces, dtype=np.int64))
    for table in tables(listed):
        for name, values in columns.items():
            values += table[name].tolist()
    planned = zip(*columns.values(), strict=True)
    nothing = dict.fromkeys(COLUMNS)
    for work in verification.work:
        seen = SEVERAL.join(dict.fromkeys(f"{seen.mark.file}:{seen.mark.line}" for seen in work.rows))
        row = {
            **nothing,
            ACTION: work.action,
            **dict(zip(FOUND, (work.state, work.ring or None, seen or None), strict=True)),
        }
        if work.piece is not None:
            row |= zip(NAMES, next(planned), strict=True)
        if work.links:
            row |= zip(TODAY, chain(*_order_ends(verification, work, work.links[0])), strict=True)
        yield row


def _order_ends(verification: Verification, work: Work, link: SeenLink) -> list[tuple[str, str]]:
    """Return device and port at both ends of a cable that was found, in the order of the planned ends."""
    wiring, ends = verification.planned.wiring, [_plan_names(verification, end) for end in link.ends]
    if work.piece is None:
        return ends
    row = int(np.searchsorted(wiring.piece, work.piece))
    lower = wiring.names[int(wiring.a_device[row])], wiring.ports[int(wiring.a_port[row])]
    return sorted(ends, key=lambda end: (end != lower, end[:1] != lower[:1]))


def _plan_names(verification: Verification, end: SeenEnd) -> tuple[str, str]:
    """Return device and port of a built end in the plan's names, as far as they are known."""
    planned = verification.planned
    device, port = verification.names.end(end, planned)
    name = end.device if device is None else planned.names[device]
    return name, end.port if port in (None, NO_PORT) else planned.wiring.ports[port or 0]


def work_csv(verification: Verification) -> bytes:
    """Return the list of work as CSV."""
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in list_rows(verification):
        writer.writerow(_csv_value(value) for value in row.values())
    return out.getvalue().encode("utf-8", "replace")


def read_verified(content: bytes, file: str) -> frozenset[str]:
    """Return the labels of the cables that a list of work as CSV says are as planned. Raises PlanErrors for others."""
    try:
        rows = csv.DictReader(StringIO(content.decode("utf-8", "replace")))
        return frozenset(row["label"] for row in rows if row[FOUND[0]] in RIGHT)
    except (csv.Error, KeyError):
        message = "no list of work; write it with `bomgen verify PLAN FILES... -f csv`"
        raise error_at(file, message, "as-built") from None


def _csv_value(value: Any) -> object:
    """Return a value of the list of work for CSV, numbers as `bomgen wiring` writes them."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else escape_formula(value)


def verification_data(verification: Verification, plan: str) -> dict[str, Any]:
    """Return a verification as data for programs; `plan` is the name of the plan."""
    names, planned = verification.names, verification.planned
    return {
        "verify": FORMAT,
        "version": __version__,
        "plan": plan,
        "cables": dict(verification.counts),
        "racks": [dict(zip(("rack", "as_planned", "cables"), rack, strict=True)) for rack in count_racks(verification)],
        "work": [row for row in list_rows(verification) if row[ACTION] != KEEP],
        "exchanged": [[planned.names[device] for device in pair] for pair in names.exchanged],
        "named_by_cables": [dict(zip((*NAMED, "cables"), row, strict=True)) for row in _named_devices(verification)],
        "unnamed": list(names.unnamed),
        "nics": [dict(zip((*NAMED, "servers"), row, strict=True)) for row in _named_nics(verification)],
    }


NAMED = ("built", "planned", "agree")
"""A built name, what it was taken for, and how many cables or servers agree; the number of all follows."""


def _named_devices(verification: Verification) -> list[tuple[str, str, int, int]]:
    names, planned = verification.names, verification.planned.names
    return [(built, planned[names.devices[built]], *votes) for built, votes in names.votes.items()]


def _named_nics(verification: Verification) -> list[tuple[str, str, int, int]]:
    names, ports = verification.names, verification.planned.wiring.ports
    return [(nic[0], ports[names.nics[name]], *nic[1:]) for name, nic in names.agreeing.items()]


def count_racks(verification: Verification) -> Iterator[tuple[int, int, int]]:
    """Yield the racks with cables: number, cables as planned, and cables."""
    wiring = verification.planned.wiring
    if wiring.places is None:
        return
    right = np.zeros(wiring.pieces, dtype=bool)
    right[[work.piece for work in verification.work if work.piece is not None and work.state in RIGHT]] = True
    racks = np.concatenate([wiring.places.rack[device] for device in (wiring.a_device, wiring.b_device)])
    of_rack = np.unique(np.stack((racks, np.tile(wiring.piece, 2))), axis=1)
    every, done = Counter(of_rack[0].tolist()), Counter(of_rack[0][right[of_rack[1]]].tolist())
    yield from ((rack, done[rack], every[rack]) for rack in sorted(every) if rack != NOWHERE)


def verification_document(verification: Verification, plan: str, language: Language) -> Document:
    """Return a verification as a document; `plan` is the name of the plan."""
    word, counts = language.word, verification.counts
    numbers = {
        "right": sum(counts[state] for state in RIGHT),
        "all": verification.planned.wiring.pieces,
        "wrong": sum(count for state, count in counts.items() if state not in (*RIGHT, *NOT_YET)),
        "missing": sum(counts[state] for state in NOT_YET if state != "not-asked"),
        "unasked": counts["not-asked"],
    }
    lead = word("verify-lead", **{name: language.integer(number) for name, number in numbers.items()})
    columns = tuple(Column(key, word(f"verify-{key}"), "number", NARROW) for key in ("rack", "done", "cables"))
    rows = tuple(row_of(*rack) for rack in count_racks(verification))
    racks = Table("racks", word("verify-racks"), columns, rows, most=MOST_SHOWN)
    work = _work_table(verification, language)
    notes = tuple(Note("info", text) for text in _notes(verification, language))
    return Document(
        title=word("verify-title", plan=plan),
        language=language.code,
        sections=(
            Section("summary", word("verify-summary"), (lead,), (racks,) if racks.rows else (), notes),
            Section("work", word("verify-work"), (), (work,) if work.rows else ()),
            *_name_sections(verification, language),
        ),
        footer=word("compare-footer", version=__version__),
    )


def _notes(verification: Verification, language: Language) -> Iterator[str]:
    word, names, planned = language.word, verification.names, verification.planned
    for first, second in names.exchanged:
        yield word("verify-exchange", first=planned.names[first], second=planned.names[second])
    if assumed := verification.counts["assumed"]:
        yield word("verify-note-assumed", count=language.integer(assumed))
    if names.votes:
        yield word("verify-note-named", count=language.integer(len(names.votes)))
    if names.unnamed:
        shown = word("list-comma").join(names.unnamed[:MOST_NAMES])
        yield word("verify-note-unnamed", count=language.integer(len(names.unnamed)), devices=shown)


def _work_table(verification: Verification, language: Language) -> Table:
    """Return the work in its order, without cables that stay as they are."""
    word = language.word
    widths = {"number": NARROW, "action": NARROW, "finding": MIDDLE, "cable": MIDDLE, "part": MIDDLE}
    widths |= {"from": MIDDLE, "to": MIDDLE, "today": WIDE, "seen": WIDE}
    columns = tuple(
        Column(key, word(f"verify-{key}"), "number" if key == "number" else "text", width)
        for key, width in widths.items()
    )
    rows = list[Row]()
    for row, work in zip(list_rows(verification), verification.work, strict=True):
        if work.action == KEEP:
            continue
        is_down = work.state == "missing" and any(seen.is_down for seen in work.rows)
        state = word("verify-down" if is_down else f"verify-{work.state}")
        today = word("list-semicolon").join(
            " - ".join(map(" ".join, _order_ends(verification, work, link))) for link in work.links
        )
        rows.append(
            row_of(
                len(rows) + 1,
                word(f"verify-do-{work.action}"),
                word("verify-ring", finding=state, count=work.ring) if work.ring else state,
                row["label"] or "",
                row["sku"] or "",
                *(" ".join(filter(None, (row[f"{end}_device"], row[f"{end}_port"]))) for end in ("a", "b")),
                today,
                row["seen_in"] or "",
            )
        )
    return Table("work", word("verify-work"), columns, tuple(rows), open=True, most=MOST_SHOWN)


def _name_sections(verification: Verification, language: Language) -> Iterator[Section]:
    """Yield what names were taken for, with how many cables or servers agree."""
    word = language.word
    columns = (
        *(Column(key, word(f"verify-{key}"), "text", MIDDLE) for key in NAMED[:2]),
        *(Column(key, word(f"verify-{key}"), "number", NARROW) for key in (*NAMED[2:], "of")),
    )
    for key, rows in (("devices", _named_devices(verification)), ("nics", _named_nics(verification))):
        if rows:
            title = word(f"verify-{key}")
            table = Table(key, title, columns, tuple(row_of(*row) for row in rows), folded=True)
            yield Section(key, title, (), (table,))
