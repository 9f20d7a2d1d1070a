"""The works that `make bench` times: commands as a user starts them, and the inside of a warm process.

Each is timed in turns with the import of modules that are its base, so that a ratio can be held against that of another
day. For the three start-up times the base is what the command cannot do without, and the bar is a ratio; for all others
it is a yardstick of the machine, and the bars are seconds, which are read by hand.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from measuring import BOMGEN, CHECKOUT, ENVIRONMENT, race, run
from openpyxl import Workbook

from plans import (
    DRAWN,
    LINES,
    LISTED,
    LISTED_AS,
    PRICED,
    QUOTED,
    RANDOM,
    SEARCHED,
    SEARCHED_LONG,
    SEARCHED_MINIMISE,
    SEARCHED_OVER,
    WIRED,
    listed_rows,
)

PLAN = "plans/llama65b.yaml"
MANY, FEW, FEWEST = 21, 5, 3
"""Runs of the start-up times, of works of a second, and of those of many."""
BUILD = "yaml, jsonschema, jinja2, openpyxl, click"
CHECK = "yaml, jsonschema, click"
HELP = "click"
INSIDE = (sys.executable, str(CHECKOUT / "benchmarks" / "inside.py"))
SIZES = (16_384, 131_072, 1_000_000)
LARGEST = 1_000_000
ALL_FORMATS = "md,html,xlsx,json,csv"
MOST_RESOLVING = 0.3
"""Seconds that working out a plan of a million GPUs may take inside the process."""
FOUR_FABRICS = "plans/h100-127.yaml"
MOST_FOR_ONE_FABRIC, MOST_FOR_FOUR_FABRICS = 0.010, 0.025
"""Seconds that a plan may take inside the process."""
LEAST_CHECKED = 500_000
"""Cables that are to be enumerated and checked in a second."""
PREDICTIONS, LEAST_PREDICTED = 1_024_000, 1_000_000
"""Splits whose steps are predicted, and how many are to be in a second."""
CHUNKS, LEAST_SEARCHED, LEAST_SEARCHED_COLD = 256, 1_000_000, 200_000
"""Chunks of a search that are looked at, all of them, and how many designs are to be in a second, warm and cold."""
MOST_ANSWERING, MOST_SEARCHING = 5, 1
"""Seconds that the question of plans/search-30b.yaml may take, and GiB that a search over 10^8 designs may take."""
MOST_QUOTING, MOST_WRITING = 3, 15
"""Seconds that a command may take for all formats of a quote, and for the wiring of a million GPUs."""
MOST_COMPARING = 0.5
"""Seconds that a comparison of two long bills may take beyond the start of the program."""
MOST_READING = 1
"""Seconds that a command may take for a price list."""
MOST_RENEWING, MOST_RENEWING_MANY = 0.3, 1
"""Seconds from a keystroke on the page to the renewed quote, of llama65b and of 16 384 GPUs."""
MOST_MEMORY = 2
"""GiB that the wiring of a million GPUs may take."""


class Work(NamedTuple):
    """A work: what it is, how it is timed, and what it may take."""

    id: str
    what: str
    take: Callable[[], float]
    base: str = BUILD
    runs: int = FEW
    bar: float | None = None
    """Times the base."""
    bar_seconds: float | None = None
    also: Callable[[], dict[str, tuple[float, float | None]]] = dict
    """Other figures of the last run, each with its bar: by name, unit included."""


def measured(work: Work) -> dict[str, Any]:
    """Time a work: its entry of a result."""
    raced = race(work.take, work.base, work.runs)
    return {
        "id": work.id,
        "what": work.what,
        "against": f"import {work.base}",
        "runs": work.runs,
        **{name: [round(each, 4) for each in part] for name, part in raced._asdict().items()},
        "bar": work.bar,
        "bar_seconds": work.bar_seconds,
        "also": {name: {"value": round(value, 3), "bar": bar} for name, (value, bar) in work.also().items()},
    }


def works(folder: Path, long: bool = False) -> Iterator[Work]:
    """All of them, in the order of the table, with `long` those of minutes too; files go to a folder."""
    yield _command("build", ("build", PLAN), BUILD, 3, ("-o", str(folder)))
    yield _command("check", ("check", PLAN), CHECK, 2)
    yield _command("help", ("--help",), HELP, 2)
    for topology in ("fat-tree", "rail-optimized", "rail-only"):
        take = _inside("resolve", topology)[0]
        what = f"1 000 000 GPUs, {topology}, three tiers: worked out, warm"
        yield Work(f"resolve-{topology}", what, take, bar_seconds=MOST_RESOLVING)
    for of, what, bar in (
        (RANDOM, f"{DRAWN} random plans of one fabric, each worked out, warm: the median", MOST_FOR_ONE_FABRIC),
        (FOUR_FABRICS, f"{FOUR_FABRICS}, four fabrics and a site: worked out, warm", MOST_FOR_FOUR_FABRICS),
    ):
        yield Work(f"plans-{Path(of).stem}", what, _inside("plans", of)[0], bar_seconds=bar)
    for gpus in SIZES:
        take, last = _inside("cables", str(gpus))

        def a_second(last: dict[str, float] = last) -> dict[str, tuple[float, float | None]]:
            return {"cables": (last["cables"], None), "cables/s": (last["cables"] / last["seconds"], LEAST_CHECKED)}

        yield Work(f"cables-{gpus}", f"{_spaced(gpus)} GPUs: every cable listed and checked, warm", take, also=a_second)
    take, predicted = _inside("predictions", str(PREDICTIONS))

    def predicted_a_second() -> dict[str, tuple[float, float | None]]:
        return {"predictions/s": (predicted["predictions"] / predicted["seconds"], LEAST_PREDICTED)}

    what = f"{_spaced(PREDICTIONS)} splits of Llama 3.1 405B: steps predicted as arrays, warm"
    yield Work("predictions", what, take, also=predicted_a_second)
    yield from _searching(folder, long)
    yield _quoting(folder)
    yield from _typing(folder)
    for form in ("csv", "parquet"):
        yield _writing(form, folder)
    yield _comparing(folder)
    for form in ("csv", "xlsx"):
        yield _reading(form, folder)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _command(id: str, words: tuple[str, ...], base: str, bar: float, more: tuple[str, ...] = ()) -> Work:
    command = [BOMGEN, *words, *more]
    return Work(id, f"bomgen {' '.join(words)}", lambda: run(command).seconds, base, MANY, bar)


def _inside(work: str, of: str) -> tuple[Callable[[], float], dict[str, float]]:
    """How to time a work inside a process, and what it said last."""
    last: dict[str, float] = {}

    def take() -> float:
        last.update(json.loads(run([*INSIDE, work, of]).said))
        return last["seconds"]

    return take, last


def _searching(folder: Path, long: bool) -> Iterator[Work]:
    take, found = _inside("search", str(CHUNKS))

    def designs_a_second() -> dict[str, tuple[float, float | None]]:
        return {
            "designs/s": (found["designs"] / found["seconds"], LEAST_SEARCHED),
            "designs/s cold": (found["designs"] / found["cold"], LEAST_SEARCHED_COLD),
        }

    yield Work("search", f"a search over {SEARCHED}, on a core, warm", take, also=designs_a_second)
    command = [BOMGEN, "search", SEARCHED, "-f", "json", "-o", str(folder / "front.json")]
    what = f"bomgen search {SEARCHED}"
    yield Work("search-question", what, lambda: run(command).seconds, bar_seconds=MOST_ANSWERING)
    if find_spec("distributed"):
        on_cluster, on = _inside("cluster", str(CHUNKS))
        yield Work(
            "search-cluster",
            "the same part, by two workers of a Dask cluster on this machine, warm",
            on_cluster,
            runs=FEWEST,
            also=lambda: {"s beyond two processes": (on["seconds"] - on["processes"], None)},
        )
    if long:
        yield _searching_all(command)


def _searching_all(command: list[str]) -> Work:
    over = [word for each in (*SEARCHED_OVER, SEARCHED_LONG) for word in ("--over", each)]
    memory: list[float] = []

    def take() -> float:
        done = run([*command, *over, "--minimise", ",".join(SEARCHED_MINIMISE)])
        memory.append(done.gib)
        return done.seconds

    what = "bomgen search over 100 800 000 designs, one process"
    return Work("search-100000000", what, take, runs=1, also=lambda: {"GiB": (max(memory), MOST_SEARCHING)})


def _quoting(folder: Path) -> Work:
    command = [BOMGEN, "build", "-", "-o", str(folder), "-f", ALL_FORMATS]
    what = f"16 384 GPUs in three tiers: build -f {ALL_FORMATS}"
    return Work("quote-16384", what, lambda: run(command, QUOTED).seconds, bar_seconds=MOST_QUOTING)


def _typing(folder: Path) -> Iterator[Work]:
    """Yield the times of the page, where a browser and what drives it are installed (.ci/run)."""
    modules, browser = CHECKOUT / ".ci" / "node_modules", which("chromium-headless-shell")
    if not browser or not which("node") or not (modules / "playwright-core").is_dir():
        return
    ENVIRONMENT["NODE_PATH"] = str(modules)
    many = folder / "quoted.yaml"
    many.write_text(QUOTED.replace(PRICED, "indicative").replace("gpus: 16384", "servers: 2048"), "utf-8")
    for plan, key, name, most in (
        (CHECKOUT / PLAN, "target_days", PLAN, MOST_RENEWING),
        (many, "servers", "16 384 GPUs in three tiers", MOST_RENEWING_MANY),
    ):
        command = ["node", str(CHECKOUT / "benchmarks" / "keystroke.cjs"), browser, sys.executable, str(plan), key]

        def take(command: list[str] = command) -> float:
            return float(json.loads(run(command).said)["seconds"])

        what = f"{name}: from a keystroke on the page to the renewed quote, Chromium"
        yield Work(f"typing-{plan.stem}", what, take, runs=FEWEST, bar_seconds=most)


def _writing(form: str, folder: Path) -> Work:
    command = [BOMGEN, "wiring", "-", "-f", form, "-o", str(folder / f"wiring.{form}")]
    memory: list[float] = []

    def take() -> float:
        done = run(command, WIRED.replace("GPUS", str(LARGEST)))
        memory.append(done.gib)
        return done.seconds

    return Work(
        f"wiring-{form}",
        f"1 000 000 GPUs: wiring -f {form}",
        take,
        runs=FEWEST,
        bar_seconds=MOST_WRITING,
        also=lambda: {"GiB": (max(memory), MOST_MEMORY)},
    )


def _comparing(folder: Path) -> Work:
    bills: list[str] = json.loads(run([*INSIDE, "bills", str(folder)]).said)["paths"]
    what = (
        f"diff of two bills of {_spaced(LINES)} lines, {Path(bills[0]).stat().st_size / 1e6:.0f} MB each, beyond --help"
    )
    return Work(
        "diff-10000",
        what,
        lambda: run([BOMGEN, "diff", *bills]).seconds - run([BOMGEN, "--help"]).seconds,
        bar_seconds=MOST_COMPARING,
    )


def _reading(form: str, folder: Path) -> Work:
    """A vendor's list as text with currencies and separators, or as a workbook."""
    place = folder / f"list.{form}"
    if form == "xlsx":
        book = Workbook(write_only=True)
        sheet = book.create_sheet("List")
        for row in (("All prices in USD",), LISTED_AS, *listed_rows()):
            sheet.append(row)
        book.save(place)
    else:
        rows = (
            (part, about, f"${before:,.2f}", f"{share} %", f"${after:,.2f}", lead)
            for part, about, before, share, after, lead in listed_rows()
        )
        with place.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";").writerows([LISTED_AS, *rows])
    what = f"a price list of {_spaced(LISTED)} rows, {form}: prices"
    return Work(f"prices-{form}", what, lambda: run([BOMGEN, "prices", str(place)]).seconds, bar_seconds=MOST_READING)
