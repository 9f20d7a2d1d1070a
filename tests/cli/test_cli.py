"""The command as a user and a script see it: what it prints, where, and with which exit code."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result
from depth import DEEP, JUDGED_PLANS
from processor import run_bomgen

from bomgen.cli import command as cli
from bomgen.fabric.types import topologies
from bomgen.output.pdf import INSTALL, NotPrinted
from bomgen.plan.schema import with_defaults
from bomgen.results.numbers import numbers
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").glob("*.yaml"))
BOM_SCHEMA = json.loads((ROOT / "schemas" / "bom.schema.json").read_text(encoding="utf-8"))
COMMANDS = sorted(cli.COMMANDS)
PLAN = """bomgen: 1
name: small
cluster:
  gpu: h100-sxm
  servers: 16
fabrics:
  compute: {switch: qm9700}
"""
WRONG = PLAN.replace("qm9700", "qm9701")

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder; whatever happens, it happens without a traceback."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, stdin: str | bytes | None = None) -> Result:
        outcome = CliRunner().invoke(cli.main, arguments, input=stdin)
        assert outcome.exception is None or isinstance(outcome.exception, SystemExit), repr(outcome.exception)
        assert "Traceback" not in outcome.output
        return outcome

    return command


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """What a process of its own prints and returns."""
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def written(folder: Path) -> list[str]:
    """The files below a folder, by path."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# help ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda words: " ".join(words) or "bomgen")
def test_every_command_has_help(command: Sequence[str], run: Run) -> None:
    """`--help` says what a command does, and what each of its options does."""
    outcome = run(*command, "--help")
    assert 0 == outcome.exit_code
    assert "Usage:" in outcome.stdout
    parameters = cli.subcommand(command[0]).params if command else cli.main.params
    assert [] == [option.name for option in parameters if isinstance(option, click.Option) and not option.help]
    assert len((cli.subcommand(command[0]) if command else cli.main).help or "") > 20


@pytest.mark.parametrize("arguments", [["--help"], ["check", "plans/llama65b.yaml"]], ids=["help", "check"])
def test_what_renders_is_not_imported_in_vain(arguments: list[str]) -> None:
    """Help and check come at once: neither a workbook library, nor a template library, nor NumPy is loaded."""
    program = (
        "import sys\nfrom bomgen.cli.command import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({'openpyxl', 'jinja2', 'numpy'} & sys.modules.keys()), file=sys.stderr, sep=',', end='')"
    )
    outcome = python("-c", program, *arguments)
    last = outcome.stderr.splitlines()[-1] if outcome.stderr else ""
    assert not [library for library in ("openpyxl", "jinja2", "numpy") if library in last]


def test_version(run: Run) -> None:
    """`--version` names the program and its version."""
    outcome = run("--version")
    assert (0, True) == (outcome.exit_code, outcome.stdout.startswith("bomgen"))


# build --------------------------------------------------------------------------------------------------------------


BUILT_HERE = [plan for plan in PLANS if DEEP or plan.stem not in JUDGED_PLANS - {"llama65b"}]
"""The others are built in every format for the outside programs."""


@pytest.mark.parametrize("plan", BUILT_HERE, ids=lambda path: path.stem)
def test_every_example_builds_in_every_format(plan: Path, tmp_path: Path, run: Run) -> None:
    """Each plan of plans/ gives all eight files; bom.json keeps to its schema; stdout has a summary and their paths."""
    outcome = run("build", str(plan), "-o", str(tmp_path / "out"))
    assert 0 == outcome.exit_code, outcome.stderr
    name = plan.stem.lower()
    files = [
        "bom.csv",
        "bom.json",
        *(f"{kind}.{form}" for kind in ("quote", "report") for form in ("html", "md", "xlsx")),
    ]
    assert [f"{name}/{file}" for file in files] == written(tmp_path / "out")
    assert [] == [file for file in files if str(tmp_path / "out" / name / file) not in outcome.stdout]
    bom = json.loads((tmp_path / "out" / name / "bom.json").read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(BOM_SCHEMA).iter_errors(bom)
    assert [] == [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]


def described(schema: dict[str, Any], steps: tuple[str, ...]) -> bool:
    """Whether a schema describes the value at a path."""
    if "$ref" in schema:
        schema = {**BOM_SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
        schema.pop("$ref")
    if not steps:
        return "description" in schema
    below = schema.get("properties", {}).get(steps[0], schema.get("additionalProperties"))
    return isinstance(below, dict) and described(below, steps[1:])


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_every_number_is_described(plan: Path) -> None:
    """The schema of bom.json describes every number at its path."""
    found = numbers(work_out(open_plan(str(plan), None)).design)
    assert len(found) > 10
    assert [] == [".".join(path) for path in found if not described(BOM_SCHEMA, path)]


def test_results_go_to_dist_unless_told_otherwise(tmp_path: Path, run: Run) -> None:
    """Without -o the files lie in dist/NAME/ of the current folder; only the formats asked for are there."""
    (tmp_path / "p.yaml").write_text(PLAN, encoding="utf-8")
    assert 0 == run("build", "p.yaml", "-f", "json,csv").exit_code
    assert ["dist/small/bom.csv", "dist/small/bom.json", "p.yaml"] == written(tmp_path)


def test_a_plan_from_standard_input(tmp_path: Path, run: Run) -> None:
    """`-` is standard input; its problems stand at <stdin>."""
    assert 0 == run("build", "-", "-f", "json", stdin=PLAN).exit_code
    assert ["dist/small/bom.json"] == written(tmp_path)
    outcome = run("build", "-", "-f", "json", stdin=WRONG)
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("<stdin>:7:21: error: no switch 'qm9701'; did you mean 'qm9700'? [unknown-part]\n")


@pytest.mark.parametrize(("part", "said"), [("ufm-ndr", "Maximum power: "), ({"name": "Box"}, "Power, at least (")])
def test_power_is_at_most_or_at_least(part: Any, said: str, run: Run) -> None:
    """The summary gives a sum that leaves machines out as a bound from below; a warning names them."""
    cluster = {"gpu": "h100-sxm", "servers": 8}
    fabric = {"switch": "qm9700", "hosts": [{"name": "box", "count": 1, "part": part}]}
    plan = {"bomgen": 1, "name": "power", "cluster": cluster, "fabrics": {"compute": fabric}}
    outcome = run("build", "-", stdin=json.dumps(plan))
    assert f"\n  {said}" in outcome.stdout
    assert ("power unknown for Box" in outcome.stderr) == ("at least" in said)


def test_an_override_shows_up_in_the_result(tmp_path: Path, run: Run) -> None:
    """--set changes a value, several may be given, and the result names them among its inputs."""
    outcome = run(
        *("build", "-", "-f", "json", "--set", "cluster.servers=32", "--set", "fabrics.compute.oversubscription=2"),
        stdin=PLAN,
    )
    assert 0 == outcome.exit_code, outcome.stderr
    bom = json.loads((tmp_path / "dist/small/bom.json").read_text(encoding="utf-8"))
    assert 32 == bom["cluster"]["servers"]
    assert bom["fabrics"]["compute"]["oversubscription"]["leaf"] > 1
    names = [entry["name"] for entry in bom["plan"]["inputs"]]
    assert [True, True] == [
        any(text in name for name in names) for text in ("cluster.servers=32", "oversubscription=2")
    ]


def test_problems_of_an_override_stand_at_the_option(run: Run) -> None:
    """The second --set is line 2 of the file <set>, and the column that of its value."""
    outcome = run("check", "-", "--set", "cluster.servers=32", "--set", "fabrics.compute.switch=qm9701", stdin=PLAN)
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("<set>:2:24: error: no switch 'qm9701'; did you mean 'qm9700'? [unknown-part]")


@pytest.mark.parametrize("setting", ["cluster.servers", "=3", "name.below=1", "cluster.servers=[1", "nonsense.key=1"])
def test_a_wrong_override_is_a_wrong_plan(setting: str, run: Run) -> None:
    """A setting that is none, or of a key that is none, is reported at <set>:1."""
    outcome = run("check", "-", "--set", setting, stdin=PLAN)
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("<set>:1:")


def test_several_plans_return_the_worst_code(tmp_path: Path, run: Run) -> None:
    """A wrong plan among others does not keep them from being built; the worst code is returned."""
    (tmp_path / "a.yaml").write_text(WRONG.replace("small", "other"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text(PLAN, encoding="utf-8")
    assert 1 == run("build", "a.yaml", "b.yaml", "-f", "json").exit_code
    assert ["a.yaml", "b.yaml", "dist/small/bom.json"] == written(tmp_path)


def test_two_plans_of_one_name_are_wrong_usage(tmp_path: Path, run: Run) -> None:
    """Two plans that would write into one folder are refused before anything is written."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(PLAN, encoding="utf-8")
    outcome = run("build", "a.yaml", "b.yaml", "-f", "json")
    assert 2 == outcome.exit_code
    assert "small" in outcome.stderr
    assert ["a.yaml", "b.yaml"] == written(tmp_path)


@pytest.mark.parametrize("formats", ["pdfx", "", "json,nothing"])
def test_an_unknown_format_is_wrong_usage(formats: str, tmp_path: Path, run: Run) -> None:
    """A format that there is not is named with those that there are, and nothing is written."""
    outcome = run("build", "-", "-f", formats, stdin=PLAN)
    assert 2 == outcome.exit_code
    assert "json" in outcome.stderr
    assert [] == written(tmp_path)


@pytest.mark.parametrize("command", ["build", "check", "explain"])
@pytest.mark.parametrize("plan", ["nowhere.yaml", "."])
def test_a_plan_that_is_not_there_is_wrong_usage(command: str, plan: str, run: Run) -> None:
    """A missing plan file, or a folder in its place, is wrong usage."""
    outcome = run(command, plan)
    assert 2 == outcome.exit_code
    assert plan in outcome.stderr


def test_a_pdf_without_weasyprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """No WeasyPrint: exit code 3, one line that says what to install, and no other file either."""

    def fail(_: bytes) -> bytes:
        raise NotPrinted(f"PDF output requires WeasyPrint, which is not installed: {INSTALL}")

    monkeypatch.setattr("bomgen.output.pdf.pdf", fail)
    outcome = run("build", "-", "-f", "md,pdf", stdin=PLAN)
    assert 3 == outcome.exit_code
    assert "bomgen: not written: quote.pdf: " in outcome.stderr
    assert "pip install weasyprint" in outcome.stderr
    assert [] == written(tmp_path)


def test_output_that_cannot_be_written(tmp_path: Path, run: Run) -> None:
    """A file where the output folder should be: exit code 3, one line that says so, nothing half-written."""
    (tmp_path / "out").write_text("in the way", encoding="utf-8")
    outcome = run("build", "-", "-o", "out", "-f", "json,csv", stdin=PLAN)
    assert 3 == outcome.exit_code
    assert "out" in outcome.stderr.splitlines()[-1]
    assert ["out"] == written(tmp_path)


def test_nothing_is_left_half_written(tmp_path: Path, run: Run) -> None:
    """When one file cannot take its place, no other is replaced and no temporary file stays."""
    folder = tmp_path / "out" / "small"
    (folder / "bom.csv").mkdir(parents=True)
    (folder / "bom.json").write_text("old", encoding="utf-8")
    outcome = run("build", "-", "-o", "out", "-f", "json,csv", stdin=PLAN)
    assert 3 == outcome.exit_code
    assert ["bom.json"] == written(folder)
    assert "old" == (folder / "bom.json").read_text(encoding="utf-8")


# check --------------------------------------------------------------------------------------------------------------


def test_check_of_a_right_plan_writes_nothing(tmp_path: Path, run: Run) -> None:
    """A plan that can be built: exit code 0, and no file."""
    outcome = run("check", "-", stdin=PLAN)
    assert 0 == outcome.exit_code
    assert [] == written(tmp_path)


def test_check_as_json(run: Run) -> None:
    """--format json gives a list of problems with place, words, rule and path, on stdout."""
    outcome = run("check", "-", "--format", "json", stdin=WRONG)
    assert 1 == outcome.exit_code
    (problem,) = json.loads(outcome.stdout)
    assert {
        "file": "<stdin>",
        "line": 7,
        "column": 21,
        "severity": "error",
        "message": "no switch 'qm9701'; did you mean 'qm9700'?",
        "rule": "unknown-part",
        "path": "fabrics.compute.switch",
    } == problem


def test_check_for_github(run: Run) -> None:
    """--format github gives workflow commands that annotate the plan."""
    outcome = run("check", "-", "--format", "github", stdin=WRONG)
    assert 1 == outcome.exit_code
    wanted = "::error file=<stdin>,line=7,col=21::no switch 'qm9701'; did you mean 'qm9700'? [unknown-part]"
    assert [wanted] == outcome.stdout.splitlines()


def test_check_of_several_plans_reports_all(tmp_path: Path, run: Run) -> None:
    """Every plan is checked, the problems of all are reported together as JSON."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(WRONG.replace("small", name[0]), encoding="utf-8")
    outcome = run("check", "a.yaml", "b.yaml", "--format", "json")
    assert ["a.yaml", "b.yaml"] == [problem["file"] for problem in json.loads(outcome.stdout)]


# explain ------------------------------------------------------------------------------------------------------------


def test_explain_one_number(run: Run) -> None:
    """A number's formula, inputs and their places, as a tree below it."""
    outcome = run("explain", "-", "fabrics.compute.switches.leaf", stdin=PLAN)
    assert 0 == outcome.exit_code
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("leaf = 4 switches    ceil(attached / down)")
    assert any("<stdin>:5:12" in line for line in lines)
    tree = lines[1 : lines.index("")]
    assert [] == [line for line in tree if line[:4] not in ("├── ", "└── ", "│   ", "    ")]


def test_explain_below_a_path(run: Run) -> None:
    """The start of a path explains every number below it, and no other."""
    outcome = run("explain", "-", "fabrics.compute.switches", stdin=PLAN)
    heads = [line for line in outcome.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert [f"fabrics.compute.switches.{name}:" for name in ("leaf", "spine", "total")] == heads


def test_explain_all(run: Run) -> None:
    """Without a path every number is explained."""
    outcome = run("explain", "-", stdin=PLAN)
    assert 0 == outcome.exit_code
    heads = {line for line in outcome.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")}
    assert {"cluster.gpus:", "cluster.nics:", "fabrics.compute.bisection_gbps:"} <= heads


def test_explain_of_a_path_that_is_not_there(run: Run) -> None:
    """A path that the result has not is wrong usage; those near it are named."""
    outcome = run("explain", "-", "fabrics.compute.switches.leafs", stdin=PLAN)
    assert 2 == outcome.exit_code
    assert "fabrics.compute.switches.leaf" in outcome.stderr


def test_explain_of_a_wrong_plan(run: Run) -> None:
    """A wrong plan explains nothing: its problems, exit code 1."""
    outcome = run("explain", "-", stdin=WRONG)
    assert (1, "") == (outcome.exit_code, outcome.stdout)


# catalog ------------------------------------------------------------------------------------------------------------


def test_catalog_of_kinds(run: Run) -> None:
    """Without a kind, the kinds there are, each with how many."""
    words = {line.split()[0] for line in run("catalog").stdout.splitlines()[1:]}
    schemas = {path.name.removesuffix(".schema.json") for path in (ROOT / "schemas" / "part").glob("*.json")}
    assert schemas | {"connection", "model", "run", "topology"} == words


@pytest.mark.parametrize("kind", ["gpu", "server", "nic", "switch", "transceiver", "cable", "model"])
def test_catalog_of_a_kind(kind: str, run: Run) -> None:
    """A kind lists every file of its folder by id."""
    outcome = run("catalog", kind)
    assert 0 == outcome.exit_code
    ids = sorted(path.stem for path in (ROOT / "bomgen" / "data" / kind).glob("*.yaml"))
    assert ids == sorted(line.split()[0] for line in outcome.stdout.splitlines()[1:])


@pytest.mark.parametrize("name", ["qm9700", "MQM9700-NS2F", "mqm9700", "920-9B210-00FN-0M0"])
def test_catalog_of_a_part(name: str, run: Run) -> None:
    """A part is found by id, part number, alias and ordering number, and shown with confidence and sources."""
    outcome = run("catalog", "switch", name)
    assert 0 == outcome.exit_code
    assert "switch qm9700" == outcome.stdout.splitlines()[0]
    assert "sources" in outcome.stdout


def test_catalog_of_a_cable_of_one_length(run: Run) -> None:
    """The part number of one length finds its family and says the length."""
    outcome = run("catalog", "cable", "mfp7e10-n030")
    assert 0 == outcome.exit_code
    assert "cable mfp7e10-nxxx" == outcome.stdout.splitlines()[0]
    assert ["length", "30", "m"] == outcome.stdout.splitlines()[2].split()


def test_catalog_of_topologies(run: Run) -> None:
    """The topologies that are built, each with its limits and a drawing of its own."""
    blocks = run("catalog", "topology").stdout.split("\n\n")
    heads, drawings = blocks[::2], blocks[1::2]
    assert {"fat-tree", "rail-optimized", "dragonfly", "torus"} <= {head.split()[0] for head in heads}
    assert [] == [head for head in heads if len(head.split()) < 3]
    assert len(heads) == len(set(drawings))


def test_catalog_of_one_topology(run: Run) -> None:
    """A topology in full: its drawing, and every number of it that a plan may give."""
    lines = run("catalog", "topology", "dragonfly").stdout.splitlines()
    assert "topology dragonfly" == lines[0]
    assert {"p", "a", "h", "g"} <= {line.split()[0] for line in lines if line.split()}
    assert any("leaf --- leaf" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["switch", "qm9701"], "qm9700"),
        (["bolt"], "gpu"),
        (["topology", "dragonfly2"], "dragonfly"),
        (["topology", "ring"], "torus"),
    ],
)
def test_catalog_of_what_is_not_there(arguments: list[str], near: str, run: Run) -> None:
    """An unknown kind or part is wrong usage; what is near is named."""
    outcome = run("catalog", *arguments)
    assert 2 == outcome.exit_code
    assert near in outcome.stderr


# schema -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ([], "plan"),
        (["plan"], "plan"),
        (["bom"], "bom"),
        (["diff"], "diff"),
        (["xray"], "xray"),
        (["part", "switch"], "part/switch"),
    ],
    ids=["default", "plan", "bom", "diff", "xray", "part-switch"],
)
def test_schema_is_the_file(arguments: list[str], file: str, run: Run) -> None:
    """The schema printed is the one that plans and parts are checked by, with the assumptions of plans as defaults."""
    outcome = run("schema", *arguments)
    printed = json.loads(outcome.stdout)
    assert with_defaults(file) == printed
    if file == "plan":
        assert set(topologies()) == set(printed["$defs"]["fabric"]["properties"]["topology"]["enum"])
    elif not file.startswith("part/"):
        assert (ROOT / "schemas" / f"{file}.schema.json").read_text(encoding="utf-8") == outcome.stdout


def test_schema_of_any_part(run: Run) -> None:
    """Without a kind, one schema that admits the parts of every kind."""
    schema = json.loads(run("schema", "part").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas/part").glob("*.json")) == sorted(
        schema["$defs"]
    )


def test_schema_of_any_part_admits_a_part(run: Run) -> None:
    """The schema of any kind of part holds for a part of the catalogue: its references lead somewhere."""
    schema = json.loads(run("schema", "part").stdout)
    part = {"name": "switch", "ports": {"value": 64, "source": ["unverified"], "confidence": "low"}, "port_gbps": 400}
    assert jsonschema.Draft202012Validator(schema).is_valid(part)


@pytest.mark.parametrize("arguments", [["nothing"], ["part", "bolt"]])
def test_schema_of_what_is_not_there(arguments: list[str], run: Run) -> None:
    """An unknown schema or kind of part is wrong usage."""
    assert 2 == run("schema", *arguments).exit_code


# whatever happens ---------------------------------------------------------------------------------------------------


EIGHT = "bomgen: 1\nname: a\ncluster: {gpu: h100-sxm, servers: 8}\n"
TRAINING = "bomgen: 1\nname: a\ncluster: {gpu: h100-sxm, gpus: 8}\nworkload: {training: {model: llama-2-7b, "
HOSTILE: dict[str, str | bytes] = {
    "empty": "",
    "not-utf8": b"\xff\xfe",
    "nothing-but-format": "bomgen: 1",
    "list": "[]",
    "null": "null",
    "alias-of-itself": "a: &a [*a]",
    "list-as-key": "? [a]\n: b",
    "python-tag": "name: !!python/object:os.system x",
    "nul": b"\x00",
    "name-that-climbs": "bomgen: 1\nname: ../a\ncluster: {gpu: h100-sxm, servers: 1}",
    "empty-cluster": "bomgen: 1\nname: a\ncluster: {}",
    "too-many-servers": EIGHT.replace("8}", "1e30}"),
    "negative-peak": "bomgen: 1\nname: a\ncluster: {gpu: {bf16_tflops: -1}, server: {gpus: 0}, servers: 1}",
    "one-port-switch": EIGHT + "fabrics: {compute: {switch: {ports: 1, port_gbps: 400}}}",
    "role-unknown": EIGHT + "fabrics: {x: {switch: qm9700}}",
    "empty-fabric": EIGHT + "fabrics: {compute: {}}",
    "ratio-large": EIGHT + "fabrics: {compute: {switch: qm9700, oversubscription: 1e9}}",
    "ratio-zero": EIGHT + "fabrics: {compute: {switch: qm9700, oversubscription: 0}}",
    "rate-tiny": EIGHT + "fabrics: {compute: {switch: qm9700, link: 0.001}}",
    "odd-uplinks": EIGHT.replace("8}", "257}") + "fabrics: {storage: {switch: qm9700, ports_per_server: 2}}",
    "folder-as-price-book": EIGHT + "quote: {price_book: .}",
    "no-part-folder": EIGHT + "catalog: [nowhere]",
    "days-beyond-measure": TRAINING + "tokens: 1, target_days: 1e30}}",
    "rate-above-peak": TRAINING + "tokens: 1T, achieved_tflops: 5000}}",
    "gpu-without-server": "bomgen: 1\nname: a\ncluster: {gpu: k80, servers: 8}\nfabrics: {compute: default}",
    "all-defaults": EIGHT + "fabrics: {compute: default, storage: default, in_band: default, out_of_band: default}",
    "described-server": EIGHT.replace("servers", "server: {gpus: 8, nics: 8, nic: cx7-400-osfp}, servers")
    + "fabrics: {compute: {switch: qm9700}}",
}


@pytest.mark.parametrize("plan", list(HOSTILE.values()), ids=list(HOSTILE))
def test_nothing_a_user_writes_gives_a_traceback(plan: str | bytes, run: Run) -> None:
    """Whatever stands in a plan, check ends with 0 or 1 and says why."""
    outcome = run("check", "-", stdin=plan)
    assert outcome.exit_code in (0, 1)
    if outcome.exit_code:
        assert "<stdin>:" in outcome.stderr


def test_a_server_described_in_the_plan_has_its_nics(run: Run) -> None:
    """A server given as a mapping with a catalogue card needs no rate beside it: the card says it."""
    outcome = run("explain", "-", "cluster.nics", stdin=HOSTILE["described-server"])
    assert 0 == outcome.exit_code, outcome.stderr
    assert outcome.stdout.startswith("nics = 64 NICs")


@pytest.mark.parametrize("tokens", ["1e24", "1e40"])
def test_a_slip_in_an_exponent_is_answered_at_once(tokens: str, tmp_path: Path) -> None:
    """A demand beyond all measure is answered within the bounds of any input, whatever the answer is."""
    training = f"{{model: llama-2-7b, tokens: {tokens}, target_days: 1}}"
    plan = f"bomgen: 1\nname: a\nworkload: {{training: {training}}}\ncluster: {{gpu: h100-sxm}}\n"
    (tmp_path / "a.yaml").write_text(plan, encoding="utf-8")
    assert run_bomgen(["check", "a.yaml"], tmp_path).code in (0, 1)


def test_help_imports_no_subcommand() -> None:
    """The help of the command is the table of its subcommands, and at once."""
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bomgen", "--help"], capture_output=True, text=True, check=True
    )
    assert all(f"  {name} " in said.stdout for name in COMMANDS)
    imported = {line.rpartition("|")[2].strip() for line in said.stderr.splitlines()}
    assert "bomgen.cli.command" in imported
    modules = {cli.MODULES.get(name, name) for name in COMMANDS} - {"command"}
    assert not imported & {"yaml", "jsonschema", *(f"bomgen.cli.{module}" for module in modules)}


def test_the_module_runs_as_the_command() -> None:
    """`python -m bomgen` is the command."""
    outcome = python("-m", "bomgen", "catalog", "topology")
    assert (0, True) == (outcome.returncode, "fat-tree" in outcome.stdout)


@pytest.mark.parametrize(
    ("formats", "files"),
    [
        ("md", ["quote.md", "report.md"]),
        ("quote.md", ["quote.md"]),
        ("report.html,bom.csv", ["bom.csv", "report.html"]),
        ("xlsx,quote.xlsx,quote.html", ["quote.html", "quote.xlsx", "report.xlsx"]),
    ],
)
def test_formats_and_files_can_be_chosen(formats: str, files: list[str], tmp_path: Path, run: Run) -> None:
    """A format stands for the quote and the report; the name of a file stands for it alone."""
    assert run("build", "-", "-o", "out", "-f", formats, stdin=PLAN).exit_code == 0
    [folder] = (tmp_path / "out").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == files


def test_the_quote_is_printed(run: Run) -> None:
    """`-f md -o -` prints the quote, `-f report.md -o -` the report."""
    quote, report = (run("build", "-", "-o", "-", "-f", form, stdin=PLAN).stdout for form in ("md", "report.md"))
    assert "## Not included" in quote
    assert "## Derivations" in report
    assert "## Derivations" not in quote


def test_plans_are_built_in_parallel(tmp_path: Path, run: Run) -> None:
    """`--jobs` writes the same files, says the same in the same order, and gives the same exit code."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("bomgen: 1\nname: wrong\ncluster: {gpu: h100-sxn, servers: 1}\n", encoding="utf-8")
    plans = [str(ROOT / "plans" / "llama65b.yaml"), str(wrong), str(ROOT / "plans" / "a100-32-zh.yaml")]
    one, two = (run("build", *plans, "-o", "out", "-f", "json,quote.md", "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.exit_code, one.stdout, one.stderr) == (two.exit_code, two.stdout, two.stderr)
    assert one.exit_code == 1
    assert written(tmp_path / "out") == [
        f"{name}/{file}" for name in ("a100-32-zh", "llama65b") for file in ("bom.json", "quote.md")
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("wiring p.yaml -f csv -o c.xlsx", "the suffix .xlsx is for xlsx, not csv"),
        ("wiring p.yaml -o c.pdf", "no format has the suffix .pdf"),
        ("diff p.yaml p.yaml -f json -o d.md", "the suffix .md is for md, not json"),
        ("compare p.yaml p.yaml -f md -o c.html", "the suffix .html is for html, not md"),
        ("search p.yaml -f csv -o s.json", "the suffix .json is for json, not csv"),
        ("simulate p.yaml -o s.xlsx", "no format has the suffix .xlsx"),
        ("margin p.yaml -f csv -o m.json", "the suffix .json is for json, not csv"),
        ("prices --for p.yaml -f csv -o b.yml", "the suffix .yml is for yaml, not csv"),
        ("xray b.csv -o f.xlsx", "no format has the suffix .xlsx; use .txt, .md, .html, .json, .yaml, .yml"),
        ("catalog model --from c.json -o m.xlsx", "no format has the suffix .xlsx; use .yaml, .yml"),
        ("build p.yaml -o quote.pdf", "use -f pdf -o DIR"),
    ],
)
def test_a_file_is_what_its_suffix_says(run: Run, arguments: str, said: str) -> None:
    """A suffix of another format than -f, or of none, is wrong usage, and nothing is written."""
    for name, text in {"p.yaml": PLAN, "b.csv": "part,quantity\nDGX H100,4\n", "c.json": "{}"}.items():
        Path(name).write_text(text, encoding="utf-8")
    outcome = run(*arguments.split())
    assert (outcome.exit_code, said in outcome.stderr) == (2, True), outcome.stderr
    assert not Path(arguments.split()[-1]).exists()


@pytest.mark.parametrize(("name", "begins"), [("c.xlsx", b"PK"), ("c.parquet", b"PAR1"), ("c.csv", b"fabric,")])
def test_a_cable_list_follows_the_suffix(run: Run, name: str, begins: bytes) -> None:
    """A workbook and a Parquet file begin as their formats have it (PKZIP, Parquet), a CSV with its columns."""
    assert run("wiring", "-", "-o", name, stdin=PLAN).exit_code == 0
    assert Path(name).read_bytes().startswith(begins)


def test_the_catalogue_drops_no_word_that_contradicts(run: Run) -> None:
    """The H20 with 141 GB is another card than the one with 96 GB."""
    outcome = run("catalog", "H20 141GB")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "'H20 141GB' is not in the catalogue; nearest: gpu h20" in outcome.stderr
