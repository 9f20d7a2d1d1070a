"""Hostile inputs that no file of cases can hold: links, bytes that are no text, packages, lists of hundreds."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from cases import BASE, PLAN, Case, said_of
from click.testing import CliRunner
from openpyxl import Workbook

from bomgen.cli import main

BOOK = b"part,price,currency\nqm9700,1,USD\n"
PRICED = "quote: {currency: USD, price_book: %s}\n"
OUTSIDE = "leads out of the plan's folder tree; move it below, or widen it with --root [outside-root]"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
LIMIT = 1 << 20


def listed(form: str, count: int, between: str = ", ") -> str:
    """A form so many times, each with its number in place of `#`."""
    return between.join(form.replace("#", str(number)) for number in range(count))


def plan(text: str, content: bytes = b"", name: str = "") -> Callable[[Path], None]:
    """Lays a plan, and one file beside it."""

    def lay(folder: Path) -> None:
        (folder / PLAN).write_text(BASE + text, encoding="utf-8")
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    return lay


def raw(content: bytes) -> Callable[[Path], None]:
    """Lays a plan of these bytes."""
    return lambda folder: (folder / PLAN).write_bytes(content) and None


def link(text: str, at: str, target: str, outside: str = "") -> Callable[[Path], None]:
    """Lays a plan and a link; `outside` is a file beside the folder of the plan."""

    def lay(folder: Path) -> None:
        (folder / PLAN).write_text(BASE + text, encoding="utf-8")
        (folder / at).parent.mkdir(parents=True, exist_ok=True)
        (folder / at).symlink_to(target)
        if outside:
            place = folder.parent / outside
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(BOOK)

    return lay


def package(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip package."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as opened:
        for name, content in entries.items():
            opened.writestr(name, content)
    return stream.getvalue()


def workbook(*rows: tuple[object, ...], column: int = 1) -> bytes:
    """A workbook with rows in a sheet `prices`."""
    book, stream = Workbook(), io.BytesIO()
    sheet = book.worksheets[0]
    sheet.title = "prices"
    for number, row in enumerate(rows, 1):
        for at, value in enumerate(row, column):
            sheet.cell(number, at, value)
    book.save(stream)
    return stream.getvalue()


def pipe(text: str, at: str) -> Callable[[Path], None]:
    """Lays a plan and a pipe that nobody writes to."""

    def lay(folder: Path) -> None:
        (folder / PLAN).write_text(BASE + text, encoding="utf-8")
        os.mkfifo(folder / at)

    return lay


def sparse(text: str, at: str, size: int) -> Callable[[Path], None]:
    """Lays a plan and a file of noughts that takes no room on the disk."""

    def lay(folder: Path) -> None:
        if at != PLAN:
            (folder / PLAN).write_text(BASE + text, encoding="utf-8")
        with (folder / at).open("wb") as stream:
            stream.truncate(size)

    return lay


X = PRICED % "b.xlsx"
NO_WORKBOOK = "b.xlsx:1:1: error: no workbook: it is no .xlsx package, or is locked by a password; save it as .xlsx [xlsx]"
ENTITIES = b"<!DOCTYPE x [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]><x>&b;</x>"
INPUTS: dict[str, tuple[Callable[[Path], None], str]] = {
    # bytes that are no text
    "no-utf8": (raw(b"title: \xff\n"), "plan.yaml:1:8: error: no UTF-8 text: byte 0xff; save the file as UTF-8 [encoding]"),
    "utf8-too-long": (raw(b"title: \xc0\xaf\n"), "plan.yaml:1:8: error: no UTF-8 text: byte 0xc0; save the file as UTF-8 [encoding]"),
    "utf8-of-half-a-pair": (raw(b"title: \xed\xa0\x80\n"), "plan.yaml:1:8: error: no UTF-8 text: byte 0xed; save the file as UTF-8 [encoding]"),
    "utf8-cut-short": (raw(b"title: a\xe2\x82"), "plan.yaml:1:9: error: no UTF-8 text: byte 0xe2; save the file as UTF-8 [encoding]"),
    "utf16": (raw("bomgen: 1\n".encode("utf-16")), "plan.yaml:1:1: error: no UTF-8 text: byte 0xff; save the file as UTF-8 [encoding]"),
    "utf32": (raw("bomgen: 1\n".encode("utf-32-be")), "plan.yaml:1:1: error: the control character U+0000; remove it [sign]"),
    "gzip": (raw(b"\x1f\x8b\x08\x00"), "plan.yaml:1:2: error: no UTF-8 text: byte 0x8b; save the file as UTF-8 [encoding]"),
    "pickle": (raw(b"\x80\x04\x95"), "plan.yaml:1:1: error: no UTF-8 text: byte 0x80; save the file as UTF-8 [encoding]"),
    "book-no-utf8": (plan(PRICED % "b.csv", b"\xff", "b.csv"), "b.csv:1:1: error: no UTF-8 text: byte 0xff; save the file as UTF-8 [encoding]"),
    "part-no-utf8": (
        plan("catalog: [p]\nfabrics: {compute: {switch: own}}\n", b"\xff", "p/switch/own.yaml"),
        "plan.yaml:5:29: error: no UTF-8 text: byte 0xff; save the file as UTF-8 (in p/switch/own.yaml:1:1) [encoding]",
    ),
    # sizes
    "plan-too-large": (raw(b"# " + b"a" * LIMIT), "plan.yaml:1:1: error: 1048578 characters; a file of at most 1048576 is read [yaml-limit]"),
    "plan-far-too-large": (sparse("", PLAN, 1 << 40), "plan.yaml:1:1: error: over 4194304 bytes; a file of at most 1048576 characters is read [yaml-limit]"),
    "lock-far-too-large": (sparse("", "plan.lock", 1 << 40), "plan.lock:1:1: error: over 4194304 bytes; a file of at most 1048576 characters is read [yaml-limit]"),
    "book-far-too-large": (sparse(PRICED % "b.csv", "b.csv", 1 << 40), "plan.yaml:4:36: error: the price book 'b.csv' cannot be read (Larger than 5000000 bytes); give its path relative to the plan [no-file]"),
    "logo-far-too-large": (sparse("quote: {vendor: {name: v, logo: l.png}}\n", "l.png", 1 << 40), "plan.yaml:4:33: error: the logo 'l.png' cannot be read (Larger than 5000000 bytes); give its path relative to the plan [no-file]"),
    "base-far-too-large": (sparse("extends: b.yaml\n", "b.yaml", 1 << 40), "plan.yaml:4:10: error: the plan 'b.yaml' cannot be read (Larger than 5000000 bytes); give its path relative to this file [no-file]"),
    "template-far-too-large": (sparse("templates: [a.j2]\n", "a.j2", 1 << 40), "plan.yaml:4:13: error: 'a.j2' is too long; a template of at most 1048576 bytes is read [range]"),
    "values-too-many": (raw(BASE.encode() + b"a: [" + b"1," * 100_000 + b"]\n"), "plan.yaml:4:199989: error: too much data: over 100000 values or 50 levels once aliases are written out [yaml-limit]"),
    "price-table-too-large": (plan(PRICED % "b.csv", b"a" * (LIMIT + 1), "b.csv"), "b.csv:1:1: error: 1048577 characters; a file of at most 1048576 is read [table-limit]"),
    "price-table-too-long": (plan(PRICED % "b.csv", BOOK + b"x,1,USD\n" * 20_000, "b.csv"), "b.csv:20002:1: error: more than 20000 prices; at most 20000 are read, cut the table into several books [table-limit]"),
    "price-table-of-quotes": (plan(PRICED % "b.csv", BOOK + b'"' + b'""' * 400_000 + b"a", "b.csv"), 'b.csv:3:800001: error: text behind a closing quote "; write a quote within quotes twice [csv]'),
    # lists
    "clusters": (raw(f"bomgen: 1\nname: x\nclusters: [{listed('{name: c#, gpu: h100-sxm, servers: 4}', 21)}]\n".encode()), "plan.yaml:3:11: error: a list of 21; at most 20 belong here [range]"),
    "fabrics": (plan(f"fabrics: {{{listed('f#: {role: compute, switch: qm9700}', 21)}}}\n"), "plan.yaml:4:10: error: a mapping of 21; at most 20 belong here [range]"),
    "hosts": (plan(f"fabrics: {{storage: {{switch: qm9700, hosts: [{listed('{name: h#, count: 1, ports: 1}', 201)}]}}}}\n"), "plan.yaml:4:44: error: a list of 201; at most 200 belong here [range]"),
    "alternatives": (plan(f"quote: {{alternatives: [{listed('{name: a#, set: {title: a}}', 21)}]}}\n"), "plan.yaml:4:23: error: a list of 21; at most 20 belong here [range]"),
    "charges": (plan(f"quote: {{charges: [{listed('{kind: freight, price: 1}', 201)}]}}\n"), "plan.yaml:4:18: error: a list of 201; at most 200 belong here [range]"),
    "terms": (plan(f"quote: {{terms: [{listed('a', 201)}]}}\n"), "plan.yaml:4:16: error: a list of 201; at most 200 belong here [range]"),
    "address": (plan(f"quote: {{customer: {{name: c, address: [{listed('a', 21)}]}}}}\n"), "plan.yaml:4:38: error: a list of 21; at most 20 belong here [range]"),
    "price-books": (plan(f"quote: {{price_book: [{listed('b#.csv', 21)}]}}\n"), "plan.yaml:4:21: error: a list of 21; at most 20 belong here [range]"),
    "part-folders": (plan(f"catalog: [{listed('p#', 21)}]\n"), "plan.yaml:4:10: error: a list of 21; at most 20 belong here [range]"),
    "templates": (plan(f"templates: [{listed('t#.j2', 21)}]\n"), "plan.yaml:4:12: error: a list of 21; at most 20 belong here [range]"),
    "stock": (plan(f"stock: {{{listed('p#: 1', 1001)}}}\n"), "plan.yaml:4:8: error: a mapping of 1001; at most 1000 belong here [range]"),
    "discounts-of-lines": (plan(f"quote: {{discount: {{lines: {{{listed('l#: 1%', 1001)}}}}}}}\n"), "plan.yaml:4:27: error: a mapping of 1001; at most 1000 belong here [range]"),
    "rows-of-racks": (plan(f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [{listed('[{compute: 1}]', 10_001)}]}}}}\n"), "plan.yaml:4:45: error: a list of 10001; at most 10000 belong here [range]"),
    "blocks-of-a-row": (plan(f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [[{listed('{compute: 1}', 1001)}]]}}}}\n"), "plan.yaml:4:46: error: a list of 1001; at most 1000 belong here [range]"),
    # links
    "link-to-a-book-outside": (link(PRICED % "b.csv", "b.csv", "../secret.csv", "secret.csv"), f"plan.yaml:4:36: error: 'b.csv' {OUTSIDE}"),
    "link-to-a-folder-outside": (link(PRICED % "d/secret.csv", "d", "../out", "out/secret.csv"), f"plan.yaml:4:36: error: 'd/secret.csv' {OUTSIDE}"),
    "link-to-an-absolute-place": (link(PRICED % "b.csv", "b.csv", "/etc/passwd"), f"plan.yaml:4:36: error: 'b.csv' {OUTSIDE}"),
    "link-to-a-process": (link(PRICED % "b.csv", "b.csv", "/proc/self/environ"), f"plan.yaml:4:36: error: 'b.csv' {OUTSIDE}"),
    "link-of-a-logo": (link("quote: {vendor: {name: v, logo: l.svg}}\n", "l.svg", "../l.svg", "l.svg"), f"plan.yaml:4:33: error: 'l.svg' {OUTSIDE}"),
    "link-of-a-template": (link("templates: [a.j2]\n", "a.j2", "../a.j2", "a.j2"), f"plan.yaml:4:13: error: 'a.j2' {OUTSIDE}"),
    "link-of-a-base": (link("extends: b.yaml\n", "b.yaml", "../b.yaml", "b.yaml"), f"plan.yaml:4:10: error: 'b.yaml' {OUTSIDE}"),
    "link-of-a-part-folder": (link("catalog: [p]\n", "p", "../p", "p/switch/own.yaml"), f"plan.yaml:4:11: error: 'p' {OUTSIDE}"),
    "link-of-a-part-file": (
        link("catalog: [p]\nfabrics: {compute: {switch: own}}\n", "p/switch/own.yaml", "../../../own.yaml", "own.yaml"),
        "plan.yaml:5:29: error: a link that leads out of the plan's folder tree; put the part file itself here (in p/switch/own.yaml:1:1) [outside-root]",
    ),
    "link-of-a-kind-of-part": (
        link("catalog: [p]\nfabrics: {compute: {switch: own}}\n", "p/switch", "../../out", "out/own.yaml"),
        "plan.yaml:5:29: error: a link that leads out of the plan's folder tree; put the part file itself here (in p/switch/own.yaml:1:1) [outside-root]",
    ),
    "link-to-itself": (link(PRICED % "b.csv", "b.csv", "b.csv"), "plan.yaml:4:36: error: the price book 'b.csv' cannot be read (Too many levels of symbolic links); give its path relative to the plan [no-file]"),
    "pipe-as-a-book": (pipe(PRICED % "b.csv", "b.csv"), "plan.yaml:4:36: error: the price book 'b.csv' cannot be read (No regular file); give its path relative to the plan [no-file]"),
    "pipe-as-a-template": (pipe("templates: [a.j2]\n", "a.j2"), "plan.yaml:4:13: error: 'a.j2' is no file; name a template, such as offer.html.j2 [no-file]"),
    # packages
    "package-empty": (plan(X, b"", "b.xlsx"), NO_WORKBOOK),
    "package-of-text": (plan(X, BOOK, "b.xlsx"), NO_WORKBOOK),
    "package-cut-short": (plan(X, workbook(("part",))[:-40], "b.xlsx"), NO_WORKBOOK),
    "package-of-many-entries": (plan(X, package({f"{n}.xml": b"" for n in range(201)}), "b.xlsx"), "b.xlsx:1:1: error: 201 files in the workbook; at most 200 are read [xlsx-limit]"),
    "package-bomb": (plan(X, package({"a.xml": b"\0" * (19 << 20)}), "b.xlsx"), "b.xlsx:1:1: error: 'a.xml' is packed to less than 1/200; at most that is unpacked [xlsx-limit]"),
    "package-expands": (plan(X, package({"a.xml": b"a" * (11 << 20), "b.xml": b"b" * (11 << 20)}), "b.xlsx"), "b.xlsx:1:1: error: 23068672 bytes once it is unpacked; at most 20000000 are read [xlsx-limit]"),
    "package-with-entities": (plan(X, package({"xl/workbook.xml": ENTITIES}), "b.xlsx"), "b.xlsx:1:1: error: a part of the workbook has a document type; save it as .xlsx in a spreadsheet program [xlsx]"),
    "package-with-entities-in-utf16": (plan(X, package({"xl/workbook.xml": ENTITIES.decode().encode("utf-16")}), "b.xlsx"), "b.xlsx:1:1: error: a part of the workbook has a document type; save it as .xlsx in a spreadsheet program [xlsx]"),
    "package-without-a-workbook": (plan(X, package({"a.xml": b"<a/>"}), "b.xlsx"), "b.xlsx:1:1: error: no workbook that can be read; open it in a spreadsheet program and save it as .xlsx again [xlsx]"),
    "sheet-too-wide": (plan(X, workbook(("part", "price", "currency"), (*[None] * 60, "x")), "b.xlsx"), "b.xlsx:2:61: error: a cell beyond column 50; price lists have at most 50, remove the rest [table-limit]"),
    "sheet-with-formulas-alone": (plan(X, workbook(("part", "price", "currency"), ("qm9700", "=1+1", "USD")), "b.xlsx"), "b.xlsx:2:2: error: a formula without a value; save the workbook in a spreadsheet program, or write the value [cell]"),
    "sheet-with-unseen-signs": (plan(X, workbook(("part", "price", "currency"), ("qm\u202e9700", 1, "USD")), "b.xlsx"), "b.xlsx:2:1: error: U+202E RIGHT-TO-LEFT OVERRIDE, which turns the writing: the line reads as something else; remove it [sign]"),
    # pictures
    "logo-of-comments": (plan("quote: {vendor: {name: v, logo: l.svg}}\n", b"<!---->" * 100_000 + b"x", "l.svg"), "plan.yaml:4:33: error: 'l.svg' is no PNG, JPEG or SVG of at most 1000000 bytes; give one [logo]"),
    "logo-with-entities": (plan("quote: {vendor: {name: v, logo: l.svg}}\n", ENTITIES + SVG, "l.svg"), "plan.yaml:4:33: error: 'l.svg' is no PNG, JPEG or SVG of at most 1000000 bytes; give one [logo]"),
    "logo-of-html": (plan("quote: {vendor: {name: v, logo: l.svg}}\n", b"<html><svg/></html>", "l.svg"), "plan.yaml:4:33: error: 'l.svg' is no PNG, JPEG or SVG of at most 1000000 bytes; give one [logo]"),
    "logo-of-enormous-size": (plan("quote: {vendor: {name: v, logo: l.png}}\n", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff", "l.png"), "plan.yaml:4:33: error: 'l.png' is no PNG, JPEG or SVG of at most 1000000 bytes; give one [logo]"),
    "logo-too-large": (plan("quote: {vendor: {name: v, logo: l.svg}}\n", SVG + b" " * LIMIT, "l.svg"), "plan.yaml:4:33: error: 'l.svg' is no PNG, JPEG or SVG of at most 1000000 bytes; give one [logo]"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_it_is_refused_in_these_words(name: str, tmp_path: Path) -> None:
    """Exit code 1, and on standard error what the table says."""
    lay, wanted = INPUTS[name]
    folder = tmp_path / "plan"
    folder.mkdir()
    lay(folder)
    assert (1, [wanted]) == said_of(Case(name, ["check", PLAN], {}, []), folder)


@pytest.mark.parametrize(("at", "shown"), [("dist", "dist/x"), ("dist/x", "dist/x")])
def test_results_do_not_follow_links_out_of_the_folder(at: str, shown: str, tmp_path: Path) -> None:
    """Who made the plan may have made the link, and a template of his has any name: nothing is written through it."""
    folder, outside = tmp_path / "plan", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    plan("templates: [authorized_keys.j2]\n", b"key", "authorized_keys.j2")(folder)
    (folder / at).parent.mkdir(exist_ok=True)
    (folder / at).symlink_to(outside)
    with chdir(folder):
        done = CliRunner().invoke(main, ["build", PLAN])
    below = "." if at == "dist" else "."
    message = f"bomgen: not written: {shown}: a link that leads out of {below}; name the folder itself with -o"
    assert (3, message) == (done.exit_code, done.stderr.splitlines()[-1])
    assert [] == list(outside.iterdir())


def test_a_folder_of_results_that_is_a_link_within_is_written(tmp_path: Path) -> None:
    """What a link stands for within the current folder is no trap."""
    plan("title: a\n")(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "dist").symlink_to("results")
    with chdir(tmp_path):
        assert 0 == CliRunner().invoke(main, ["build", PLAN, "-f", "json"]).exit_code
    assert (tmp_path / "results" / "x" / "bom.json").is_file()
