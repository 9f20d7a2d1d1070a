"""Builds everything under other hash seeds, locales, time zones and Pythons, and compares every file to the byte.

`make everywhere` runs it. Run by itself it takes names of conditions, and `--debian SUITE` for the Python of a release
of Debian, which is installed below build/everywhere/ (as root, with mmdebstrap, from the archive that apt reads here):

    python tests/everywhere/rerun.py
    python tests/everywhere/rerun.py --debian trixie --debian sid
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from roots import enter, install_debian

CHECKOUT = Path(__file__).parents[2]
PLACE = CHECKOUT / "build" / "everywhere"
RESULTS = Path(__file__).with_name("results.py").relative_to(CHECKOUT)
LOCKS = ("build", "run")
"""What bomgen is installed from, as by `make build`."""
DEBIAN_PACKAGES = "python3-venv"
KEPT = ("PATH", "HOME", "TMPDIR", "VIRTUAL_ENV")


class Condition(NamedTuple):
    """How a run differs from others."""

    environment: dict[str, str]
    options: tuple[str, ...] = ()
    """Options of Python."""
    umask: int = 0o022
    elsewhere: bool = False
    """In a copy of the checkout at another path, and from another current folder."""


RANDOM = {"PYTHONHASHSEED": "random"}
CONDITIONS = {
    "plain": Condition({"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}),
    "german": Condition({**RANDOM, "LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati"}, umask=0o077),
    "chinese": Condition({**RANDOM, "LC_ALL": "zh_CN.UTF-8", "TZ": "America/St_Johns"}, ("-O",), elsewhere=True),
    "turkish": Condition({**RANDOM, "LC_ALL": "tr_TR.UTF-8", "SOURCE_DATE_EPOCH": "1"}),
    "ascii": Condition({**RANDOM, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, ("-OO",)),
    "latin-5": Condition({**RANDOM, "LC_ALL": "tr_TR.ISO-8859-9", "PYTHONUTF8": "0", "TZ": "Asia/Kathmandu"}),
    "gb18030": Condition({**RANDOM, "LC_ALL": "zh_CN.GB18030", "PYTHONUTF8": "0"}, umask=0o007),
}
"""Each in a process of its own; letters and signs of decimals, sorting and case differ between these locales."""


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def locales() -> None:
    """Compile the locales that the conditions name, for these runs alone."""
    place = PLACE / "locales"
    place.mkdir(parents=True, exist_ok=True)
    for name in sorted({condition.environment["LC_ALL"] for condition in CONDITIONS.values()}):
        language, _, charset = name.partition(".")
        if language != "C" and not (place / name).is_dir():
            subprocess.run(
                ["localedef", "-i", language, "-f", charset, str(place / name)], check=True, stderr=subprocess.DEVNULL
            )


def ran(name: str, python: list[str], checkout: Path, shown: Path, condition: Condition) -> dict[str, Any]:
    """What a Python makes under a condition. `shown` is the checkout as that Python sees it, with its own root."""
    out = f"build/everywhere/results/{name}"
    shutil.rmtree(checkout / out, ignore_errors=True)
    environment = {key: os.environ[key] for key in KEPT if key in os.environ}
    environment |= {"LOCPATH": str(PLACE / "locales"), **condition.environment}
    if python[0] == sys.executable:
        environment["PYTHONPATH"] = str(checkout)  # which alone is bomgen here; other Pythons have installed it
        check = "import locale; locale.setlocale(locale.LC_ALL, '')"
        subprocess.run([*python, "-c", check], env=environment, check=True)
    since = time.monotonic()
    done = subprocess.run(
        [*python, *condition.options, str(shown / RESULTS), str(shown), str(shown / out)],
        cwd="/" if condition.elsewhere else checkout,
        env=environment,
        umask=condition.umask,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    say(f"{name}: Python {found['python']}, {len(found['files'])} files, {time.monotonic() - since:.0f} s")
    return found


def copied(place: Path) -> Path:
    """A copy of the files of the checkout at another place."""
    shutil.rmtree(place, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=CHECKOUT, check=True, capture_output=True
    )
    for name in names.stdout.decode().split("\0"):
        if (CHECKOUT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, place / name)
    return place


# other releases of Debian -------------------------------------------------------------------------------------------


def debian(suite: str) -> tuple[list[str], Path]:
    """The Python of a release, with bomgen installed for it, and the copy of the checkout that it sees."""
    root = PLACE / suite
    if not (root / "usr" / "bin" / "python3").exists():
        say(f"{suite}: installing Debian")
        install_debian(suite, DEBIAN_PACKAGES, root)
    checkout = copied(root / "srv" / "bomgen")
    inside = enter(root)
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    install = ["/srv/venv/bin/python", "-m", "pip", "-qq", "install"]
    for command in (
        ["python3", "-m", "venv", "--clear", "/srv/venv"],
        [*install, "--require-hashes", *(f"--requirement=/srv/bomgen/requirements/{lock}.txt" for lock in LOCKS)],
        [*install, "--no-deps", "--no-build-isolation", "/srv/bomgen"],
    ):
        subprocess.run([*inside, *command], check=True, env=environment)
    return [*inside, "/srv/venv/bin/python"], checkout


def main() -> int:
    """Compare all runs with the first; the exit code is 1 when any file differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conditions", nargs="*", choices=[[], *CONDITIONS], metavar="CONDITION")
    parser.add_argument("--debian", action="append", default=[], metavar="SUITE")
    asked = parser.parse_args()
    locales()
    runs: dict[str, dict[str, Any]] = {}
    wanted = ["plain", *(name for name in (asked.conditions or CONDITIONS) if name != "plain")]
    for name in wanted:
        condition = CONDITIONS[name]
        checkout = copied(PLACE / "elsewhere") if condition.elsewhere else CHECKOUT
        runs[name] = ran(name, [sys.executable], checkout, checkout, condition)
    for suite in asked.debian:
        python, checkout = debian(suite)
        runs[suite] = ran(
            suite, python, checkout, Path("/srv/bomgen"), Condition({**RANDOM, "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"})
        )
    return compared(runs)


def compared(runs: dict[str, dict[str, Any]]) -> int:
    """Say which files differ from those of the first run, or are missing; 1 when there are any."""
    first, *others = runs
    expected, wrong = runs[first]["files"], 0
    for name in others:
        found = runs[name]["files"]
        differ = sorted(path for path in expected.keys() | found.keys() if expected.get(path) != found.get(path))
        wrong += len(differ)
        for path in differ:
            say(f"{name}: {path} differs from that of {first}")
    alike = sum(all(run["files"].get(path) == digest for run in runs.values()) for path, digest in expected.items())
    pythons = sorted({run["python"] for run in runs.values()})
    say(f"{alike} of {len(expected)} files are alike in {len(runs)} runs, under Python {', '.join(pythons)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
