"""The worst inputs of up to a megabyte: none takes more than 20 s of one processor or 1 GiB, whatever comes of it.

Each runs in a process of its own, whose processor time and memory the system tells (tests/tools/processor.py).
A user runs one, continuous integration a few, `make deep` all.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from cases import listed
from depth import DEEP
from processor import run_bomgen

MEGABYTE = 10**6
ALL = "md,html,xlsx,json,csv,cdx,svg"
HEAD = "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm, server: dgx-h100, servers: %d}\n"
LARGE = "{topology: fat-tree, switch: {ports: %d, port_gbps: 400}%s}"
FLOOR = "site: {rack: {units: 48, power: 40 kW}, layout: {racks_per_row: 40}}\n"
PRICED = "quote: {currency: USD, price_book: %s}\n"
SWITCHED = "fabrics: {compute: {switch: qm9700}}\n%s"
Input = dict[str, bytes]


def filled(form: str) -> str:
    """A form, with its number in place of `#`, for as long as a megabyte lasts."""
    return listed(form, (MEGABYTE - 1000) // (len(form) + 9), "")


def plan(text: str, servers: int = 4, **files: bytes) -> Callable[[], Input]:
    """A plan and files beside it."""
    return lambda: {"plan.yaml": (HEAD % servers + text).encode(), **{n.replace("_", "."): c for n, c in files.items()}}


def parts(kind: str, count: int, form: str, text: str) -> Callable[[], Input]:
    """A plan and so many part files of a kind, each with its number in place of `#`."""
    head = HEAD % 32 + "catalog: [parts]\n" + text
    files = {f"parts/{kind}/p{at}.yaml": form.replace("#", str(at)).encode() for at in range(count)}
    return lambda: {"plan.yaml": head.encode(), **files}


def hosts_with(nic: str) -> str:
    """Fabrics with hosts, each with a NIC of another name."""
    hosts = listed(f"{{name: h#, count: 1, nic: {nic}}}", 200)
    return "fabrics: {" + listed(f"f#: {{role: storage, switch: qm9700, hosts: [{hosts}]}}", 20) + "}\n"


def sheet() -> Input:
    """A price book of a megabyte: shared strings that every cell of a wide sheet names."""
    stream, rows = BytesIO(), range(1, 12_000)
    cells = "".join(f'<row r="{r}">' + f'<c r="A{r}" t="s"><v>{r % 9}</v></c>' * 20 + "</row>" for r in rows)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        sheets = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        part = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        related = "http://schemas.openxmlformats.org/package/2006/relationships"
        package.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{part}.sheet.main+xml"/>'
            f'<Override PartName="/xl/s.xml" ContentType="{part}.worksheet+xml"/>'
            f'<Override PartName="/xl/t.xml" ContentType="{part}.sharedStrings+xml"/></Types>',
        )
        package.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{related}"><Relationship Id="a" Type="{relation}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        package.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{related}"><Relationship Id="a" Type="{relation}/worksheet" Target="s.xml"/>'
            f'<Relationship Id="b" Type="{relation}/sharedStrings" Target="t.xml"/></Relationships>',
        )
        package.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{sheets}" xmlns:r="{relation}"><sheets><sheet name="prices" sheetId="1" r:id="a"/>'
            "</sheets></workbook>",
        )
        package.writestr("xl/t.xml", f'<sst xmlns="{sheets}">' + f"<si><t>{'a' * 30_000}</t></si>" * 9 + "</sst>")
        dimension = '<dimension ref="A1:XFD1048576"/>'
        package.writestr(
            "xl/s.xml", f'<worksheet xmlns="{sheets}">{dimension}<sheetData>{cells}</sheetData></worksheet>'
        )
    return {"plan.yaml": (HEAD % 4 + PRICED % "b.xlsx").encode(), "b.xlsx": stream.getvalue()}


CHARGES = listed("{kind: freight, name: f#, price: 1}", 200)
HOSTS = listed("{name: h#, count: 2, ports: 1}", 200)
REPLACED = (
    "quote: {alternatives: ["
    + listed("{name: a#, set: {cluster.servers: 9#}, substitute: {mma4z00-ns: compatible}}", 20)
    + "]}\n"
)
FOUR = (
    f"fabrics:\n  compute: {LARGE % (512, '')}\n  storage: {LARGE % (512, ', ports_per_server: 2')}\n"
    f"  in_band: {LARGE % (512, ', ports_per_server: 2')}\n  out_of_band: {{switch: {{ports: 512, port_gbps: 1}}}}\n"
)
CHECKED: dict[str, Callable[[], Input]] = {
    "flow-sequence": plan(f"spares: [{'1,' * 490_000}]\n"),
    "widest-mapping": plan(filled("k#: 1\n")),
    "key-twice": plan("kk: 1\n" * 160_000),
    "unknown-keys": plan(listed("k#: 1\n", 90_000, "")),
    "anchors": plan("spares:\n" + filled("  k#: &a# 1\n")),
    "aliases": plan("spares: [&a x, " + "*a ," * 240_000 + "]\n"),
    "escapes": plan('title: "' + "\\u0041" * 160_000 + '"\n'),
    "unseen-signs": plan("title: " + "\u05d0\u200e" * 190_000 + "\n"),
    "line-without-end": plan("# " + "a" * 990_000 + "\n"),
    "texts": plan("quote: {terms: [" + ", ".join(["'" + "`*_" * 3000 + "'"] * 100) + "]}\n"),
    "search-of-large-switches": plan(
        f"fabrics: {{compute: {LARGE % (960, ', tiers: 3, leaf: {servers: 1}')}}}\n", 4099
    ),
    "search-that-fails": plan(
        f"fabrics: {{compute: {LARGE % (2048, ', tiers: 3, reserved_ports: 256, spine: {count: 7}')}}}\n", 125_000
    ),
    "search-of-the-largest-switches": plan(
        f"fabrics: {{compute: {LARGE % (2048, ', tiers: 3, reserved_ports: 256')}}}\n", 125_000
    ),
    "search-of-fabrics": plan(
        "fabrics: {"
        + listed(f"f#: {LARGE % (512, ', role: storage, nic: cx7-400-osfp, reserved_ports: 1#')}", 20)
        + "}\n",
        125_000,
    ),
    "clusters": lambda: {
        "plan.yaml": (
            "bomgen: 1\nname: x\nclusters: ["
            + listed(
                "{name: c#, gpu: h100-sxm, server: dgx-h100, servers: 99#, fabrics: {"
                + listed("f#: {role: storage, switch: qm9700, nic: cx7-400-osfp}", 20).replace("#", "0")
                + "}}",
                20,
            )
            + "]\n"
        ).encode()
    },
    "alternatives": plan(
        f"{FOUR}quote: {{alternatives: [{listed('{name: a#, set: {cluster.servers: 99#}}', 20)}]}}\n", 31_250
    ),
    "cables-on-the-floor": plan(f"fabrics: {{compute: {LARGE % (256, '')}}}\n{FLOOR}", 125_000),
    "cables-beyond-measure": plan(f"{FOUR}{FLOOR}", 1_250_000),
    "racks-beyond-measure": plan(FLOOR, 1_250_000),
    "rows-of-the-floor": plan(
        f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [{listed('[{compute: 1},{compute: 2}]', 9_000)}]}}}}\n", 1_000
    ),
    "price-tables": plan(
        PRICED % f"[{', '.join(['b.csv'] * 20)}]",
        b_csv=("part,price,currency\n" + listed("p#,1,USD\n", 19_999, "")).encode(),
    ),
    "price-table": plan(PRICED % "b.csv", b_csv=("part,price,currency\n" + listed("p#,1,USD\n", 19_999, "")).encode()),
    "price-table-of-one-part": plan(
        PRICED % "b.csv",
        b_csv=("part,price,currency,from_quantity\n" + listed("qm9700,1,USD,1#\n", 19_999, "")).encode(),
    ),
    "price-table-of-quotes": plan(PRICED % "b.csv", b_csv=b"part,price,currency\n" + b'"' * 990_001),
    "price-table-of-line-ends": plan(PRICED % "b.csv", b_csv=b"\r" * 990_000),
    "price-book": plan(
        PRICED % "b.yaml",
        b_yaml=("bomgen_prices: 1\ncurrency: USD\nprices:\n" + listed("- {part: p#, price: 1}\n", 24_000, "")).encode(),
    ),
    "sheet": sheet,
    "logo-of-comments": plan("quote: {vendor: {name: v, logo: l.svg}}\n", l_svg=b"<!---->" * 140_000),
    "logo-of-document-types": plan("quote: {vendor: {name: v, logo: l.svg}}\n", l_svg=b"<!DOCTYPE a>" * 80_000),
    "template-of-braces": plan("templates: [a.j2]\n", a_j2=b"{{" * 490_000),
    "template-of-brackets": plan("templates: [a.j2]\n", a_j2=b"{{ " + b"(" * 980_000),
    "template-of-blocks": plan("templates: [a.j2]\n", a_j2=b"{% if 1 %}" * 99_000),
    "tori": plan("fabrics: {compute: {topology: torus, link: 400G, torus: {rank: 3}}}\n", 124_991),
    "dragonfly": plan(f"fabrics: {{compute: {LARGE.replace('fat-tree', 'dragonfly') % (2048, '')}}}\n", 124_991),
    "parts-and-alternatives": parts("transceiver", 20_000, "{name: a, replaces: [mma4z00-ns]}", SWITCHED % REPLACED),
    "fibres-and-alternatives": parts(
        "cable",
        14_000,
        "{name: a, kind: fibre, replaces: [mfp7e10-nxxx]}",
        SWITCHED % REPLACED.replace("mma4z00-ns", "mfp7e10-nxxx"),
    ),
    "modules-for-one-cage": parts(
        "transceiver", 14_000, "{name: a, cage: osfp-finned, rate_gbps: 800, replaces: [mma4z00-ns]}", SWITCHED % ""
    ),
    "modules-that-are-paired": parts(
        "transceiver", 300, "{name: a, cage: osfp-finned, rate_gbps: 800, replaces: [mma4z00-ns]}", SWITCHED % ""
    ),
    "aliases-of-parts": parts("nic", 14_000, "{name: a, aliases: [q#x], port_gbps: 400, ports: 1}", hosts_with("q#x")),
    "misspelt-parts": parts("nic", 6_000, "{name: a, aliases: [q#x], port_gbps: 400, ports: 1}", hosts_with("zzp#")),
    "misspelt-parts-of-a-wrong-plan": parts(
        "nic", 6_000, "{name: a, aliases: [q#x], port_gbps: 400, ports: 1}", "unknown: 1\n" + hosts_with("zzp#")
    ),
    "model": lambda: {
        "plan.yaml": b"bomgen: 1\nname: x\ncluster: {gpu: h100-sxm}\nworkload: {training: {model: {layers: 1999, "
        b"hidden: 524288, heads: 8192, ffn: 9999991, vocab: 99999989}, tokens: 1e15, target_days: 3650}}\n"
    },
}
BUILT: dict[str, Callable[[], Input]] = {
    "hosts-and-charges": plan(
        f"fabrics: {{storage: {{switch: qm9700, tiers: 3, oversubscription: 4, hosts: [{HOSTS}]}}}}\n"
        f"quote: {{charges: [{CHARGES}]}}\n",
        99,
    ),
    "long-texts": plan("quote: {terms: [" + ", ".join(["'" + "`*_<&" * 900 + "'"] * 200) + "]}\n"),
    "four-fabrics": plan(FOUR, 125_000),
    "cables-on-the-floor": plan(f"fabrics: {{compute: {LARGE % (256, '')}}}\n{FLOOR}", 31_250),
    "rows-of-the-floor": plan(
        f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [{listed('[{compute: 1},{compute: 2}]', 9_000)}]}}}}\n",
        20_000,
    ),
    "alternatives": plan(
        "fabrics: {compute: {switch: qm9700}}\n"
        f"quote: {{alternatives: [{listed('{name: a#, set: {cluster.servers: 9#}}', 20)}]}}\n",
        99,
    ),
    "templates-that-take-all-their-time": plan(
        f"templates: [{listed('t#.j2', 20)}]\n",
        **{
            f"t{n}_j2": b"{% for a in range(50000) %}{% for b in range(5) %}{% endfor %}{% endfor %}" for n in range(20)
        },
    ),
    "fabrics": plan("fabrics: {" + listed("f#: {role: storage, switch: qm9700, nic: cx7-400-osfp}", 20) + "}\n", 99),
}
SEARCHED: dict[str, Callable[[], Input]] = {
    f"range-of-{name}": plan(SWITCHED % f"search: {{over: {{cluster.{name}: {values}}}, minimise: [gpus]}}\n")
    for name, values in (
        ("servers", "1..100000000"),
        ("round_up_to", "1..100000000"),
        ("gpus", "1.." + "9" * 6000),
    )
}
RUNS = [
    (name, command, made)
    for command, inputs in (("check", CHECKED), ("build", BUILT), ("search", SEARCHED))
    for name, made in inputs.items()
]
OFTEN = (
    "key-twice",
    *SEARCHED,
    "logo-of-comments",
    "hosts-and-charges",
)
"""What broke the bounds before there were limits, and is not slow today; the first is a user's."""


@pytest.mark.parametrize(
    ("command", "made"),
    [
        pytest.param(command, made, id=f"{command}-{name}", marks=[pytest.mark.long] if name != OFTEN[0] else [])
        for name, command, made in RUNS
        if DEEP or name in OFTEN
    ],
)
def test_it_ends_in_time_and_in_room(command: str, made: Callable[[], Input], tmp_path: Path) -> None:
    """Exit code 0 or 1, no traceback, no flood of messages; processor time and memory below their bounds."""
    for name, content in made().items():
        assert len(content) <= 1 << 20, name
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    used = run_bomgen([command, "plan.yaml", *(["-o", "out", "-f", ALL] if command == "build" else [])], tmp_path)
    assert used.code in (0, 1), used.said[-2000:]
    assert len(used.said) < MEGABYTE // 10
