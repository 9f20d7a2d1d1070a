"""Another hash seed, locale, time zone and umask as a judge: plans built once more give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from judging import skip_or_fail

CHECKOUT = Path(__file__).parents[2]
LOCALE, CHARSET = "tr_TR", "ISO-8859-9"
"""No UTF-8, commas in numbers, and an i of its own."""
REBUILT = ("deepseek-r1-h20-zh", "llama65b-quote", "superpod-h100-floor", "training-and-serving")
"""A plan in Chinese, one with prices, one with a floor plan and one of several clusters; `make everywhere` has all."""


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the locale, compiled for this test alone."""
    place = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", LOCALE, "-f", CHARSET, str(place / f"{LOCALE}.{CHARSET}")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        message = f"the locale {LOCALE} cannot be compiled: {done.stderr}" if done.returncode else ""
    except FileNotFoundError:
        message = "localedef is not installed: apt-get install locales"
    if message:
        skip_or_fail(message)
    return place


@pytest.mark.deep
def test_a_rerun_elsewhere_gives_the_same_bytes(quotes: dict[str, Path], locales: Path, tmp_path: Path) -> None:
    """Every document of these plans."""
    plans = [f"plans/{name}.yaml" for name in REBUILT]
    given = [*plans, "-o", str(tmp_path), "-f", "md,html,xlsx,json,csv,cdx", "--root", "."]
    command = [sys.executable, "-O", "-m", "bomgen", "build", "-q", *given]
    there = {"LOCPATH": str(locales), "LC_ALL": f"{LOCALE}.{CHARSET}", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "0"}
    environment = {**os.environ, "PYTHONHASHSEED": "random", **there}
    check = "import locale; locale.setlocale(locale.LC_ALL, ''); assert locale.localeconv()['decimal_point'] == ','"
    subprocess.run([sys.executable, "-c", check], env=environment, check=True)
    subprocess.run(command, cwd=CHECKOUT, env=environment, umask=0o077, check=True)
    found = 0
    for name in REBUILT:
        for path in sorted(quotes[name].iterdir()):
            found += 1
            assert path.read_bytes() == (tmp_path / quotes[name].name / path.name).read_bytes(), path
    assert found == 9 * len(REBUILT)
