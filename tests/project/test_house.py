"""The rules of the house: which room imports which, where numbers may stand, what data files look like."""

# ruff: noqa: SIM300

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from package_source import PACKAGE, TREES

from bomgen.catalog.part_file_checks import shared_sources, with_base
from bomgen.core import provenance, schema
from bomgen.core.yaml_source import Source, read
from bomgen.fabric.types import describe_topologies, topologies
from bomgen.plan import schema as plan_schema

ROOT = Path(__file__).parents[2]
DATA = PACKAGE / "data"
ROOMS = (
    *("core", "catalog", "fabric", "optics", "plan", "sizing", "site", "design", "cabling", "pricing"),
    *("reading", "results", "documents", "output", "workflow", "apply", "xray", "verify", "serve", "cli"),
)
"""From the ground up: a room imports those before it. The package itself and `__main__` may import any."""
THIRD_PARTY = {
    "yaml": ("core.yaml_source", "core.yaml_edit"),
    "jsonschema": ("core.schema",),
    "jinja2": ("output.markdown_html", "output.template_sandbox"),
    "markupsafe": ("output.markdown_html",),
    "openpyxl": ("output.xlsx.*", "output.wiring.xlsx", "output.price_lists"),
    "python_calamine": ("reading.workbooks",),
    "click": ("cli.*",),
    "numpy": (
        *("core.exact_vectors", "fabric.links", "sizing.gpu_counts"),
        *("site.floor_plan", "cabling.*", "results.rack_placement", "results.designs", "results.front"),
        "output.wiring.*",
        *("workflow.design_tables", "verify.*"),
    ),
    "distributed": ("workflow.design_search",),
    "pyarrow": ("output.wiring.columns",),
    "weasyprint": ("output.pdf",),
    "pdfplumber": ("reading.tables",),
}
"""The modules that may import a third-party library; `room.*` is every module of a room or a folder of it."""
REVIEWING = ("review.py", "post.py")
LITERALS = (0, 1, 2)
KEYWORDS = ("indent", "count")
TABLES = ("Column",)
"""Calls that describe the columns of a table, whose widths are no figures."""
PARTS = ("gpu", "server", "nic", "switch", "rack", "pdu")
PLAN_SCHEMA = plan_schema.document("plan")
SCHEMAS = sorted((ROOT / "schemas").rglob("*.json"))


def name_of(path: Path) -> str:
    """The dotted name of a module below the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    return module.partition(".")[0]


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """The modules that a module imports, at any depth, with the line."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module == "bomgen":
                yield from ((f"bomgen.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield str(node.module), node.lineno


def place(path: Path, node: ast.AST) -> str:
    """A node's file and line."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


# rooms --------------------------------------------------------------------------------------------------------------


def test_the_rooms_are_those_of_the_table() -> None:
    """No module lies loose in the package, and the table names no room that is gone."""
    rooms = {room_of(name_of(path)) for path in TREES} - {""}
    assert sorted({*ROOMS, "__main__"}) == sorted(rooms)
    assert {"__init__.py", "__main__.py"} == {path.name for path in PACKAGE.glob("*.py")}


def test_the_architecture_shows_the_same_rooms() -> None:
    """docs/architecture.md has the rooms in the order of the table."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n## Rooms\n")[2].partition("\n## ")[0]
    assert ROOMS == tuple(re.findall(r"^\| `([a-z_]+)/` \|", text, re.MULTILINE))


def test_records_and_exceptions_are_drawn() -> None:
    """docs/architecture.md shows records in their modules with the fields that hold them, and all public exceptions."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n## Records and exceptions\n")[2]
    drawn = re.findall(
        r"^ {4}[│├└─ ]*(?:(\w+): )?([A-Z]\w+)(?: \.\.\.)? +([\w/]+\.py)", text.partition("\n## ")[0], re.MULTILINE
    )
    sources = {module: (PACKAGE / module).read_text("utf-8") for _, _, module in drawn}
    assert [] == [
        (name, module) for _, name, module in drawn if not re.search(rf"^class {name}\(", sources[module], re.M)
    ]
    fields = [(field, name) for field, name, _ in drawn if field]
    held = "\n".join(sources.values())
    assert [] == [each for each in fields if not re.search(rf"^    {each[0]}: .*\b{each[1]}\b", held, re.MULTILINE)]
    raised = {
        (node.name, path.relative_to(PACKAGE).as_posix())
        for path, tree in TREES.items()
        if path.is_relative_to(PACKAGE)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if any(ast.unparse(base).endswith(("Exception", "Error")) for base in node.bases)
    }
    assert raised == {(name, module) for field, name, module in drawn if not field} - {("Report", "results/result.py")}


def test_a_room_says_what_it_is_for() -> None:
    """The `__init__.py` of a room or a folder of it is a docstring alone: it imports nothing and runs nothing."""
    found = [path for path in TREES if path.name == "__init__.py" and path.parent != PACKAGE]
    assert len(found) >= len(ROOMS)
    assert [] == [place(path, TREES[path]) for path in found if len(TREES[path].body) != 1]
    assert [] == [str(each) for each in {path.parent for path in TREES} if not (each / "__init__.py").is_file()]


def test_rooms_import_earlier_rooms_only() -> None:
    """A room imports rooms that stand before it in the table."""
    found, wrong = 0, []
    for path in TREES:
        room = room_of(name_of(path))
        if room not in ROOMS:
            continue
        for imported, line in imports_of(path):
            below = imported.removeprefix("bomgen.")
            if not imported.startswith("bomgen.") or below == "__version__" or room_of(below) == room:
                continue
            found += 1
            if ROOMS.index(room_of(below)) > ROOMS.index(room):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {imported}")
    assert found > 50
    assert [] == wrong


def module_imports() -> dict[str, set[str]]:
    """The modules of the package that each module imports, at any depth of its code."""
    names = {name_of(path) for path in TREES}
    return {
        name_of(path): {
            imported.removeprefix("bomgen.") for imported, _ in members_of(path) if imported.startswith("bomgen.")
        }
        & names - {name_of(path)}
        for path in TREES
    }


def test_the_picture_of_the_rooms_is_drawn_from_the_imports() -> None:
    """Each arrow of docs/architecture.md is an import that does not follow from others, and none is missing."""
    imported: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, others in module_imports().items():
        if (room := room_of(module)) in ROOMS:
            imported[room] |= {room_of(other) for other in others} & set(ROOMS) - {room}
    reached: dict[str, set[str]] = {}
    for room in ROOMS:
        reached[room] = imported[room].union(*(reached[below] for below in imported[room]))
    arrows = {
        (below, room)
        for room in ROOMS
        for below in imported[room]
        if not any(below in reached[other] for other in imported[room])
    }
    picture = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("flowchart LR\n")[2].partition("```")[0]
    rows = [[room.split(" & ") for room in row.strip().split(" --> ")] for row in picture.splitlines()]
    drawn = {arrow for row in rows for pair in pairwise(row) for arrow in product(*pair)}
    assert drawn == arrows


def members_of(path: Path) -> Iterator[tuple[str, int]]:
    """What a module imports: modules, and names of modules as `module.name`."""
    yield from imports_of(path)
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def test_no_modules_import_each_other() -> None:
    """There is no circle of imports, not even through imports inside functions."""
    left = module_imports()
    assert sum(map(len, left.values())) > 500
    while free := [name for name, imported in left.items() if not imported & left.keys()]:
        for name in free:
            del left[name]
    assert {} == {name: imported & left.keys() for name, imported in left.items()}


def test_relative_imports_do_not_hide_a_room() -> None:
    """Every import names its module in full."""
    wrong = [
        place(path, node)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert [] == wrong


def test_third_party_libraries_stay_in_their_rooms() -> None:
    """A library is imported by the one or two modules that are built on it."""
    seen, wrong = set(), []
    for path in TREES:
        module = name_of(path)
        for imported, line in imports_of(path):
            library = imported.partition(".")[0]
            if library == "bomgen" or library in sys.stdlib_module_names:
                continue
            seen.add(library)
            parents = accumulate(module.split("."), "{}.{}".format)
            if not {module, *(f"{parent}.*" for parent in parents)} & set(THIRD_PARTY.get(library, ())):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {imported}")
    assert [] == wrong
    assert sorted(THIRD_PARTY) == sorted(seen)


# registries ---------------------------------------------------------------------------------------------------------

HEAVY = ("numpy", "openpyxl", "jinja2", "weasyprint", "pyarrow", "pdfplumber", "python_calamine", "distributed")


def test_a_format_is_declared_without_what_writes_it() -> None:
    """Importing every declared format of a document loads no library that writes one."""
    program = (
        "import sys\nfrom bomgen.output.registry import DOCUMENTS\n"
        "for name in DOCUMENTS.names:\n    DOCUMENTS.module(name)\n"
        "print(*sorted(set(sys.argv[1].split(',')) & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", program, ",".join(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(HEAVY) < {*THIRD_PARTY}
    assert done.stdout == "\n"


def test_registries_are_declared_not_parsed() -> None:
    """Source is parsed for the text of formulas alone: trees that threads ask for at a time can break Python 3.11."""
    found = {
        name_of(path)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and (getattr(node.value, "id", ""), node.attr) == ("ast", "parse")
    }
    assert found == {"core.provenance"}


# code ---------------------------------------------------------------------------------------------------------------


def test_everything_public_says_what_it_is() -> None:
    """Every module, and every public function, method and class of one, has a docstring."""
    silent = [place(path, tree) for path, tree in TREES.items() if not ast.get_docstring(tree)]
    for path, tree in TREES.items():
        for owner in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_")):
            silent += [
                f"{place(path, node)} {node.name}"
                for node in owner.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
            ]
    assert [] == silent


STARTERS = re.compile(
    r"(subprocess|multiprocessing|pty|asyncio\.subprocess)\b.*"
    r"|os\.(system|popen|fork|forkpty|startfile|exec\w*|spawn\w*|posix_spawn\w*)"
    r"|.*\b(ProcessPoolExecutor|LocalCluster|create_subprocess_\w+)"
)
"""Modules whose import, and functions whose call, is there to start a process."""
STARTING = "bomgen/core/jobs.py"


def test_processes_are_started_in_one_module() -> None:
    """Whatever bomgen and its review start is started where the current folder is kept out of it."""
    trees = {**TREES} | {
        path: ast.parse(path.read_text("utf-8")) for path in (ROOT / "ci" / name for name in REVIEWING)
    }
    found = set()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            names += [ast.unparse(node.func)] if isinstance(node, ast.Call) else []
            if any(STARTERS.fullmatch(name) for name in names):
                found.add(path.relative_to(ROOT).as_posix())
    assert {STARTING} == found


def is_formula(node: ast.AST) -> bool:
    """Whether a function is under `@formula`."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "formula"
        for decorator in node.decorator_list
    )


def test_a_formula_is_one_expression() -> None:
    """A formula returns one expression, so that the text shown is all that runs; it stands at the top of its module."""
    found, wrong = 0, []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if is_formula(node) and isinstance(node, ast.FunctionDef):
                found += 1
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if node not in tree.body or len(body) != 1 or not isinstance(body[0], ast.Return) or not body[0].value:
                    wrong.append(f"{place(path, node)} {node.name}")
    assert found > 50
    assert [] == wrong


def test_a_declared_formula_has_its_name_and_says_what_it_is() -> None:
    """A formula that an operation declares is assigned to that name at the top of a module, and described below."""
    operations = {name for name, each in vars(provenance).items() if isinstance(each, provenance.Operator)}
    operations.add(provenance.constant.__name__)
    found, right = set(), set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(given)), *_]) if name in operations:
                    found.add(f"{place(path, node)} {given}")
        for statement, below in pairwise(tree.body):
            match statement, below:
                case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str())):
                    right.add(f"{place(path, statement.value)} {name}")
    assert len(found) > 50
    assert set() == found - right


def is_constant(node: ast.stmt) -> bool:
    """Whether a statement of a module gives a constant its value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [name for target in targets for name in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return bool(names) and all(isinstance(name, ast.Name) and name.id.isupper() for name in names)


def literals(node: ast.AST) -> Iterator[ast.Constant]:
    """The numbers written in code, save those in slices, column tables, and keywords that lay out text."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in LITERALS:
        yield node
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TABLES:
        return
    for name, child in ast.iter_fields(node):
        if isinstance(node, ast.Subscript) and name == "slice":
            continue
        for below in child if isinstance(child, list) else [child]:
            if isinstance(below, ast.keyword) and below.arg in KEYWORDS:
                continue
            if isinstance(below, ast.AST):
                yield from literals(below)


def test_numbers_have_names() -> None:
    """Numbers other than 0, 1 and 2 are named constants of a module, with the reason beside them."""
    wrong = [
        f"{place(path, literal)} {literal.value}"
        for path, tree in TREES.items()
        for statement in tree.body
        if not is_constant(statement)
        for literal in literals(statement)
    ]
    assert [] == wrong


# data ---------------------------------------------------------------------------------------------------------------


def schema_of(path: Path) -> str:
    """The schema that a file of the catalogue keeps to."""
    kind = path.parent.name
    return kind if kind in ("model", "assumption", "run", "connection") else f"part/{kind}"


def source_of(path: Path) -> Source:
    """A data file as the program reads it, without trust, with the part that it extends."""
    source = read(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    return source._replace(data=with_base(path.parent.name, source.data)) if path.is_relative_to(DATA) else source


KINDS = sorted({path.parent.name for path in DATA.glob("*/*.yaml")} - {"language"})


@pytest.mark.parametrize("kind", KINDS)
def test_the_catalogue_keeps_to_its_schemas(kind: str) -> None:
    """Every file of the catalogue is right by the schema of its kind."""
    files = sorted((DATA / kind).glob("*.yaml"))
    assert len(files) > 0
    assert [] == [str(problem) for path in files for problem in schema.check_schema(source_of(path), schema_of(path))]


def named_sources(data: Any) -> Iterator[str]:
    """The source ids that a record's figures name."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in ("source", "ports_source"):
                yield from [value] if isinstance(value, str) else value
            elif key != "sources":
                yield from named_sources(value)
    elif isinstance(data, list):
        for item in data:
            yield from named_sources(item)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_named_is_described(kind: str) -> None:
    """A source id stands in the record's list of sources or in the shared one, not in both, or is `unverified`."""
    wrong = []
    for path in sorted((DATA / kind).glob("*.yaml")):
        data = source_of(path).data
        known = {"unverified", *data.get("sources", {}), *shared_sources()}
        wrong += [f"{path.name}: {name}" for name in named_sources(data) if name not in known]
        wrong += [
            f"{path.name}: {name}, twice"
            for name, source in data.get("sources", {}).items()
            if shared_sources().get(name) == source and name in named_sources(data)
        ]
    assert [] == wrong


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: str(path.relative_to(ROOT / "schemas")))
def test_every_schema_is_one(path: Path) -> None:
    """Every schema keeps to the metaschema of JSON Schema 2020-12."""
    data = json.loads(path.read_text(encoding="utf-8"))
    assert "https://json-schema.org/draft/2020-12/schema" == data["$schema"]
    jsonschema.Draft202012Validator.check_schema(data)


@pytest.mark.parametrize("path", sorted((ROOT / "plans").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_keeps_to_the_schema(path: Path) -> None:
    """Every plan of plans/ is right by the plan schema."""
    assert [] == [str(problem) for problem in plan_schema.check_plan_schema(source_of(path))]


@pytest.mark.parametrize("path", sorted((ROOT / "prices").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_price_book_keeps_to_the_schema(path: Path) -> None:
    """Every price book of prices/ is right by the schema of price books."""
    assert [] == [str(problem) for problem in schema.check_schema(source_of(path), "prices")]


# the plan schema ----------------------------------------------------------------------------------------------------


def properties(data: Any, path: str = "") -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every property of a schema: path, key and what stands there."""
    if isinstance(data, dict):
        for key, below in data.items():
            if key == "properties":
                for name, entry in below.items():
                    if isinstance(entry, dict):
                        yield f"{path}.{name}", name, entry
                        yield from properties(entry, f"{path}.{name}")
            elif key not in ("examples", "anyOf", "allOf", "oneOf"):
                yield from properties(below, f"{path}.{key}" if key != "$defs" else path)


def test_every_key_of_a_plan_is_documented() -> None:
    """Every key has a title, a description and examples: editors show them, and the reference is made of them."""
    found = list(properties(PLAN_SCHEMA))
    assert len(found) > 100
    wanted = ("title", "description", "examples")
    assert [] == [path for path, _, entry in found if any(not entry.get(word) for word in wanted)]


# topologies ---------------------------------------------------------------------------------------------------------


def test_no_topology_is_asked_for_by_name() -> None:
    """Names of topologies and of kinds of link of one topology stand in the module that declares them alone.

    The links of endpoints are those of every topology with switches: the declaration names them.
    """
    names = {*topologies(), *(kind.name for each in describe_topologies() for kind in each.link_kinds)}
    assert len(names) > 10
    declaring = ("fabric.topologies.", "fabric.types")
    wrong = [
        place(path, node)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names and not name_of(path).startswith(declaring)
    ]
    assert [] == wrong
