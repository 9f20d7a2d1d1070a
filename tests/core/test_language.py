"""Languages: both files say the same things, and numbers are written as a reader wants them."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core import provenance
from bomgen.core.document import Cell, Value
from bomgen.core.language import Language, language
from bomgen.core.messages import message
from bomgen.core.resources import BrokenInstallation, folder
from bomgen.core.yaml_source import read

ENGLISH = language("en")
CHINESE = language("zh")
VALUE_WORD = "value-"


def _keys(language: Language) -> set[str]:
    return {key for key in language.words if not key.startswith(VALUE_WORD)}


def _fields(text: str) -> set[str | None]:
    return {field for _, field, _, _ in Formatter().parse(text)} - {None}


def test_languages_have_the_same_words() -> None:
    """Every word of one language is in the other; words for values are only where the value itself is not prose."""
    assert _keys(ENGLISH) == _keys(CHINESE)


def test_words_take_the_same_values() -> None:
    """A text asks for the same values in both languages."""
    for key in _keys(ENGLISH):
        assert _fields(ENGLISH.words[key]) == _fields(CHINESE.words[key]), key


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2048, "switches", "2,048 switches"),
        (10240, "", "10,240"),
        (-12345, "", "-12,345"),
        (546 * 10**21, "FLOPs", "5.46 × 10²³ FLOPs"),
        (80 * 10**9, "bytes", "80 GB"),
        (512, "bytes", "512 bytes"),
        (1772160, "W", "1,772 kW"),
        (26400, "W", "26.4 kW"),
        (400, "W", "400 W"),
        (9600, "kg", "9,600 kg"),
        (32239, "kg", "32.24 t"),
        (Fraction(6046861), "BTU/h", "1,772 kW (6,046,861 BTU/h)"),
        (65 * 10**9, "parameters", "65B parameters"),
        (999999999, "parameters", "1B parameters"),
        (312 * 10**12, "FLOP/s", "312 TFLOP/s"),
        (Fraction(170898437, 8640000), "days", "19.78 days"),
        (Fraction(1, 2), "days", "12 h"),
        (Fraction(1, 144), "days", "10 min"),
        (Fraction(1, 172800), "days", "0.5 s"),
        (0, "days", "0 days"),
        (40 * 10**9, "bytes/s", "40 GB/s"),
        (Fraction(32), "ports", "32 ports"),
        (Fraction(12345678), "", "12,345,678"),
        (9999.96, "", "10,000"),
        (1234.5678, "", "1,235"),
        (0, "", "0"),
        (Fraction(1, 10**8), "", "1 × 10⁻⁸"),
        (10**400, "", "1 × 10⁴⁰⁰"),
        (Fraction(3, 20), "share", "15 %"),
        (7, "ratio", "7"),
        (Decimal("1234.5"), "USD", "1,234.50 USD"),
        (Decimal("0.125"), "EUR", "0.13 EUR"),
        (Decimal("1234.5"), "JPY", "1,235 JPY"),
        (None, "USD", "–"),
        ("bf16", "word", "bf16"),
    ],
)
def test_values_as_text(value: Value, unit: str, text: str) -> None:
    """Thousands are separated, huge numbers have a prefix or a power of ten, power is in kW, money stands in full."""
    assert ENGLISH.cell(Cell(value, unit)) == text


@given(st.integers(min_value=-(10**9) + 1, max_value=10**9 - 1))
def test_counts_are_written_exactly(number: int) -> None:
    """A count can be read back from its text."""
    assert int(ENGLISH.number(number).replace(",", "")) == number


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**15))
def test_numbers_are_right_to_four_digits(number: Fraction) -> None:
    """Whatever the size of a number, its text is off by less than a thousandth."""
    text = ENGLISH.number(number).replace(",", "")
    superscript = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    mantissa, _, power = text.partition(" × 10")
    read = Fraction(mantissa) * Fraction(10) ** int(power.translate(superscript) or 0)
    assert abs(read - number) <= number / 1000


def test_dates() -> None:
    """A date is written as the language does, the day without a leading zero."""
    assert ENGLISH.date("2026-11-05") == "5 November 2026"
    assert CHINESE.date("2026-11-05") == "2026年11月5日"


def test_chinese_units_and_values() -> None:
    """Units and values that are prose are translated; names and symbols stay."""
    assert CHINESE.value(32, "switches") == "32 台交换机"
    assert CHINESE.value("auto", "word") == "自动"
    assert CHINESE.value("auto") == "auto"
    assert CHINESE.value(Fraction(1, 144), "days") == "10 分钟"
    assert CHINESE.value(400, "Gb/s") == "400 Gb/s"
    assert CHINESE.value(65 * 10**9, "parameters") == "650 亿"
    assert CHINESE.value(14 * 10**11, "tokens") == "1.4 万亿 token"
    assert CHINESE.value(131072, "tokens") == "131,072 token"
    assert CHINESE.value(312 * 10**12, "FLOP/s") == "312 TFLOPS"
    assert CHINESE.value("bf16", "word") == "BF16"
    assert CHINESE.value(Fraction(170898437, 8640000), "days") == "19.8 天"
    assert CHINESE.value(Fraction(6046861), "BTU/h") == "1,772 kW"
    assert CHINESE.value(Fraction(3, 20), "share") == "15%"
    assert CHINESE.value(Decimal("-7293594.94"), "CNY") == "-¥7,293,594.94"
    assert CHINESE.value(Decimal("1234.5"), "USD") == "1,234.50 USD"
    assert not any(re.search("[\u4e00-\u9fff]", word) for word in ENGLISH.words.values())


def test_unknown_language() -> None:
    """A language without a file is refused."""
    with pytest.raises(BrokenInstallation):
        language("xx")


@pytest.mark.parametrize("code", ["en", "zh"])
def test_no_word_stands_twice(code: str) -> None:
    """A language file says every word once, so that nobody mends the one that is not shown."""
    path = folder("data") / "language" / f"{code}.yaml"
    assert read(path.read_text(encoding="utf-8"), path.name, trusted=True).data


def test_a_key_of_the_programs_own_data_stands_once() -> None:
    """The loader of trusted files refuses a key that stands twice, as that of plans does."""
    with pytest.raises(ValueError, match="duplicated"):
        read("a: 1\nb: 2\na: 3\n", "words.yaml", trusted=True)


def test_units_of_formulas_are_singular_behind_one() -> None:
    """Every unit that is a plural has a singular in English: `1 tier`, `1 torus`."""
    files = (Path(__file__).parents[2] / "bomgen").rglob("*.py")
    operators = (name for name, each in vars(provenance).items() if isinstance(each, provenance.Operator))
    operations = "|".join(("constant", "step", *operators))
    declared = re.compile(rf'(?:@formula\(|\b(?:{operations})\(\s*"\w+",)\s*"([a-z-]+s|tori)"')
    units = {unit for file in files for unit in declared.findall(file.read_text("utf-8"))}
    uncounted = {"words", "epochs", "bytes"}
    assert {"tiers", "fabrics", "tori"} <= units
    assert [unit for unit in sorted(units - uncounted) if ENGLISH.value(1, unit) == f"1 {unit}"] == []


def test_whole_numbers_in_messages_have_separators() -> None:
    """Whole numbers as everywhere: `2,048 GPUs`."""
    text = message("count-gpus", gpus=2048)
    assert str(text) == "2,048 GPUs"
    assert "2,048" in CHINESE.message(text)


def test_an_estimate_is_shown_with_ends_that_differ_in_print() -> None:
    """A range that rounding hides says nothing: 1.25 (1.25 to 1.25)."""
    english = language("en")
    assert english.value(1.25, "USD", (1.2499, 1.2502)) == english.value(1.25, "USD")
    assert "1.1" in english.value(1.25, "USD", (1.1, 1.4))


def test_a_half_is_rounded_up_as_in_a_workbook() -> None:
    """A spreadsheet shows 707.25 to four digits as 707.3; text beside it says the same."""
    words = language("en")
    assert [words.number(each) for each in (Fraction(2829, 4), 707.25, Fraction(-2829, 4))] == [
        "707.3",
        "707.3",
        "-707.3",
    ]
    assert words.number(Fraction(8, 3)) == "2.667"


@pytest.mark.parametrize(
    ("code", "said"), [("en", "median September 2026, oldest May 2020"), ("zh", "中位 2026年9月，最早 2020年5月")]
)
def test_dates_of_prices_are_said_by_the_median_and_the_oldest(code: str, said: str) -> None:
    """The month of each; one month alone where both are of it."""
    assert language(code).ages(("2020-05-14", "2026-09-01", "2026-09-08")).replace("\u00a0", " ") == said
    assert "," not in language("en").ages(("2026-09-01", "2026-09-30"))
