"""Whole plans beside published bills and designs: every line of their quotes is a part, in both languages."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from designs import COMPONENTS, ROOT
from written_plans import plan_file

from bomgen.core.messages import read_language
from bomgen.output.writer import render
from bomgen.workflow.pipeline import work_out

PLANS = [each["plan"] for each in yaml.safe_load(COMPONENTS.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", PLANS)
def test_a_whole_plan_has_a_part_for_every_line_of_its_quote(name: str, code: str, tmp_path: Path) -> None:
    """No line stands for links without a part, or for a module that nobody sells."""
    plan: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    plan["quote"] = {"date": "2026-11-20", "currency": "USD", "language": code}
    files = render(work_out(plan_file(plan, tmp_path)), ("md", "json"))
    texts = {
        Path(file).name: content if isinstance(content, str) else content.decode() for file, content in files.items()
    }
    bom = json.loads(texts["bom.json"])
    assert [] == [check for check in bom["checks"] if check["id"] in ("generic", "no-part-known")]
    data = read_language(code)
    unknown = (data["words"]["planning-part"], data["messages"]["no-cable-known"].partition("{")[0])
    assert [] == [text for text in unknown if text.lower() in texts["quote.md"].lower()]


def english_quote(name: str, folder: Path) -> str:
    """The quote of a whole plan in English, in Markdown."""
    plan = yaml.safe_load((ROOT / "tests" / "reference" / "whole" / f"{name}.yaml").read_text(encoding="utf-8"))
    plan["quote"] = {"date": "2026-11-20", "currency": "USD", "language": "en"}
    files = render(work_out(plan_file(plan, folder)), ("md",))
    return next(content.decode() for file, content in files.items() if Path(file).name == "quote.md")


def test_a_part_of_a_named_maker_without_a_number_is_not_of_any_make(tmp_path: Path) -> None:
    """The bus cabinets of a SuperPoD come from Huawei; only what anybody makes may be anybody's."""
    quote = english_quote("atlas-900-a3-zh", tmp_path)
    assert "| Huawei | to be confirmed | Bus cabinet" in quote
    assert "| any manufacturer | Cat5e/Cat6" in quote


def test_modules_at_the_customers_end_have_a_known_quantity(tmp_path: Path) -> None:
    """24 uplinks of 100G have 24 modules at their other end: they are not on the bill, and their number is settled."""
    quote = english_quote("sr680a-100g", tmp_path)
    assert "Required but not included, to be quoted separately: QSFP28 SR4 100G (24)." in quote
    assert "quantity to be confirmed: QSFP28" not in quote
