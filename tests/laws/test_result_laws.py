"""Laws of the result as a whole: every number explained, every build alike."""

# ruff: noqa: SIM300

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from inspect import Parameter, signature
from math import isclose
from pathlib import Path
from typing import Any

import pytest
import yaml
from plan_reports import PLANS, report_of

from bomgen.core.provenance import Derived, Figure, json_value, walk
from bomgen.output.registry import DOCUMENTS
from bomgen.results.numbers import Paths
from bomgen.results.result import Report, numbers_of, result

ROOT = Path(__file__).parent.parent.parent
TABLES = yaml.safe_load((ROOT / "tests" / "reference" / "fabrics.yaml").read_text(encoding="utf-8"))
SIZES = yaml.safe_load((ROOT / "tests" / "reference" / "sizing.yaml").read_text(encoding="utf-8"))

Worked = Callable[[dict[str, Any]], Report]
LAST_DIGITS = 1e-12
BINARY = 2**40
"""Powers of two from here on are the denominators of binary numbers."""

RICH = {
    "bomgen": 1,
    "name": "rich",
    "workload": {
        "training": {
            **{
                "model": "llama-2-7b",
                "tokens": "2T",
                "target_days": 30,
                "attention": "causal",
                "recompute": "selective",
            },
            **{"sequence": 4096, "micro_batch": 2, "batch_tokens": "4M", "goodput": "95%", "parallel_efficiency": 0.9},
        }
    },
    "cluster": {"gpu": "h100-sxm", "round_up_to": "leaf", "spare_servers": 1},
    "fabrics": {
        "compute": {"switch": "qm9700", "oversubscription": 1.5, "reserved_ports": 3, "build_out": "exact"},
        "storage": {"switch": "qm9700", "ports_per_server": 2},
        "in_band": "default",
        "out_of_band": "default",
    },
    "site": {"rack": {"power": "50 kW"}, "pue": 1.3, "electricity": 0.08},
    "spares": {"transceiver": "2%", "cable": "3%", "switch": 1, "storage": "10%"},
    "storage": {
        **{"level": "better", "dataset": "20 TB", "keep": 5},
        "servers": {"name": "stand-in", "capacity": "10 TB", "read": "9 GB/s", "power": "1 kW", "rack_units": 2},
    },
}
ESTIMATED = {
    "bomgen": 1,
    "name": "estimated",
    "workload": {
        "training": {
            **{"model": {"name": "70B", "parameters": "70B"}, "tokens": "1T", "zero": 3},
            **{"target_days": 7, "goodput": "estimate"},
        }
    },
    "cluster": {"gpu": "h100-sxm"},
    "storage": {"write_per_server": "1 GB/s", "checkpoint_every": "30 min"},
}
THREE_TIERS = {
    "bomgen": 1,
    "name": "three-tiers",
    "cluster": {"gpu": "h100-sxm", "servers": 300},
    "fabrics": {
        "compute": {
            **{
                "switch": "qm9700",
                "oversubscription": {"leaf": 2, "spine": 3},
                "reserved_ports": 4,
                "build_out": "exact",
            },
            "links": {"spine-core": {"length": "500 m"}},
        }
    },
}
CASES = {"rich": RICH, "three-tiers": THREE_TIERS, "estimated": ESTIMATED} | {
    case["id"]: {"bomgen": 1, "name": "published", **case["plan"]} for case in SIZES if "table2" not in case["id"]
}


def figures_of(report: Report) -> list[Figure]:
    """Every figure of a result and all that they rest on."""
    lines = [line.quantity for line in report.bill.lines] + [line.spare for line in report.bill.lines if line.spare]
    return list(walk(*numbers_of(report).values(), *lines))


class ExactDivision(ast.NodeTransformer):
    """Writes `a / b` as a call of `divided`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """The division as a call; other operators stay."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name("_divided", ast.Load()), [node.left, node.right], [])


def divided(one: Any, other: Any) -> Fraction:
    """The exact quotient."""
    return Fraction(one) / Fraction(other)


def again(figure: Figure) -> Any:
    """A derived figure worked out again from its printed formula, divisions exact, and the values of its inputs."""
    assert isinstance(figure.origin, Derived)
    formula = figure.origin.formula
    values = {name: step.value for name, step in figure.origin.inputs}
    for parameter in signature(formula.function).parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:
            values[parameter.name] = dict(values)
    tree = ast.fix_missing_locations(ExactDivision().visit(ast.parse(formula.text, mode="eval")))
    names = {**formula.function.__globals__, **values, "_divided": divided}
    return eval(compile(tree, "formula", "eval"), names)  # noqa: S307


def same(value: Any, again: Any) -> bool:
    """Whether two values are equal; those of a prediction, which counts in binary numbers, to their last digits."""
    binary = isinstance(value, float) or (isinstance(value, Fraction) and _is_power_of_two(value.denominator))
    return isclose(value, again, rel_tol=LAST_DIGITS) if binary else bool(value == again)


def _is_power_of_two(denominator: int) -> bool:
    """Whether a denominator is that of a binary number; that of an exact fraction has other factors, or is small."""
    return denominator >= BINARY and denominator & (denominator - 1) == 0


@pytest.fixture(scope="module")
def reports(worked: Worked) -> dict[str, Report]:
    """The reports of all plans of the project and of the cases above."""
    return {path.stem: report_of(path) for path in PLANS} | {name: worked(plan) for name, plan in CASES.items()}


def test_every_formula_printed_gives_its_value(reports: dict[str, Report]) -> None:
    """A figure worked out again from the formula that is shown, and from the inputs that are shown, is the same."""
    found = {
        f"{name}: {figure.origin.formula.name}": (figure.value, again(figure))
        for name, report in reports.items()
        for figure in figures_of(report)
        if isinstance(figure.origin, Derived)
    }
    assert len(found) > 100
    assert {} == {name: values for name, values in found.items() if not same(*values)}


def test_derivations_are_those_of_the_figures(reports: dict[str, Report]) -> None:
    """bom.json prints of every derived number its value, its formula and its inputs, each with where it comes from."""
    for report in reports.values():
        data, paths = result(report), Paths(numbers_of(report))
        for path, derivation in data["derivations"].items():
            figure = paths.figures[path]
            assert json_value(figure.value) == derivation["value"]
            assert [name for name, _ in figure.inputs] == list(derivation["inputs"])
            for entry in derivation["inputs"].values():
                assert 1 == len(entry.keys() & {"path", "place", "source"})
                if "path" in entry:
                    assert entry["value"] == json_value(paths.figures[entry["path"]].value)


def test_every_number_is_explained(reports: dict[str, Report], cells: Callable[..., dict[str, Any]]) -> None:
    """Every number of the result that was worked out stands in the derivations, with the value it has in the result."""
    for report in reports.values():
        data = result(report)
        paths = [path for path in data["derivations"] if "#" not in path]
        wanted = {path: data["derivations"][path]["value"] for path in paths}
        assert wanted == {
            ".".join(steps): json_value(figure.value)
            for steps, figure in numbers_of(report).items()
            if ".".join(steps) in wanted
        }
        missing = [
            steps
            for steps, figure in numbers_of(report).items()
            if isinstance(figure.origin, Derived) and ".".join(steps) not in wanted
        ]
        assert [] == missing
        simple = [path for path in paths if not any(char.isdecimal() for char in path.rpartition(".")[2])]
        assert {path: wanted[path] for path in simple} == cells(data, simple)


@pytest.mark.parametrize("table", [table for table in TABLES if "meta" in table["id"]], ids=lambda table: table["id"])
def test_formulas_of_fixed_fabrics_give_their_values(table: dict[str, Any], worked: Worked) -> None:
    """What the plan fixes enters the printed formulas as well."""
    plan = dict(table["plan"])
    for figure in figures_of(worked(plan)):
        if isinstance(figure.origin, Derived):
            assert figure.value == again(figure)


def test_two_builds_are_alike_to_the_byte(tmp_path: Path) -> None:
    """Two builds of one plan in two processes, with other hash seeds and at other times, write the same bytes."""
    contents, forms = [], [form for form in DOCUMENTS.names if form != "pdf"]
    for seed in ("1", "2"):
        folder = tmp_path / seed
        command = [sys.executable, "-m", "bomgen", "build", "llama65b-linkx.yaml", "-o", str(folder)]
        command += ["-f", ",".join(forms)]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC{seed}"}
        done = subprocess.run(command, cwd=ROOT / "plans", env=environment, capture_output=True, check=False)
        assert 0 == done.returncode, done.stderr.decode()
        files = sorted((folder / "llama65b-linkx").iterdir())
        assert len(files) == sum(len(DOCUMENTS.files(form)) for form in forms)
        contents.append([(file.name, file.read_bytes()) for file in files])
    assert contents[0] == contents[1]
