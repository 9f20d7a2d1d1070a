"""docs/extending.md as somebody follows it: in a copy of the checkout files are added, and bomgen finds them."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import Step, Written, blocks, follow
from installed import CHECKOUT

from bomgen.plan import rules
from bomgen.results import checks, warnings

COPIED = ("bomgen", "schemas", "templates")
BLOCKS = list(blocks((CHECKOUT / "docs" / "extending.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program in a folder of its own."""
    place = tmp_path_factory.mktemp("extending")
    for name in COPIED:
        shutil.copytree(CHECKOUT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    (place / ".git").mkdir()
    return place


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block-{number}" for number in range(len(BLOCKS))])
def test_each_addition_works(block: list[Step] | Written, copy: Path) -> None:
    """Files are added as shown, and the commands below them use them."""
    follow(block, copy, copy)


DOCUMENT = '''"""The bill as a list for people."""

from bomgen.output.registry import DocumentInputs

ABOUT = "A line for each part, as a list."
FILE = "list.txt"
BINARY = False


def write(source: DocumentInputs) -> bytes:
    """A line for each part."""
    return "".join(f"{each.line.pieces} {each.line.description}\\n" for each in source.report.quote.lines).encode()
'''


def python(copy: Path, *arguments: str, folder: Path | None = None) -> str:
    """What Python prints that runs in the copy."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(folder or "")))}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_document_format_is_one_module(copy: Path) -> None:
    """A format that is one file is known to `build -f`, help, completion, the library and the page of the commands."""
    (copy / "bomgen" / "output" / "formats" / "list.py").write_text(DOCUMENT, "utf-8")
    plan = str(CHECKOUT / "plans" / "llama65b.yaml")
    bomgen = ("-m", "bomgen")
    printed = python(copy, *bomgen, "build", plan, "--root", str(CHECKOUT), "-f", "list", "-o", "-")
    assert printed.startswith("256 DGX A100 640GB\n1024 ConnectX-7 NDR single\n")
    assert re.search(
        r"^  list +list\.txt: A line for each part, as a list\.$", python(copy, *bomgen, "build", "--help"), re.M
    )
    program = f"import bomgen; print(bomgen.build({plan!r}).files('list')['list.txt'].decode(), end='')"
    assert printed == python(copy, "-c", program)
    program = "import commands; [(_, page)] = commands.pages(); print(page)"
    page = python(copy, "-c", program, folder=CHECKOUT / "tools" / "pages")
    assert "<code>list</code>" in page
    assert "list.txt: A line for each part, as a list." in page
    program = (
        "import click; from bomgen.cli import proposals; print([i.value for i in proposals.documents(None, 'md,l')])"
    )
    assert python(copy, "-c", program) == "['md,list']\n"


PLAN = """
bomgen: 1
name: pilot
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 4}
fabrics: {compute: {switch: qm9700}}
"""
RULE = '''

@rule
def {name}({parameters}) -> Iterator[{result}]:
    """Whether an added rule runs."""
    yield {result}({problem})
'''
RULES = {
    "plan/rules.py": ("plan: Plan, _: Source", "Problem", 'plan.mark, "warning", "an added rule", "added"'),
    "results/warnings.py": ("designed: Design", "Problem", 'designed.plan.mark, "warning", "an added rule", "added"'),
    "results/checks.py": ("built: BuiltFabric", "Check", '"added", "warn", "an added rule", built.plan.name'),
}


@pytest.mark.parametrize("module", RULES)
def test_a_rule_is_one_function(module: str, copy: Path, tmp_path: Path) -> None:
    """A rule of plans, a warning and a check each run when their function is written under `@rule`."""
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    place = copy / "bomgen" / module
    before = place.read_text("utf-8")
    parameters, result, problem = RULES[module]
    place.write_text(before + RULE.format(name="added", parameters=parameters, result=result, problem=problem), "utf-8")
    printed = python(copy, "-m", "bomgen", "build", str(tmp_path / "plan.yaml"), "-f", "json", "-o", "-")
    place.write_text(before, "utf-8")
    found = [check for check in json.loads(printed)["checks"] if check["id"] == "added"]
    assert [(check["status"], check["message"]) for check in found] == [("warn", "an added rule")]


def test_a_language_lacks_no_sentence(copy: Path, tmp_path: Path) -> None:
    """A language is one file; without one of the sentences no quote is written, and the sentence is named."""
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    folder = copy / "bomgen" / "data" / "language"
    whole = (folder / "zh.yaml").read_text("utf-8")
    [sentence] = re.findall(r"\n  over-built: [^\n]*", whole)
    build = ("-m", "bomgen", "build", "plan.yaml", "--set", "quote.language=eo", "-f", "md", "-o", "-")
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        for text, code in ((whole, 0), (whole.replace(sentence, ""), 1)):
            (folder / "eo.yaml").write_text(text, "utf-8")
            done = subprocess.run(
                [sys.executable, *build], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == code, done.stderr
            assert bool(done.stdout) is not bool(code)
            assert ("eo.yaml has no text for over-built" in done.stderr) is bool(code)
            assert "Traceback" not in done.stderr
    finally:
        (folder / "eo.yaml").unlink()


def test_every_rule_is_registered() -> None:
    """A function with the shape of a rule stands in its registry; one of another shape is used by one that does."""
    registered = {
        rules: rules.RULES,
        warnings: warnings.RULES,
        checks: [rule for each in checks.RULES.values() for rule in each],
    }
    for module, known in registered.items():
        source = Path(str(module.__file__)).read_text("utf-8")
        functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
        assert len(known) == len(set(known)) > 3
        shapes = {shape(functions[rule.__name__]) for rule in known}
        for name, function in functions.items():
            is_rule = getattr(module, name) in known
            assert is_rule == (shape(function) in shapes), f"{module.__name__}.{name} lacks @rule"
            used = len(re.findall(rf"\b{name}\b", source)) > 1 or not name.startswith("_")
            assert is_rule or used, f"nothing uses {module.__name__}.{name}"


def shape(function: ast.FunctionDef) -> tuple[str, ...]:
    """The types of what a function takes and gives."""
    types = (*(each.annotation for each in function.args.args), function.returns)
    return tuple(ast.unparse(each) for each in types if each)
