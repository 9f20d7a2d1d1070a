"""Formulas in words: what they come to when a reader follows them, and that every input has a name."""

import ast
from fractions import Fraction
from math import isclose
from pathlib import Path

import pytest
from package_source import TREES
from plan_reports import PLANS, report_of

from bomgen.core import provenance, resources
from bomgen.core.language import describe_formula, language
from bomgen.core.provenance import Assumed, Derived, Figure, formula, walk
from bomgen.fabric.clos.shape import PlainDemand, round_up_to_divisor
from bomgen.fabric.topologies.dragonfly import DragonflyDemand
from bomgen.fabric.topologies.dragonfly_plus import DragonflyPlusDemand
from bomgen.fabric.topologies.mesh import MeshDemand
from bomgen.results.result import numbers_of
from bomgen.sizing.prediction import terms
from bomgen.sizing.storage import young_interval

ENGLISH = language("en")


def derived(path: Path) -> list[Figure]:
    """Every derived figure that a plan's result rests on."""
    return [each for each in walk(*numbers_of(report_of(path)).values()) if isinstance(each.origin, Derived)]


def counted(value: object, unit: str = "count") -> Figure:
    """A number that was given."""
    return Figure(value, unit, Assumed("an input", "a test", (), "high"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_words_come_to_the_number(path: Path) -> None:
    """Whoever follows the words gets the number that the formula gave; most formulas can be followed."""
    followed = 0
    for figure in derived(path):
        found = describe_formula(figure, ENGLISH, ENGLISH.shown).value
        if found is None:
            continue
        followed += 1
        assert found == figure.value or isclose(found, figure.value, rel_tol=1e-12), figure.origin
    assert followed > len(derived(path)) / 2


def test_every_input_has_a_name() -> None:
    """Every parameter of every formula and every step of a calculation is named in every language."""
    operations = {name for name, each in vars(provenance).items() if isinstance(each, provenance.Operator)}
    parameters = set[str]()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(
                "formula" in ast.unparse(each) for each in node.decorator_list
            ):
                parameters |= {each.arg for each in node.args.args}
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str()), _, *inputs]) if (
                    name in operations
                ):
                    parameters |= {ast.literal_eval(each) for each in inputs}
                case (
                    ast.Call(func=ast.Name(id="step"), args=[ast.Constant(value=str(name)), *_])
                    | ast.Call(
                        func=ast.Name(id="step"),
                        args=[ast.Starred(value=ast.Tuple(elts=[ast.Constant(value=str(name)), *_])), *_],
                    )
                ):
                    parameters.add(name)
    records = (PlainDemand, DragonflyDemand, DragonflyPlusDemand, MeshDemand)
    for record in (terms.Work, terms.Machine, terms.Split, *records):
        parameters |= set(record._fields)
    for code in resources.languages():
        names = {name for name in language(code).inputs if not name.isupper()}
        assert parameters - names == set()
    assert set(language("zh").inputs) == set(ENGLISH.inputs)


@formula("switches")
def spines(leaves: int, up: int, radix: int) -> int:
    """One formula with a condition."""
    return -(-leaves * up // radix) if leaves * up % radix else leaves * up // radix


@formula("servers")
def servers(gpus: int, gpus_per_server: int, least: int) -> int:
    """One that calls a function."""
    return max(ceil_of(gpus, gpus_per_server), least)


def ceil_of(dividend: int, divisor: int) -> int:
    """A function that is more than arithmetic."""
    return -(-dividend // divisor)


@formula("W")
def load(power_w: int, feeds: int, lost: int) -> Fraction:
    """One whose divisor is a difference."""
    return Fraction(power_w) / (feeds - lost)


def said(figure: Figure, code: str = "en") -> str:
    """The words of a formula in a language."""
    words = language(code)
    return describe_formula(figure, words, words.shown).text


def test_a_formula_reads_as_it_is_checked_by_hand() -> None:
    """Only the branch that holds is shown, and no rounding where the division leaves nothing over."""
    found = spines(counted(32), counted(32), counted(64))
    assert said(found) == "32 leaves × 32 ports up / 64 ports per switch"
    assert said(found, "zh") == "32 台 Leaf × 上行 32 个端口 / 每台交换机 64 个端口"


def test_one_is_singular_and_a_divisor_keeps_its_brackets() -> None:
    """Singular for one, and brackets as arithmetic needs them."""
    found = load(counted(9000, "W"), counted(2), counted(1))
    assert said(found) == "9 kW / (2 feeds − 1 lost)"


def test_a_search_is_described_by_its_inputs() -> None:
    """What is more than arithmetic names what went into it."""
    assert said(servers(counted(20), counted(8), counted(1))) == (
        "calculated from 20 GPUs, 8 GPUs per server, at least 1"
    )


@formula("switches")
def even_spread(below: int, uplinks: int, ports: int) -> int:
    """Switches over which uplinks spread evenly."""
    return round_up_to_divisor(Fraction(below * uplinks) / ports, uplinks)


def test_functions_with_words_of_their_own_are_followed() -> None:
    """A divisor is named where it changes the number, and a square root always."""
    assert said(even_spread(counted(32), counted(32), counted(64))) == "32 switches below × 32 uplinks / 64 ports"
    found = even_spread(counted(6), counted(51), counted(128))
    assert found.value == 3
    assert said(found) == "6 switches below × 51 uplinks / 128 ports, rounded up to a divisor of 51 uplinks"
    interval = young_interval(counted(60, "s"), counted(2, "days"))
    assert said(interval).startswith("the square root of 2 × 60 s per checkpoint")
    assert isclose(interval.value, (2 * 60 / 86400 * 2) ** 0.5)


@pytest.mark.parametrize(
    ("declare", "text", "value"),
    [
        (provenance.product, "switches * ports", 14),
        (provenance.sum_of, "switches + ports", 9),
        (provenance.difference, "switches - ports", 5),
        (provenance.quotient, "switches / ports", Fraction(7, 2)),
        (provenance.floor_div, "switches // ports", 3),
        (provenance.ceil_div, "ceil(switches / ports)", 4),
        (provenance.minimum, "min(switches, ports)", 2),
        (provenance.maximum, "max(switches, ports)", 7),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_declared_formula_calculates_what_it_shows(
    declare: provenance.Operator, text: str, value: int | Fraction
) -> None:
    """It has the name, the unit and the inputs that it is declared with, and belongs to the module that declares it."""
    found = declare("made", "<ports>", "switches", "ports", source="a test")
    figure = found(ports=counted(2, "ports"), switches=counted(7))
    assert (found.name, found.text, found.source, found.__module__) == ("made", text, "a test", __name__)
    assert (figure.value, type(figure.value), figure.unit) == (value, type(value), "ports")
    assert describe_formula(figure, ENGLISH, ENGLISH.shown).value == value == found.plain(7, 2)
    with pytest.raises(TypeError, match="made takes switches, ports; got ports"):
        found(ports=counted(2))


def test_units_are_singular_behind_one() -> None:
    """In English; a language without plurals has one form."""
    assert [ENGLISH.value(count, "pieces") for count in (0, 1, 2)] == ["0 pieces", "1 piece", "2 pieces"]
    assert ENGLISH.value(Fraction(1), "switches") == "1 switch"
    assert language("zh").value(1, "switches") == "1 台交换机"
