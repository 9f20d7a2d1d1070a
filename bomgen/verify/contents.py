"""The result of a verification as a document, as a list of work and as data."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from itertools import chain
from typing import Any

import numpy as np

from bomgen import __version__
from bomgen.cabling.types import NOWHERE
from bomgen.core.diagnostics import error_at
from bomgen.core.document import Column, Document, Note, Row, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.safety import escape_formula
from bomgen.output.wiring.columns import ACTION, KEEP, NAMES, TODAY, list_labels, tables
from bomgen.verify.findings import NOT_YET, RIGHT, Verification, Work
from bomgen.verify.naming import NO_PORT, SeenEnd, SeenLink

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
        "named_by_cables": [
            {"built": built, "planned": planned.names[names.devices[built]], "agree": agree, "cables": cables}
            for built, (agree, cables) in names.votes.items()
        ],
        "unnamed": list(names.unnamed),
        "nics": [
            {"built": shown, "planned": planned.wiring.ports[names.nics[name]], "agree": agree, "servers": servers}
            for name, (shown, agree, servers) in names.agreeing.items()
        ],
    }


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
    word, names, planned = language.word, verification.names, verification.planned
    devices = [(built, planned.names[names.devices[built]], *votes) for built, votes in names.votes.items()]
    nics = [
        (shown, planned.wiring.ports[names.nics[name]], agree, servers)
        for name, (shown, agree, servers) in names.agreeing.items()
    ]
    for key, rows in (("devices", devices), ("nics", nics)):
        columns = (
            Column("built", word("verify-built"), "text", MIDDLE),
            Column("planned", word("verify-planned"), "text", MIDDLE),
            Column("agree", word("verify-agree"), "number", NARROW),
            Column("of", word("verify-of"), "number", NARROW),
        )
        if rows:
            title = word(f"verify-{key}")
            yield Section(
                key, title, (), (Table(key, title, columns, tuple(row_of(*row) for row in rows), folded=True),)
            )
