"""`from bomgen import build`: what notebooks and services get is what the command writes, and nothing is printed."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

import bomgen
from bomgen.cli import command
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.workflow.library import Result, build, check

ROOT = Path(__file__).parents[2]
PLAN = {"bomgen": 1, "name": "small", "cluster": {"gpu": "h100-sxm", "servers": 16}, "fabrics": {"storage": {}}}
RIGHT = {**PLAN, "fabrics": {"compute": {"switch": "qm9700"}}}
TEXT = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 16}\nfabrics: {compute: {switch: qm9700}}\n"

THREADED = (
    *("llama65b-quote", "superpod-h100-4su", "a100-32-zh", "llama65b-linkx", "llama2-7b-chat", "1000P-dense"),
    *("llama3-70b-lora", "mi355x-arista"),
)
IN_THREADS = """
import gc, json, sys, time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

sys.path.insert(0, "tests/workflow")
from test_library import digests

gc.callbacks.append(lambda *_: time.sleep(1e-5))
names = sys.argv[1:]
begin = Barrier(len(names))


def work(name):
    begin.wait()
    return digests(name)


with ThreadPoolExecutor(len(names)) as pool:
    found = dict(zip(names, pool.map(work, names)))
gc.callbacks.clear()
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of plans are those of the checkout."""
    monkeypatch.chdir(ROOT)


def test_public_names_hide_no_module() -> None:
    """`import bomgen.catalog.files` and the like are modules, whatever was imported before."""
    modules = {path.stem for path in (ROOT / "bomgen").iterdir() if path.suffix in ("", ".py")}
    assert not modules & set(bomgen.__all__)
    for name in ("core", "catalog", "design", "results", "pricing"):
        assert importlib.import_module(f"bomgen.{name}") is getattr(bomgen, name)
    assert set(bomgen.__all__) <= set(dir(bomgen))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bomgen.nothing  # noqa: B018


def test_answers_are_rows_of_plain_values(tmp_path: Path) -> None:
    """Of parts, designs, changes, cables and findings: JSON of a few kB, with the numbers that the commands print."""
    parts = bomgen.find_parts("800G LPO")
    assert {"table", "Part", "Name", "Figures"} == {*parts[0]}
    figures = {row["key"]: row["value"] for row in bomgen.find_parts("qm9700") if row["table"] == "figures"}
    assert figures["ports"] == "64"
    [design] = bomgen.search(RIGHT, ["cluster.servers=8,16"], minimise=["switches"], within=["servers=10"])
    assert (design["cluster.servers"], design["switches"]) == ("8", 1)
    changes = bomgen.diff(RIGHT, RIGHT, set={"cluster.servers": 32})
    assert {"table": "plan", "key": "cluster.servers", "before": "16", "after": "32", "place": "--set"} in changes
    result = build(RIGHT)
    cables = [*result.wiring()]
    to_servers = [cable for cable in cables if cable["kind"] == "server-leaf"]
    assert len(to_servers) == result.number("fabrics.compute.links.server-leaf")
    assert cables[0]["a_port"] == "nic1"
    (tmp_path / "bill.csv").write_text("Part,Qty\nDGX H100,4\nMQM9700-NS2F,1\n", "utf-8")
    findings = bomgen.inspect_bill(tmp_path / "bill.csv")
    assert {"severity", "code", "line", "message"} <= {*findings[0]}
    assert len(json.dumps([parts, design, changes, cables[0], findings, build("plans/llama65b.yaml").summary])) < 24_000


def test_the_former_module_of_stopped_is_importable() -> None:
    """`bomgen.interrupts.Stopped` was documented in version 0.1; it is `bomgen.Stopped`."""
    from bomgen.interrupts import Stopped  # type: ignore[import-not-found]

    assert Stopped is bomgen.Stopped


def test_importing_the_package_loads_nothing() -> None:
    """Who only asks for the version does not wait for anything."""
    code = "import sys, bomgen; bomgen.__version__; print([name for name in sys.modules if 'bomgen.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['bomgen.interrupts']\n"  # the name of a module of version 0.1, which loads when it is used


@pytest.mark.parametrize("name", ["llama65b-linkx", "llama65b-quote", "llama2-7b-chat"])
def test_files_are_those_of_the_command(name: str, tmp_path: Path) -> None:
    """Every file of a result has the bytes that `bomgen build` writes."""
    written = build(f"plans/{name}.yaml").write(tmp_path / "library")
    done = CliRunner().invoke(command.main, ["build", f"plans/{name}.yaml", "-o", str(tmp_path / "command")])
    assert done.exit_code == 0
    assert len(written) == 8
    for path in written:
        assert path.read_bytes() == (tmp_path / "command" / name / path.name).read_bytes()


def test_path_text_and_data_are_one(tmp_path: Path) -> None:
    """A plan has the same result as a path, as an object of a path, as text, and as data."""
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    first, *others = (build(plan) for plan in (str(path), path, TEXT, RIGHT))
    for other in others:
        assert (other.totals, other.numbers) == (first.totals, first.numbers)
        assert [{**line, "explain": ""} for line in other.lines] == [{**line, "explain": ""} for line in first.lines]
    assert first.number("fabrics.compute.switches.leaf") == 4


def test_a_result_is_bom_json() -> None:
    """Data, lines, totals and numbers are those of the file."""
    result = build("plans/llama65b-quote.yaml")
    bom = json.loads(result.files("json")["bom.json"])
    assert result.data == bom
    assert (result.lines, result.totals) == (bom["lines"], bom["totals"])
    for path, number in result.numbers.items():
        place = bom
        for step in path.split("."):
            place = place[step]
        assert place == number


@pytest.mark.parametrize("given", [{"cluster.servers": 32}, ["cluster.servers=32"]])
def test_settings_are_laid_over_the_plan(given: dict[str, int] | list[str]) -> None:
    """As a mapping and as the command takes them; what was laid over is recorded."""
    result = build(RIGHT, set=given)
    assert result.number("cluster.gpus") == 256
    assert [entry["name"] for entry in result.data["plan"]["inputs"]] == ["--set cluster.servers=32"]
    with pytest.raises(TypeError):
        build(RIGHT, set="cluster.servers=32")


def test_a_wrong_plan_raises_all_its_problems(capfd: pytest.CaptureFixture[str]) -> None:
    """Each with its place, message and rule; nothing is printed."""
    with pytest.raises(PlanErrors) as caught:
        build(TEXT.replace("qm9700", "qm9701").replace("h100-sxm", "h101-sxm"))
    assert [(problem.line, problem.rule) for problem in caught.value.problems] == [
        (3, "unknown-part"),
        (4, "unknown-part"),
    ]
    assert all(problem.file == "<text>" and problem.column > 1 for problem in caught.value.problems)
    problems = check(PLAN)
    assert [type(problem) for problem in problems] == [Problem]
    assert (problems[0].severity, problems[0].path) == ("error", "fabrics.storage")
    assert capfd.readouterr() == ("", "")


def test_warnings_are_no_errors() -> None:
    """`check` gives the warnings of a plan that can be built, as the result has them."""
    found = check("plans/llama65b.yaml")
    assert {problem.severity for problem in found} == {"warning"}
    assert tuple(found) == build("plans/llama65b.yaml").warnings


def test_what_is_not_there_is_a_key_error() -> None:
    """A path without a number names those that are near; a format that there is not, those that there are."""
    result = build(RIGHT)
    with pytest.raises(KeyError, match=r"near: cluster\.gpus"):
        result.number("cluster.gpu")
    with pytest.raises(KeyError, match="near"):
        result.explain("cluster.gpu")
    with pytest.raises(ValueError, match="there are md,html"):
        result.files("docx")
    with pytest.raises(OSError, match="nowhere"):
        build("nowhere.yaml")


def test_a_dash_is_a_file_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service never waits for its standard input."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        build("-")


def test_a_notebook_shows_the_bill() -> None:
    """Key figures and lines, as HTML in which nothing of a plan is markup."""
    result = build({**RIGHT, "title": "<b>|bold|</b>"})
    page = result._repr_html_()
    assert "&lt;b&gt;|bold|" in page
    assert "<td>DGX H100</td>" in page


@pytest.mark.deep
def test_threads_do_not_disturb_each_other() -> None:
    """Eight plans in eight threads of a fresh process give the bytes that they give one after the other.

    Nothing is loaded or kept yet when the threads begin, and every garbage collection lets another thread go on: that
    is where what threads share is met half-way.
    """
    done = subprocess.run(
        [sys.executable, "-c", IN_THREADS, *THREADED], capture_output=True, encoding="utf-8", cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: digests(name) for name in THREADED}


def digests(name: str) -> dict[str, str]:
    """The SHA-256 of every document and of the cable list of a plan of plans/."""
    result = build(f"plans/{name}.yaml")
    with TemporaryDirectory() as folder:
        cables = result.write_wiring(f"{folder}/cables.csv")
        files = result.files("json", "md", "html", "csv", "xlsx", "svg", "cdx") | {"cables": cables[0].read_bytes()}
    return {file: sha256(content).hexdigest() for file, content in files.items()}


def test_the_documentation_is_true() -> None:
    """docs/library.md shows what happens."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    path = str(ROOT / "docs" / "library.md")
    assert doctest.testfile(path, module_relative=False, optionflags=flags, encoding="utf-8") == (0, 18)


def test_the_notebook_runs(tmp_path: Path) -> None:
    """docs/examples/notebook.py prints its tables: H100 for 2T tokens on 70.6B parameters in 30 days at 40 %."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "examples" / "notebook.py"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    # 6 N D FLOPs over the dense peak of 989.4 TFLOP/s: whole servers, whole leaves of four.
    needed = 6 * 70.55e9 * 2e12 / (989.4e12 * 0.4 * 30 * 86400)
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith("h100-sxm") and " 30 " in line]
    assert needed <= int(row[2]) <= needed + 32
    assert "single-switch    128 servers: 1 024 endpoints; one QM9700 has 64 ports" in done.stdout
    assert done.stderr == ""


def test_a_result_says_what_it_is() -> None:
    """A result in a terminal is one line."""
    result = build(RIGHT)
    assert isinstance(result, Result)
    assert repr(result) == f"<bomgen.Result of small: {len(result.lines)} lines>"


def test_what_is_no_text_or_no_data_is_said(tmp_path: Path) -> None:
    """Half signs have their place; keys that are no words, endless levels and paths that are none: ValueError."""
    for plan, settings, place in (
        ({**RIGHT, "title": "\ud800"}, {}, ("<data>", 13, 12)),
        ("bomgen: 1\nname: \ud800\n", {}, ("<text>", 2, 7)),
        (RIGHT, {"title": "a\udc80"}, ("<set>", 1, 9)),
        (RIGHT, ["name=small", "title=\udc80"], ("<set>", 2, 7)),
    ):
        with pytest.raises(PlanErrors) as caught:
            build(plan, set=settings)
        (problem,) = caught.value.problems
        assert (problem.file, problem.line, problem.column, problem.rule) == (*place, "encoding")
        assert check(plan, set=settings) == [problem]
    endless: list[object] = []
    endless.append(endless)
    deep: list[object] = []
    for _ in range(10 * sys.getrecursionlimit()):
        deep = [deep]
    for data in ({**RIGHT, (1, 2): 3}, {**RIGHT, "title": endless}, {**RIGHT, "title": deep}, "a\0b"):
        with pytest.raises(ValueError, match=r"not plain data|Circular|null byte"):
            build(data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not plain data"):
        build(RIGHT, set={"spares": {(1, 2): 3}})
    with pytest.raises(ValueError, match="null byte"):
        build(str(tmp_path / "a\0b.yaml"))


def test_files_have_the_plans_own_templates_too(tmp_path: Path) -> None:
    """Whatever formats are asked for; one that is broken is the plan's mistake."""
    template = tmp_path / "own.txt.j2"
    template.write_text("{{ plan.name }}", "utf-8")
    plan = f"{TEXT}templates: [own.txt.j2]\n"
    files = build(plan, root=tmp_path).files("json")
    assert set(files) == {"bom.json", "own.txt"}
    template.write_text("{{ plan.name ", "utf-8")
    with pytest.raises(PlanErrors):
        build(plan, root=tmp_path).files("json")
