"""The files of a plan are opened once, however often it is worked out."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.workflow.inputs import read_all
from bomgen.workflow.pipeline import work_out, work_out_variant
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
PLAN = "plans/llama65b-quote.yaml"
NAMED = (
    "plans/llama65b-quote.yaml",
    "plans/parts/transceiver/ex-osfp-400g-sr4.yaml",
    "plans/parts/transceiver/ex-osfp-800g-2sr4.yaml",
    "plans/pictures/example-systems.svg",
    "prices/example-2026q4.yaml",
    "prices/example-optics-2026q4.yaml",
)
"""What the plan, which has two alternatives, rests on."""
PROGRAM = """
import os, sys
from bomgen.__main__ import run

def told(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        os.write(2, f"opened {os.path.realpath(arguments[0])}\\n".encode())

sys.addaudithook(told)
run()
"""
DATA = ("plans", "prices", "schemas", "templates", "bomgen/data")
"""The folders of the user's files and of the program's own."""


def opened(*arguments: str) -> Counter[str]:
    """How often a command opens each file that is no code, by its path in the checkout."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    paths = (Path(line.removeprefix("opened ")) for line in done.stderr.splitlines() if line.startswith("opened "))
    data = [path.relative_to(ROOT).as_posix() for path in paths if path.is_relative_to(ROOT) and path.is_file()]
    return Counter(path for path in data if path.startswith(DATA))


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file of the checkout is opened by `Path.open`, as it is counted."""
    found, real = Counter[str](), Path.open

    def counted(path: Path, *how: str, **more: str) -> object:
        found[path.resolve().name] += 1
        return real(path, *how, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", counted)
    return found


def test_build_opens_each_file_once(tmp_path: Path) -> None:
    """The plan, its parts, prices and picture, and every schema and record of the program's own."""
    found = opened("build", PLAN, "-f", "json", "-o", str(tmp_path))
    assert (tmp_path / "llama65b-quote" / "bom.json").exists()
    assert dict.fromkeys(NAMED, 1) == {name: found[name] for name in NAMED}
    assert not [name for name, count in found.items() if count > 1]


@pytest.mark.parametrize("work", [work_out, work_out_variant])
def test_variants_open_nothing_again(work: Callable[..., object], opens: Counter[str]) -> None:
    """What is worked out with other settings takes the files from the inputs of the plan."""
    inputs = read_all(open_plan(str(ROOT / PLAN), None))
    work_out(inputs)
    opens.clear()
    variant = read_all(inputs.file, ["fabrics.compute.oversubscription=2"], earlier=inputs)
    work(variant)
    assert not opens.keys() & {Path(name).name for name in NAMED}


def test_a_variant_that_names_another_file_reads_that_alone(opens: Counter[str]) -> None:
    """A price book that only a setting names."""
    inputs = read_all(open_plan(str(ROOT / PLAN), None))
    opens.clear()
    read_all(inputs.file, ["quote.price_book=../prices/example-h100-2026q4.yaml"], earlier=inputs)
    assert opens == {"example-h100-2026q4.yaml": 1}


def test_files_that_cannot_be_read_are_refused_where_they_are_asked_for(tmp_path: Path) -> None:
    """A search and an offer ask for no picture; a result does."""
    plan = "bomgen: 1\nname: x\ncluster: {gpu: a100-sxm-80, servers: 1}\nquote: {vendor: {name: V, logo: none.svg}}\n"
    (tmp_path / "x.yaml").write_text(plan, encoding="utf-8")
    inputs = read_all(open_plan(str(tmp_path / "x.yaml"), None))
    assert work_out_variant(inputs).bill.lines
    with pytest.raises(PlanErrors, match=r"the logo 'none\.svg' cannot be read"):
        work_out(inputs)


def test_a_vendor_may_be_a_name(tmp_path: Path) -> None:
    """Above the key of a logo, a name stands in place of a mapping."""
    plan = tmp_path / "plan.yaml"
    text = "bomgen: 1\nname: plan\ncluster: {server: dgx-h100, servers: 4}\nquote: {currency: USD, vendor: Example}\n"
    plan.write_text(text, encoding="utf-8")
    assert work_out(open_plan(str(plan), None)).plan.quote.vendor
