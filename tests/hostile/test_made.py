"""Hostile inputs that no file of cases can hold: links, bytes that are no text, packages, lists of hundreds."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from cases import BASE, HERE, PLAN, Case, listed, said_of
from click.testing import CliRunner
from openpyxl import Workbook
from openpyxl.workbook.defined_name import DefinedName

from bomgen.cli.command import main

BOOK = b"part,price,currency\nqm9700,1,USD\n"
PRICED = "quote: {currency: USD, price_book: %s}\n"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
LIMIT = 1 << 20
SAID = dict(line.split("\t") for line in (HERE / "made.said").read_text(encoding="utf-8").splitlines())


def plan(text: str, content: bytes | Callable[[], bytes] = b"", name: str = "") -> Callable[[Path], None]:
    """Lays a plan, and one file beside it; a large one is made when it is laid."""

    def lay(folder: Path) -> None:
        (folder / PLAN).write_text(BASE + text, encoding="utf-8")
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content() if callable(content) else content)

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


def link_to_git(text: str, at: str) -> Callable[[Path], None]:
    """Lays a plan and a link into the folder that git keeps to itself."""

    def lay(folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "config").write_bytes(BOOK)
        (folder / at).parent.mkdir(parents=True, exist_ok=True)
        (folder / at).symlink_to(folder / ".git" / "config")
        (folder / PLAN).write_text(BASE + text, encoding="utf-8")

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
TAGS = "<a/>" * 20
ENTITIES = b"<!DOCTYPE x [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]><x>&b;</x>"
INPUTS: dict[str, Callable[[Path], None]] = {
    "no-utf8": raw(b"title: \xff\n"),
    "utf8-too-long": raw(b"title: \xc0\xaf\n"),
    "utf8-of-half-a-pair": raw(b"title: \xed\xa0\x80\n"),
    "utf8-cut-short": raw(b"title: a\xe2\x82"),
    "utf16": raw("bomgen: 1\n".encode("utf-16")),
    "utf16-without-a-mark": raw("bomgen: 1\n".encode("utf-16-le")),
    "utf32": raw("bomgen: 1\n".encode("utf-32-be")),
    "gzip": raw(b"\x1f\x8b\x08\x00"),
    "pickle": raw(b"\x80\x04\x95"),
    "book-no-utf8": plan(PRICED % "b.yaml", b"\xff", "b.yaml"),
    "part-no-utf8": plan("catalog: [p]\nfabrics: {compute: {switch: own}}\n", b"\xff", "p/switch/own.yaml"),
    "plan-too-large": raw(b"# " + b"a" * LIMIT),
    "plan-far-too-large": sparse("", PLAN, 1 << 40),
    "lock-far-too-large": sparse("", "plan.lock", 1 << 40),
    "book-far-too-large": sparse(PRICED % "b.csv", "b.csv", 1 << 40),
    "logo-far-too-large": sparse("quote: {vendor: {name: v, logo: l.png}}\n", "l.png", 1 << 40),
    "base-far-too-large": sparse("extends: b.yaml\n", "b.yaml", 1 << 40),
    "template-far-too-large": sparse("templates: [a.j2]\n", "a.j2", 1 << 40),
    "values-too-many": raw(BASE.encode() + b"a: [" + b"1," * 100_000 + b"]\n"),
    "price-table-too-large": plan(PRICED % "b.csv", b"a" * (5 * 10**6 + 1), "b.csv"),
    "price-table-too-long": plan(PRICED % "b.csv", BOOK + b"x,1,USD\n" * 20_000, "b.csv"),
    "price-table-of-line-ends": plan(PRICED % "b.csv", b"\r" * 60_000, "b.csv"),
    "price-table-of-quotes": plan(PRICED % "b.csv", BOOK + b'"' + b'""' * 400_000 + b"a", "b.csv"),
    "clusters": raw(
        f"bomgen: 1\nname: x\nclusters: [{listed('{name: c#, gpu: h100-sxm, servers: 4}', 21)}]\n".encode()
    ),
    "fabrics": plan(f"fabrics: {{{listed('f#: {role: compute, switch: qm9700}', 21)}}}\n"),
    "hosts": plan(
        f"fabrics: {{storage: {{switch: qm9700, hosts: [{listed('{name: h#, count: 1, ports: 1}', 201)}]}}}}\n"
    ),
    "alternatives": plan(f"quote: {{alternatives: [{listed('{name: a#, set: {title: a}}', 21)}]}}\n"),
    "charges": plan(f"quote: {{charges: [{listed('{kind: freight, price: 1}', 201)}]}}\n"),
    "terms": plan(f"quote: {{terms: [{listed('a', 201)}]}}\n"),
    "address": plan(f"quote: {{customer: {{name: c, address: [{listed('a', 21)}]}}}}\n"),
    "price-books": plan(f"quote: {{price_book: [{listed('b#.csv', 21)}]}}\n"),
    "part-folders": plan(f"catalog: [{listed('p#', 21)}]\n"),
    "templates": plan(f"templates: [{listed('t#.j2', 21)}]\n"),
    "stock": plan(f"stock: {{{listed('p#: 1', 1001)}}}\n"),
    "discounts-of-lines": plan(f"quote: {{discount: {{lines: {{{listed('l#: 1%', 1001)}}}}}}}\n"),
    "rows-of-racks": plan(
        f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [{listed('[{compute: 1}]', 10_001)}]}}}}\n"
    ),
    "blocks-of-a-row": plan(
        f"site: {{rack: {{power: 40 kW}}, layout: {{rows: [[{listed('{compute: 1}', 1001)}]]}}}}\n"
    ),
    "link-to-a-book-outside": link(PRICED % "b.csv", "b.csv", "../secret.csv", "secret.csv"),
    "link-to-a-folder-outside": link(PRICED % "d/secret.csv", "d", "../out", "out/secret.csv"),
    "link-to-an-absolute-place": link(PRICED % "b.csv", "b.csv", "/etc/passwd"),
    "link-to-a-process": link(PRICED % "b.csv", "b.csv", "/proc/self/environ"),
    "link-of-a-logo": link("quote: {vendor: {name: v, logo: l.svg}}\n", "l.svg", "../l.svg", "l.svg"),
    "link-of-a-template": link("templates: [a.j2]\n", "a.j2", "../a.j2", "a.j2"),
    "link-of-a-base": link("extends: b.yaml\n", "b.yaml", "../b.yaml", "b.yaml"),
    "link-of-a-part-folder": link("catalog: [p]\n", "p", "../p", "p/switch/own.yaml"),
    "link-of-a-part-file": link(
        "catalog: [p]\nfabrics: {compute: {switch: own}}\n", "p/switch/own.yaml", "../../../own.yaml", "own.yaml"
    ),
    "link-of-a-kind-of-part": link(
        "catalog: [p]\nfabrics: {compute: {switch: own}}\n", "p/switch", "../../out", "out/own.yaml"
    ),
    "link-to-itself": link(PRICED % "b.csv", "b.csv", "b.csv"),
    "link-into-git-as-a-book": link_to_git(PRICED % "b.csv", "b.csv"),
    "link-into-git-as-a-template": link_to_git("templates: [a.j2]\n", "a.j2"),
    "link-into-git-as-a-logo": link_to_git("quote: {vendor: {name: v, logo: l.svg}}\n", "l.svg"),
    "link-into-git-as-a-base": link_to_git("extends: b.yaml\n", "b.yaml"),
    "link-into-git-as-a-part-file": link_to_git(
        "catalog: [p]\nfabrics: {compute: {switch: own}}\n", "p/switch/own.yaml"
    ),
    "path-into-git": link_to_git(PRICED % ".git/config", "b.csv"),
    "pipe-as-a-book": pipe(PRICED % "b.csv", "b.csv"),
    "pipe-as-a-template": pipe("templates: [a.j2]\n", "a.j2"),
    "package-empty": plan(X, b"", "b.xlsx"),
    "package-of-text": plan(X, BOOK, "b.xlsx"),
    "package-cut-short": plan(X, workbook(("part",))[:-40], "b.xlsx"),
    "package-of-many-entries": plan(X, lambda: package({f"{n}.xml": b"" for n in range(201)}), "b.xlsx"),
    "package-bomb": plan(X, lambda: package({"a.xml": b"\0" * (19 << 20)}), "b.xlsx"),
    "package-expands": plan(X, lambda: package({"a.xml": b"a" * (20 << 20), "b.xml": b"b" * (20 << 20)}), "b.xlsx"),
    "package-of-much-work": plan(
        X, lambda: package({"a.xml": "<".join(map(str, range(1_710_000))).encode()}), "b.xlsx"
    ),
    "package-of-many-tags": plan(
        X, lambda: package({"a.xml": "".join(f"{n}{TAGS}" for n in range(205_000)).encode()}), "b.xlsx"
    ),
    "package-with-entities": plan(X, package({"xl/workbook.xml": ENTITIES}), "b.xlsx"),
    "package-with-entities-in-utf16": plan(
        X, package({"xl/workbook.xml": ENTITIES.decode().encode("utf-16")}), "b.xlsx"
    ),
    "package-without-a-workbook": plan(X, package({"a.xml": b"<a/>"}), "b.xlsx"),
    "sheet-too-wide": plan(X, workbook(("part", "price", "currency"), (*[None] * 60, "x")), "b.xlsx"),
    "sheet-with-formulas-alone": plan(X, workbook(("part", "price", "currency"), ("qm9700", "=1+1", "USD")), "b.xlsx"),
    "sheet-with-unseen-signs": plan(X, workbook(("part", "price", "currency"), ("qm\u202e9700", 1, "USD")), "b.xlsx"),
    "logo-of-comments": plan("quote: {vendor: {name: v, logo: l.svg}}\n", b"<!---->" * 100_000 + b"x", "l.svg"),
    "logo-with-entities": plan("quote: {vendor: {name: v, logo: l.svg}}\n", ENTITIES + SVG, "l.svg"),
    "logo-of-html": plan("quote: {vendor: {name: v, logo: l.svg}}\n", b"<html><svg/></html>", "l.svg"),
    "logo-of-enormous-size": plan(
        "quote: {vendor: {name: v, logo: l.png}}\n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff",
        "l.png",
    ),
    "logo-too-large": plan("quote: {vendor: {name: v, logo: l.svg}}\n", SVG + b" " * LIMIT, "l.svg"),
}
"""By name; `made.said` has what must be said of each."""


def test_every_input_has_its_message() -> None:
    """The table and the file have the same names."""
    assert list(SAID) == list(INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_it_is_refused_in_these_words(name: str, tmp_path: Path) -> None:
    """Exit code 1, and on standard error what the table says."""
    folder = tmp_path / "plan"
    folder.mkdir()
    INPUTS[name](folder)
    assert (1, [SAID[name]]) == said_of(Case(name, ["check", PLAN], {}, []), folder)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Aliases that stand for 10^9 values."""
READ_FROM_A_PIPE = {
    "aliases": BASE.encode() + BOMB.encode(),
    "levels": BASE.encode() + b"title: " + b"[" * 60_000,
    "itself": BASE.encode() + b"title: &a [*a]\n",
    "values": BASE.encode() + b"a: [" + b"1," * 100_000 + b"]\n",
    "characters": BASE.encode() + b"# " + b"a" * LIMIT,
    "noughts": b"\0" * (1 << 26),
    "no-utf8": BASE.encode() + b"title: \xff\n",
    "signs": BASE.encode() + "title: a\u202eb\n".encode(),
    "pickle": b"\x80\x04\x95",
    "key": BASE.encode() + b"!!python/object/apply:os.system [id]: 1\n",
    "tag": BASE.encode() + b"title: !!python/object/apply:os.system [id]\n",
    "range": BASE.encode() + b"search: {over: {cluster.servers: 1..99999999999999999999}}\n",
    "designs": BASE.encode() + b"search: {over: {cluster.servers: 1..100000, spares.switch: 0..99999}}\n",
    "searched-aliases": BASE.encode() + b"search: {over: {cluster.servers: &a [*a, 1]}}\n",
    "names": BASE.encode() + b"search: {over: {" + b", ".join(b"k%d: [1]" % at for at in range(9_000)) + b"}}\n",
}
"""Plans that somebody pipes into a command, none of which is one."""
COMMANDS = (["search", "-"], ["build", "-", "-o", "out"], ["check", "-"])


@pytest.mark.parametrize("name", READ_FROM_A_PIPE)
def test_plans_on_standard_input(name: str, tmp_path: Path) -> None:
    """They are refused at their place as those of files are, and nothing is written."""
    content = READ_FROM_A_PIPE[name]
    with chdir(tmp_path):
        for command in COMMANDS[:1] if b"search" in content else COMMANDS:
            done = CliRunner().invoke(main, command, input=content)
            assert done.exit_code == 1, (command, done.stderr, done.exception)
            assert done.stderr.startswith("<stdin>:"), command
            assert ": error: " in done.stderr.splitlines()[0]
        assert list(tmp_path.iterdir()) == []


RUNS = 'Sub Workbook_Open()\n  Shell "touch {at}"\nEnd Sub\nSub Auto_Open()\n  Shell "touch {at}"\nEnd Sub\n'


def with_macros(form: str, ran: Path) -> bytes:
    """A price list with macros that run when a workbook is opened: of Basic, of Excel 4.0, and formulas of DDE."""
    rows = [("part", "price", "currency", "source"), ("qm9700", 25000, "USD", f"=cmd|'/c touch {ran}'!A0")]
    if form == "ods":
        name = "urn:oasis:names:tc:opendocument:xmlns"
        cells = "".join(
            "<table:table-row>"
            + "".join(
                f'<table:table-cell office:value-type="string"><text:p>{c}</text:p></table:table-cell>' for c in row
            )
            + "</table:table-row>"
            for row in rows
        )
        spaces = f'xmlns:office="{name}:office:1.0" xmlns:table="{name}:table:1.0" xmlns:text="{name}:text:1.0" '
        spaces += f'xmlns:script="{name}:script:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
        event = '<script:event-listener script:language="ooo:script" script:event-name="dom:load" '
        event += 'xlink:href="vnd.sun.star.script:Standard.Module1.Auto_Open?language=Basic&amp;location=document"/>'
        library = "http://openoffice.org/2000/library"
        return package(
            {
                "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
                "content.xml": f"<office:document-content {spaces} office:version='1.2'><office:scripts>"
                f"<office:event-listeners>{event}</office:event-listeners></office:scripts><office:body>"
                f"<office:spreadsheet><table:table table:name='prices'>{cells}</table:table></office:spreadsheet>"
                "</office:body></office:document-content>".encode(),
                "META-INF/manifest.xml": b'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
                b'manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.'
                b'opendocument.spreadsheet"/></manifest:manifest>',
                "Basic/Standard/Module1.xml": f'<script:module xmlns:script="{library}" script:name="Module1" '
                f'script:language="StarBasic">{RUNS.format(at=ran)}</script:module>'.encode(),
            }
        )
    book, stream = Workbook(), io.BytesIO()
    sheet = book.worksheets[0]
    sheet.title = "prices"
    for row in rows:
        sheet.append(row)
        for cell in sheet[sheet.max_row]:
            cell.data_type = "s" if isinstance(cell.value, str) else "n"
    macros = book.create_sheet("Macro1")
    macros["A1"], macros["A2"] = f'=EXEC("touch {ran}")', "=HALT()"
    book.defined_names["Auto_Open"] = DefinedName("Auto_Open", attr_text="Macro1!$A$1", function=True, xlm=True)
    book.save(stream)
    with zipfile.ZipFile(stream, "a") as opened:
        opened.writestr("xl/vbaProject.bin", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + RUNS.format(at=ran).encode())
    return stream.getvalue()


@pytest.mark.parametrize("form", ["xlsx", "ods"])
def test_macros_are_not_run_and_not_passed_on(form: str, tmp_path: Path) -> None:
    """A list with macros is read as what its cells say; what is written of it has none, and text stays text."""
    ran = tmp_path / "ran"
    folder = tmp_path / "plan"
    folder.mkdir()
    plan(PRICED % f"b.{form}" + "fabrics: {compute: {switch: qm9700}}\n", with_macros(form, ran), f"b.{form}")(folder)
    with chdir(folder):
        done = CliRunner().invoke(main, ["build", PLAN, "-o", "out"])
        assert done.exit_code == 0, done.output
        assert CliRunner().invoke(main, ["prices", f"b.{form}", "-o", "book.xlsx"]).exit_code == 0
    assert not ran.exists()
    for path in (*(folder / "out" / "x").iterdir(), folder / "book.xlsx"):
        content = path.read_bytes()
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as opened:
                assert not [name for name in opened.namelist() if "vba" in name or "macro" in name.lower()]
                content = b"".join(opened.read(name) for name in opened.namelist() if "sheets/" in name)
            assert b"<f>cmd" not in content
        assert b"Auto_Open" not in content


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
    message = f"bomgen: not written: {shown}: a link that leads out of .; name the folder itself with -o"
    assert (3, message) == (done.exit_code, done.stderr.splitlines()[-1])
    assert list(outside.iterdir()) == []


def test_a_folder_of_results_that_is_a_link_within_is_written(tmp_path: Path) -> None:
    """What a link stands for within the current folder is no trap."""
    plan("title: a\n")(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "dist").symlink_to("results")
    with chdir(tmp_path):
        assert CliRunner().invoke(main, ["build", PLAN, "-f", "json"]).exit_code == 0
    assert (tmp_path / "results" / "x" / "bom.json").is_file()


def test_a_plan_that_is_a_link_out_of_its_folder_tree(tmp_path: Path) -> None:
    """A plan and its lock are files of the checkout that they are in, or links to such."""
    folder, outside = tmp_path / "checkout", tmp_path / "outside"
    (folder / ".git").mkdir(parents=True)
    (folder / "plans").mkdir()
    outside.mkdir()
    plan("title: a\n")(outside)
    plan("title: a\n")(folder / "plans")
    (folder / "out.yaml").symlink_to(outside / PLAN)
    (folder / "within.yaml").symlink_to(folder / "plans" / PLAN)
    with chdir(folder):
        refused, taken = (CliRunner().invoke(main, ["check", f"{name}.yaml"]) for name in ("out", "within"))
    assert refused.exit_code == 2
    assert "cannot read the plan 'out.yaml': The link leads out of the plan's folder tree" in refused.output
    assert taken.exit_code == 0
