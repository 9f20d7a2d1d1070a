"""Bills of bomgen's own with one error put in, and whether an x-ray finds it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import bomgen
from bomgen.catalog.files import Catalog
from bomgen.core.messages import read_language
from bomgen.xray.contents import open_bill
from bomgen.xray.inspection import Inspection, inspect
from bomgen.xray.laws import Finding

CATALOG = Catalog()
KINDS = ("switch", "transceiver", "cable", "nic")
MODES = ("drop", "count", "transpose", "halve", "fibre", "swap", "end", "spares")
FIBRES = {"mfp7e10": "mfp7e30", "mfp7e30": "mfp7e10"}
"""Multimode and single-mode fibres that look alike."""
LENGTHS = ("003", "005", "007", "010", "015", "020", "030", "050")
"""Lengths in which both are sold."""

Row = dict[str, str]


class Broken(NamedTuple):
    """A bill with one error."""

    rows: list[Row]
    lines: tuple[int, ...]
    """The lines that are wrong; empty where a line is missing."""
    part: str = ""
    """The part of the line that is missing."""
    fabric: str = ""
    category: str = ""


def rows_of(plan: str | Mapping[str, Any]) -> list[Row]:
    """The lines of the bill of a plan."""
    text = bomgen.build(plan).files("csv")["bom.csv"].decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def look(rows: Sequence[Row]) -> Inspection:
    """The x-ray of a bill."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return inspect(open_bill(out.getvalue().encode(), "bill.csv", CATALOG))


def random_plan(random: Random) -> dict[str, Any]:
    """A plan of a usual cluster, with or without storage and spares."""
    switch, server = random.choice(
        [
            *[("qm9700", "dgx-h100"), ("qm9790", "dgx-h200"), ("qm9700", "hgx-h100-8-generic")],
            *[("sn5600", "dgx-h100"), ("q3400-ra", "dgx-b300"), ("qm8700", "dgx-a100-640"), ("qm9700", "dgx-b200")],
        ]
    )
    servers = random.choice([8, 12, 16, 20, 24, 31, 32, 33, 40, 48, 63, 64, 72, 96, 100, 127, 128, 160, 200, 256])
    fabric: dict[str, Any] = {"topology": random.choice(["rail-optimized", "fat-tree"]), "switch": switch}
    if random.random() < 1 / 5:
        fabric["oversubscription"] = 2
    if random.random() < 1 / 5:
        fabric["build_out"] = "full"
    plan: dict[str, Any] = {
        "bomgen": 1,
        "name": "drawn",
        "cluster": {"server": server, "servers": servers},
        "fabrics": {"compute": fabric},
    }
    if random.random() < 1 / 4:
        plan["fabrics"]["storage"] = "default"
    if random.random() < 1 / 2:
        plan["spares"] = {"transceiver": "2%", "cable": "2%", "switch": 1}
    return plan


def put_error(rows: Sequence[Row], mode: str, random: Random) -> Broken | None:
    """The bill with an error of a kind; None where the bill has nothing that it could befall."""
    rows = [dict(row) for row in rows]
    own = [at for at, row in enumerate(rows) if row["category"] in KINDS and row["part"] and row["fabric"]]
    if not own:
        return None
    at = random.choice(own)
    pieces = int(rows[at]["quantity"])
    if mode in ("drop", "end"):
        modules = [each for each in own if rows[each]["category"] == "transceiver"]
        if mode == "end" and not modules:
            return None
        gone = rows.pop(at if mode == "drop" else random.choice(modules))
        return Broken(rows, (), gone["part"], gone["fabric"], gone["category"])
    if mode == "fibre":
        fibres = [each for each in own if rows[each]["part"][:-5] in FIBRES and rows[each]["part"][-3:] in LENGTHS]
        if not fibres:
            return None
        at = random.choice(fibres)
        part = FIBRES[rows[at]["part"][:-5]] + rows[at]["part"][-5:]
        name = CATALOG.find_original("cable", f"{part[:-3]}xxx").value("name")
        rows[at] |= {"part": part, "sku": part.upper(), "description": f"{name}, {int(part[-3:])} m"}
        return Broken(rows, (at + 2,))
    if mode == "swap":
        pairs = [
            (one, two)
            for one in own
            for two in own
            if (rows[one]["role"], rows[two]["role"]) == ("leaf", "spine")
            and rows[one]["fabric"] == rows[two]["fabric"]
            and rows[one]["quantity"] != rows[two]["quantity"]
        ]
        if not pairs:
            return None
        one, two = random.choice(pairs)
        rows[one]["quantity"], rows[two]["quantity"] = rows[two]["quantity"], rows[one]["quantity"]
        return Broken(rows, (one + 2, two + 2))
    if mode == "spares":
        spared = [at for at in own if int(rows[at]["spare"] or 0)]
        alike = [
            at
            for at in spared
            if any(
                rows[each]["category"] == rows[at]["category"] and rows[each]["part"] != rows[at]["part"]
                for each in spared
            )
        ]
        if not alike:
            return None
        at = random.choice(alike)
        rows[at]["spare"] = "0"
        return Broken(rows, (at + 2,))
    wrong = {
        "count": pieces + random.choice([-1, 1]) * max(1, round(pieces * random.uniform(1 / 20, 1 / 2))),
        "halve": pieces // 2,
        "transpose": _transposed(str(pieces), random),
    }[mode]
    if wrong <= 0 or wrong == pieces:
        return None
    rows[at]["quantity"] = str(wrong)
    return Broken(rows, (at + 2,))


WORDS = {
    "en": {
        **{"compute": "Compute network", "storage": "Storage network", "switch": "switch"},
        **{"server-leaf": "server to leaf", "leaf-spine": "leaf to spine", "server": "server"},
        **{"server end": "server side", "leaf end": "leaf side", "spine end": "spine side"},
    },
    "zh": {
        **{"compute": "计算网", "storage": "存储网", "switch": "交换机"},
        **{"server-leaf": "服务器到 Leaf", "leaf-spine": "Leaf 到 Spine", "server": "服务器"},
        **{"server end": "服务器侧", "leaf end": "Leaf 侧", "spine end": "Spine 侧"},
    },
}
"""Networks, links and ends as a bill says them."""


def in_words(rows: Sequence[Row], language: str) -> list[Row]:
    """The bill with the catalogue's descriptions in place of part numbers, and networks and places in words."""
    words, names = WORDS[language], read_language(language).get("records", {})

    def role_of(row: Row) -> str:
        links, _, tier = row["role"].partition("/")
        if row["category"] == "switch":
            return f"{links} {words['switch']}"
        ends = [words[links]] if links in words and "-" in links else []
        return ", ".join([*ends, words[f"{tier} end"]] if tier else ends)

    def describe(row: Row) -> str:
        kind, part = row["category"], row["part"]
        family = re.sub(r"\d\d[0-9a](?=v?$)", "xxx", part) if kind == "cable" else part
        name, metres = names.get(f"{kind}/{family}"), re.search(r", ([\d.]+) m$", row["description"])
        return f"{name}，{metres[1]} 米" if name and metres else name or row["description"]

    return [
        {"Network": words.get(row["fabric"], ""), "Item": describe(row), "Where": role_of(row), **_counts(row)}
        for row in rows
        if row["category"] in ("server", *KINDS)
    ]


def _counts(row: Row) -> Row:
    return {"Qty": row["quantity"], "Spare": row["spare"]}


def _transposed(digits: str, random: Random) -> int:
    """A number with two neighbouring digits swapped; 0 where all are equal."""
    places = [at for at in range(len(digits) - 1) if digits[at] != digits[at + 1]]
    if not places:
        return 0
    at = random.choice(places)
    return int(digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :])


def rank_of_error(found: Inspection, broken: Broken) -> int | None:
    """The place of the finding that names the error, from 0 on; None where none does."""
    certain = [each for each in found.found.findings if each.severity != "unknown"]
    return next((at for at, each in enumerate(certain) if _names(each, broken)), None)


def _names(finding: Finding, broken: Broken) -> bool:
    if broken.lines:
        return finding.mark.line in broken.lines
    if finding.code == "no-switch":
        return finding.message.parameters["fabric"] == broken.fabric
    if finding.code == "one-end" and finding.line:
        return finding.line.place.fabric == broken.fabric
    if finding.code == "without-cables":
        return broken.category == "cable"
    return re.fullmatch(finding.part.replace("xxx", "..."), broken.part) is not None
