"""The long hunt before a release: `python tests/fuzz/hunt.py [TARGET...] [--share 0.1]`, from `make deep`.

Every target runs its number of executions, more than a million in all, from its corpus and its seeds. What was found is
left in `build/fuzz/`; the table of executions goes to `docs/trust.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
BUILD = CHECKOUT / "build" / "fuzz"
STARTED_BY = "BOMGEN_FUZZ_STARTED_BY"
"""The variable that tells a target which program libFuzzer starts again for each part of a merge."""
TIMEOUT = 300
"""Seconds after which one execution is a hang: a hundred times the slowest plan of the checkout, for busy machines."""
MEMORY = 3072
"""MiB that a target may take."""


class Target(NamedTuple):
    """How long a target is looked at."""

    executions: int
    about: str


TARGETS = {
    "source": Target(300_000, "bytes as YAML"),
    "quantities": Target(660_000, "human quantities of every kind"),
    "books": Target(25_000, "price books as YAML, CSV and workbooks"),
    "templates": Target(30_000, "templates of the user's own in their sandbox"),
    "bind": Target(5_000, "plans from the text to the quote; one of 32 also wired and written in every form"),
}


class Outcome(NamedTuple):
    """What came of the executions of a target."""

    executions: int
    seconds: float
    corpus: int
    edges: int
    crashes: int
    hangs: int


def command(name: str, folder: Path, *options: str) -> list[str]:
    """The command line that fuzzes a target; its dictionary goes to a folder."""
    module = importlib.import_module(f"fuzz_{name}")
    words = folder / f"{name}.dict"
    quoted = ("".join(f"\\x{byte:02x}" for byte in token.encode()) for token in dict.fromkeys(module.TOKENS))
    words.write_text("".join(f'"{each}"\n' for each in quoted), encoding="ascii")
    engine = [sys.executable, str(HERE / "engine.py"), name, f"-dict={words}", f"-max_len={module.MOST_BYTES}"]
    return [*engine, f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", "-print_final_stats=1", *options]


def corpus(name: str) -> list[bytes]:
    """The inputs that reach the most of a target."""
    return [_encoded(each) for each in yaml.safe_load((HERE / "corpus" / f"{name}.yaml").read_bytes())]


def found(name: str) -> dict[str, bytes]:
    """The inputs that once broke a target, by what was wrong."""
    file = HERE / "found" / f"{name}.yaml"
    return {at: _encoded(each) for at, each in yaml.safe_load(file.read_bytes()).items()} if file.exists() else {}


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _readable(content: bytes) -> str | bytes:
    """An input as a text where YAML gives the same text back."""
    with contextlib.suppress(UnicodeDecodeError, yaml.YAMLError):
        text = content.decode()
        if yaml.safe_load(yaml.safe_dump([text])) == [text]:
            return text
    return content


def write_inputs(inputs: Iterable[bytes], folder: Path) -> None:
    """Write inputs into a folder, each into a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        (folder / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


def hunt(name: str, executions: int) -> Outcome:
    """Fuzz a target; after a find it goes on with what is left."""
    reached, begun = BUILD / "corpus" / name, BUILD / "seeds" / name
    reached.mkdir(parents=True, exist_ok=True)
    write_inputs([*importlib.import_module(f"fuzz_{name}").seeds(), *corpus(name)], begun)
    done, crashes, hangs, edges, start = 0, 0, 0, 0, time.monotonic()
    while done < executions:
        options = (f"-runs={executions - done}", f"-artifact_prefix={BUILD}/{name}-")
        line = command(name, BUILD, *options, str(reached), str(begun))
        ended = subprocess.run(line, capture_output=True, check=False, cwd=BUILD)
        said = ended.stderr.decode("utf-8", "replace") + ended.stdout.decode("utf-8", "replace")
        (BUILD / f"{name}.log").write_text(said, encoding="utf-8")
        counted = re.search(r"stat::number_of_executed_units:\s+(\d+)", said)
        done += int(counted[1]) if counted else 1
        edges = max([edges, *map(int, re.findall(r"cov: (\d+)", said))])
        late = "libFuzzer: timeout" in said
        hangs += late
        crashes += "SUMMARY: libFuzzer" in said and not late  # one that was ended from outside is begun again
        if hangs + crashes >= MOST_FINDS:
            break
    return Outcome(done, time.monotonic() - start, len(list(reached.iterdir())), edges, crashes, hangs)


def keep(name: str) -> None:
    """Put the fewest inputs that reach what all of a target's do into its corpus."""
    merged, starter = BUILD / "kept" / name, BUILD / f"start-{name}"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    write_inputs(corpus(name), BUILD / "seeds" / name)
    starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "engine.py"}" {name} "$@"\n', encoding="utf-8")
    starter.chmod(0o755)
    folders = [folder for folder in (BUILD / "corpus" / name, BUILD / "seeds" / name) if folder.is_dir()]
    line = command(name, BUILD, "-merge=1", str(merged), *map(str, folders))
    environment = {**os.environ, STARTED_BY: str(starter)}
    subprocess.run(line, capture_output=True, check=True, cwd=BUILD, env=environment)
    inputs = sorted((path.read_bytes() for path in merged.iterdir()), key=lambda content: (len(content), content))
    texts = [_readable(content) for content in inputs[: MOST_KEPT.get(name, MOST_KEPT[""])]]
    written = yaml.safe_dump(texts, allow_unicode=True, width=10**6)
    (HERE / "corpus" / f"{name}.yaml").write_text(written, encoding="utf-8")


MOST_KEPT = {"bind": 40, "": 120}
"""Inputs of a target in its corpus: the smallest, which a test can run in seconds."""
MOST_FINDS = 20
"""Finds of a target after which it is better mended than looked at further."""


def table(figures: dict[str, Any]) -> str:
    """The figures of a hunt as Markdown."""
    rows = [
        "| target | what comes in | executions | a second | inputs kept | edges | crashes | hangs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = dict.fromkeys(("executions", "crashes", "hangs"), 0)
    for name, each in figures["targets"].items():
        rate = each["executions"] / each["seconds"]
        numbers = (each["executions"], round(rate), each["corpus"], each["edges"], each["crashes"], each["hangs"])
        rows.append(f"| `{name}` | {TARGETS[name].about} | " + " | ".join(f"{number:,}" for number in numbers) + " |")
        for key in total:
            total[key] += each[key]
    rows.append(f"| together | | {total['executions']:,} | | | | {total['crashes']} | {total['hangs']} |")
    return f"Last hunt: {figures['date']}, bomgen {figures['version']}.\n\n" + "\n".join(rows) + "\n"


def main() -> None:
    """Hunt through the targets named, or all; keep the figures of a whole hunt."""
    parser = argparse.ArgumentParser(description="Fuzz every target for its number of executions.")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="targets; all without one")
    parser.add_argument("--keep", action="store_true", help="put what a hunt reached into the corpora; hunt no more")
    parser.add_argument("--share", type=float, default=1.0, help="share of the executions")
    asked = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tools"), str(CHECKOUT)]
    from between import TRUST, filled

    from bomgen import __version__

    BUILD.mkdir(parents=True, exist_ok=True)
    if asked.keep:
        for name in asked.targets or TARGETS:
            keep(name)
        return
    outcomes: dict[str, Any] = {}
    for name in asked.targets or TARGETS:
        outcome = hunt(name, int(TARGETS[name].executions * asked.share))
        outcomes[name] = {**outcome._asdict(), "seconds": round(outcome.seconds)}
        print(name, outcomes[name], flush=True)
    finds = sum(each["crashes"] + each["hangs"] for each in outcomes.values())
    if not asked.targets and asked.share >= 1 and not finds:
        figures = {"date": date.today().isoformat(), "version": __version__, "targets": outcomes}
        TRUST.write_text(filled(TRUST.read_text("utf-8"), "fuzzing", table(figures)), encoding="utf-8")
    sys.exit(bool(finds))


if __name__ == "__main__":
    main()
