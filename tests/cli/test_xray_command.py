"""`bomgen xray` and `bomgen diff` as a user calls them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner, Result

from bomgen.cli.command import main

ROWS = [
    ["Rival Systems - offer 4711"],
    [],
    ["Pos", "P/N", "Description", "Qty", "Unit price", "Disc. %", "Total"],
    [1, "DGXH100", "NVIDIA DGX H100", 16, 250000, 0, 4000000],
    [2, "MQM9700-NS2F", "NVIDIA Quantum-2 NDR switch, leaf", 4, 25000, "10%", 90000],
    [3, "MQM9700-NS2F", "NVIDIA Quantum-2 NDR switch, spine", 2, 25000, "10%", 45000],
    [4, "MMA4Z00-NS-FLT", "twin-port OSFP 2xSR4, server end", 60, 900, "10%", 48600],
    [5, "MMA4Z00-NS", "twin-port OSFP, 1310nm SMF", 192, 900, "10%", 155520],
    [6, "MFP7E30-N030", "fibre, leaf to spine", 128, 140, "10%", 16128],
    [7, "MFP7E10-N030", "fibre, server to leaf", 128, 140, "10%", 16218],
    [None, None, None, None, None, "Total", 4371376],
]
"""A rival's bill with five errors: a module too few, one described as another, a fibre of the wrong kind, an amount
with two digits swapped, and a total that is not the sum."""


def call(*arguments: str) -> Result:
    """What the command does."""
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def rival(tmp_path: Path) -> Path:
    """The bill as a workbook."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in ROWS:
        sheet.append(row)
    book.save(tmp_path / "rival.xlsx")
    return tmp_path / "rival.xlsx"


@pytest.mark.deep
def test_five_errors_within_one_command(rival: Path) -> None:
    """It names all five at their lines, and writes the plan that the bill should have been."""
    plan = rival.with_name("rebuilt.yaml")
    done = call("xray", str(rival), "-q", "-f", "json", "-o", str(plan), "--fail-on", "error")
    assert done.exit_code == 4
    found = json.loads(done.stdout)
    sure = {(each["line"], each["code"]) for each in found["findings"] if each["severity"] == "error"}
    assert sure == {(8, "contradicted"), (10, "amount"), (11, "sum"), (9, "wrong-fibre")}
    few = next(each for each in found["findings"] if each["code"] == "few")
    assert (few["line"], few["pieces"], few["money"]) == (7, -4, "-3240.0")
    assert {(each["sheet"], each["file"]) for each in found["findings"] if each["code"] == "few"} == {
        ("Sheet", str(rival))
    }
    assert next(line["place"] for line in found["lines"] if line["line"] == 7) == "Sheet!A7"
    assert "# Sheet!A8: error: " in plan.read_text("utf-8")
    assert call("check", str(plan)).exit_code == 0
    changed = call("diff", str(rival), str(plan), "-f", "json")
    lines = {each["part"]: each for each in json.loads(changed.stdout)["lines"]}
    assert changed.exit_code == 0
    assert "mma4z00-ns-flt" in lines
    # The plan has no prices: its total is not set against that of the bill.
    compared = call("diff", str(rival), str(plan)).stdout
    assert f"no prices in {plan}" in compared
    assert "-100.0 %" not in compared
    assert f"{rival} is not a plan, so plan keys" in compared


OFFER = [
    ["ACME Cluster GmbH - proposal 2026-118, AI cluster of 256 GPUs"],
    [],
    ["Item No.", "Mfr Part #", "Component", "Where used", "Qty (pcs)", "Unit net EUR", "Ext. net EUR"],
    [10, "DGXH100", "NVIDIA DGX H100 8x H100 80GB", "Compute", 32, 298000, 9536000],
    [20, "MQM9700-NS2F", "Quantum-2 64-port NDR switch", "Compute fabric - leaf", 8, 24800, 198400],
    [30, "MQM9700-NS2F", "Quantum-2 64-port NDR switch", "Compute fabric - spine", 4, 24800, 99200],
    [40, "MMA4Z00-NS-FLT", "Twin-port OSFP 2x400G SR4", "Compute fabric - DGX side", 128, 890, 113920],
    [50, "MMA4Z00-NS", "Twin-port OSFP 2x400G SR4", "Compute fabric - leaf to servers", 64, 890, 56960],
    [60, "MMA4Z00-NS", "Twin-port OSFP 2x400G SR4", "Compute fabric - leaf to spine, both ends", 256, 890, 227840],
    [70, "MFP7E10-N030", "MMF fibre MPO12 APC 30 m", "Compute fabric - server to leaf", 128, 155, 19840],
    [80, "MFP7E30-N030", "SMF fibre MPO12 APC 30 m", "Compute fabric - leaf to spine", 256, 165, 42240],
    [90, "MSN4600-CS2FC", "Spectrum-3 SN4600C 64x100G", "In-band network", 2, 19900, 39800],
    [100, "MFA1A00-C030", "100G AOC QSFP28 30 m", "In-band network - server to switch", 64, 420, 26880],
    [None, None, None, None, None, "Total net", 10352080],
]
"""An offer with other columns and other errors: half the modules of the leaves and half the fibres to servers missing,
fibre of the wrong kind, a part that is no longer sold, and a total that is 9000 too low."""


def test_several_errors_in_one_fabric(tmp_path: Path) -> None:
    """All five are found at their lines, though three are in one fabric; item numbers are no part numbers."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in OFFER:
        sheet.append(row)
    book.save(tmp_path / "offer.xlsx")
    found = json.loads(call("xray", str(tmp_path / "offer.xlsx"), "-f", "json").stdout)
    assert found["columns"]["part"] == "Mfr Part #"
    said = {(each["line"], each["code"], each["pieces"]) for each in found["findings"]}
    assert said >= {(14, "sum", None), (11, "wrong-fibre", 256), (13, "end-of-sale", None)}
    assert {each for each in said if each[1] in ("few", "many", "missing", "instead", "no-place")} == {
        *((8, "few", -64), (10, "few", -128))
    }


def test_formats_and_languages(tmp_path: Path) -> None:
    """Text, Markdown and a page, in both languages; of one line, so that no fabric is searched for."""
    bill = tmp_path / "line.csv"
    bill.write_text('P/N,Description,Qty\nMMA4Z00-NS,"OSFP, 1310nm SMF",2\n', encoding="utf-8")
    page = call("xray", str(bill), "-f", "md").stdout
    assert "MMA4Z00-NS is described as single-mode, but it is multimode" in page
    assert "Pieces" not in page.partition("Lines")[0]
    page = call("xray", str(bill), "-f", "html", "--language", "zh", "--all").stdout
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "错误" in page
    assert "mma4z00-ns" in page


@pytest.mark.parametrize("arguments", [("-o", "x.html"), ("-f", "html", "-o", "x.html"), ("-f", "html", "-o", "x.out")])
def test_findings_go_to_a_file(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-o writes the findings in the format of its suffix or of -f, and never over a file that exists."""
    monkeypatch.chdir(tmp_path)
    Path("line.csv").write_text('P/N,Description,Qty\nMMA4Z00-NS,"OSFP, 1310nm SMF",2\n', encoding="utf-8")
    done = call("xray", "line.csv", *arguments)
    assert (done.exit_code, done.stdout) == (0, f"{arguments[-1]}\n")
    assert Path(arguments[-1]).read_text("utf-8") == call("xray", "line.csv", "-f", "html").stdout
    assert call("xray", "line.csv", *arguments).exit_code == 2


def test_nothing_is_written_over(rival: Path) -> None:
    """A plan that exists stays as it is."""
    plan = rival.with_name("mine.yaml")
    plan.write_text("bomgen: 1\n", encoding="utf-8")
    done = call("xray", str(rival), "-o", str(plan))
    assert done.exit_code == 2
    assert "exists; name a new file" in done.output
    assert plan.read_text(encoding="utf-8") == "bomgen: 1\n"


def test_what_is_no_bill(tmp_path: Path) -> None:
    """A table without a quantity is refused at its file; one that no plan explains gives findings and no plan."""
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    done = call("xray", str(table))
    assert (done.exit_code, "[no-bill]" in done.output) == (1, True)
    table.write_text("Part,Qty\nMMA4Z00-NS,8\n", encoding="utf-8")
    done = call("xray", str(table), "-o", str(tmp_path / "plan.yaml"))
    assert (done.exit_code, "[not-explained]" in done.output) == (1, True)
    assert not (tmp_path / "plan.yaml").exists()
    assert call("xray", str(tmp_path / "none.csv")).exit_code == 2


@pytest.mark.long
@pytest.mark.usefixtures("printer")
def test_pdf(rival: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of a PDF are read; without the extra it is said how to get it, and a broken one is refused."""
    import weasyprint

    rows = [ROWS[2], *ROWS[7:]]  # without machines, so that no fabric is searched for
    cells = "".join(f"<tr>{''.join(f'<td>{cell or str()}</td>' for cell in row)}</tr>" for row in rows)
    style = "<style>td {border: 1px solid black; font-size: 8px}</style>"
    pdf = rival.with_suffix(".pdf")
    weasyprint.HTML(string=f"{style}<table>{cells}</table>").write_pdf(pdf)
    found = json.loads(call("xray", str(pdf), "-f", "json").stdout)
    assert {each["code"] for each in found["findings"] if each["severity"] == "error"} == {
        *("contradicted", "amount", "sum", "wrong-fibre")
    }
    whole = pdf.read_bytes()
    style = "<style>td {font-size: 7px; padding: 1px 9px; white-space: nowrap}</style>"
    weasyprint.HTML(string=f"{style}<table>{cells}</table>").write_pdf(pdf)
    bare = json.loads(call("xray", str(pdf), "-f", "json").stdout)
    assert [each["message"] for each in bare["findings"]] == [each["message"] for each in found["findings"]]
    pdf.write_bytes(whole[:1000])
    broken = call("xray", str(pdf))
    assert (broken.exit_code, "[pdf]" in broken.output) == (1, True)
    monkeypatch.setitem(sys.modules, "pdfplumber", None)
    lacking = call("xray", str(pdf))
    assert (lacking.exit_code, "pip install pdfplumber" in lacking.output) == (1, True)
