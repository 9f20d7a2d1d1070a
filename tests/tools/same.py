"""Shows that two revisions give the same results: `make same BASE=REV` compares REV with the working tree.

A result is the outcome of a command: its exit code, the place, severity and rule of every problem, bom.json without the
texts that may be reworded (`REWORDED`), and the digest of the cable list. The commands run over the plans of `plans/`,
`tests/corners/` and `tests/errors/` as they are at REV, and over random plans drawn with a fixed seed.

With `--texts` nothing may be reworded: bom.json is compared whole, and so is what `bomgen explain` prints. With
`--quick` varied plans of `plans/` and some of `tests/corners/` are built, and what differs is shown; it is a failure
only where a plan that was built is so no more, or where the program crashes.

The program is called through `bomgen.__main__` alone, so that any two layouts of the package can be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS)]

from depth import VARIED_PLANS  # noqa: E402 - of the folder above
from plan_cases import read_cases, write_plans  # noqa: E402 - of the folder above

WORK = ROOT / "build" / "same"
CORNERS, ERRORS = "tests/corners", "tests/errors"
PLAN_FOLDERS = ("plans", CORNERS, ERRORS)
CASES = {CORNERS: "corners.yaml", ERRORS: "cases/*.yaml"}
"""By folder, the files that have its plans."""
QUICK = 30
"""One corner of so many is built with `--quick`."""
COMMAND = "# $ bomgen "
"""The first line of a plan that is shown to another command than `build`; OUT is a folder to write into."""
RANDOM_PLANS = 2000
SEED = 20261123
REWORDED = ("message", "explain", "formula", "source")
"""Keys of bom.json whose texts may change between revisions that are the same."""
PROBLEM = re.compile(r"(?P<place>.+?:[0-9]+:[0-9]+): (?P<severity>error|warning): .* \[(?P<rule>[a-z0-9-]+)\]")
TRACEBACK = 70
"""The exit code that a traceback stands for here."""
SHOWN, LONGEST = 30, 300
"""Differences that are printed, and characters of each."""
LOADING = ("plans", ["build", "-q", "llama65b.yaml", "-f", "json", "-o", "OUT"])
"""What loads the program, so that the children need not."""


# the corpus ---------------------------------------------------------------------------------------------------------


def write_corpus(revision: str, folder: Path, random_plans: int) -> None:
    """The plans of a revision with the files that they name, and random plans, in a folder that is its own checkout."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    extract(revision, folder, "plans", "prices", "templates", "tests")
    (folder / ".git").mkdir()  # the root that paths of plans must stay below
    for place, pattern in CASES.items():
        for file in sorted((folder / place).glob(pattern)):
            write_plans(read_cases(file), folder / place)
            file.unlink()
    if random_plans:
        write_random_plans(folder / "random", random_plans)


def extract(revision: str, folder: Path, *paths: str) -> None:
    """The files of a revision, all or those below `paths`, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", revision, *paths], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def write_random_plans(folder: Path, number: int) -> None:
    """Random plans of every kind, each in a folder of its own with the files that it names."""
    sys.path[:0] = [str(ROOT), str(TESTS / "laws")]
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from whole_plans import Whole, whole_plans

    drawn: list[Whole] = []

    @seed(SEED)
    @settings(max_examples=number, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(whole_plans())
    def draw(whole: Whole) -> None:
        drawn.append(whole)

    draw()
    for index, whole in enumerate(drawn):
        place = folder / f"{index:04}"
        place.mkdir(parents=True)
        for name, content in {**whole.files, "plan.yaml": whole.text}.items():
            (place / name).write_text(content, encoding="utf-8")


def commands(corpus: Path, texts: bool, quick: bool) -> list[tuple[str, list[str]]]:
    """The commands to run, each with the folder that it runs in; OUT stands for a folder to write into."""
    found = []
    for folder in PLAN_FOLDERS:
        for plan in sorted((corpus / folder).glob("*.yaml")):
            first = plan.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
            if first.startswith(COMMAND):
                found.append((folder, shlex.split(first.removeprefix(COMMAND))))
            else:
                found += [(folder, command) for command in plan_commands(plan.name, texts)]
    for place in sorted((corpus / "random").glob("*")):
        found += [(f"random/{place.name}", command) for command in plan_commands("plan.yaml", texts)]
    if quick:
        built = [each for each in found if each[1][0] == "build"]
        corners = [each for each in built if each[0] == CORNERS]
        varied = [each for each in built if each[0] == "plans" and {Path(word).stem for word in each[1]} & VARIED_PLANS]
        return [*varied, *corners[::QUICK]]
    return found


def plan_commands(plan: str, texts: bool) -> list[list[str]]:
    """What every plan is shown to."""
    return [
        *([["explain", plan]] if texts else []),
        ["build", "-q", plan, "-f", "json", "-o", "OUT"],
        ["wiring", "-q", plan, "-f", "csv", "-o", "OUT/wiring.csv"],
    ]


# running ------------------------------------------------------------------------------------------------------------


def run_commands(corpus: Path, whole: bool, texts: bool) -> None:
    """Run the commands of standard input, a line of JSON each, with the package that is imported here.

    Prints a line of JSON for each: its name, and its outcome where that is asked for whole, else exit code and digest.
    Each runs in a child of this process, which has loaded the program once.
    """
    from bomgen.__main__ import run

    wanted = [json.loads(line) for line in sys.stdin]
    with tempfile.TemporaryDirectory() as work:
        for number, (folder, command) in enumerate([LOADING, *wanted]):
            out = Path(work) / str(number)
            out.mkdir()
            if not number:
                execute(run, corpus / folder, command, out)
                continue
            pid = os.fork()
            if not pid:
                os._exit(execute(run, corpus / folder, command, out))
            _, status = os.waitpid(pid, 0)
            outcome = project(os.waitstatus_to_exitcode(status), out, texts)
            digest = hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()
            print(json.dumps([name_of(folder, command), outcome if whole else [outcome["exit"], digest]]), flush=True)
            shutil.rmtree(out)


def name_of(folder: str, command: list[str]) -> str:
    """What a command is called here."""
    return f"{folder}: {shlex.join(command)}"


def execute(run: Any, folder: Path, command: list[str], out: Path) -> int:
    """Run the program in a folder with its streams in files, and give its exit code."""
    os.chdir(folder)
    sys.argv = ["bomgen", *(word.replace("OUT", str(out)) for word in command)]
    kept = os.dup(1), os.dup(2)
    try:
        for stream, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(out / name, os.O_WRONLY | os.O_CREAT)
            os.dup2(file, stream)
            os.close(file)
        try:
            run()
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
        except BaseException:
            traceback.print_exc()
            return TRACEBACK
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
        return 0
    finally:
        for saved, number in zip(kept, (1, 2), strict=True):
            os.dup2(saved, number)


def project(code: int, out: Path, texts: bool) -> dict[str, Any]:
    """What must stay the same of the outcome of a command."""
    lines = (out / "stderr").read_text("utf-8", "replace").replace(str(out), "OUT").splitlines()
    problems = [match.group("place", "severity", "rule") for line in lines if (match := PROBLEM.fullmatch(line))]
    found: dict[str, Any] = {"exit": code, "problems": sorted(problems)}
    if any(line.startswith("Traceback") for line in lines):
        found["traceback"] = lines[-1].rpartition(": ")[2]  # the name of its module may change
    for file in sorted(out.rglob("bom.json")):
        data = json.loads(file.read_text("utf-8"))
        found[file.parent.name] = data if texts else project_json(data)
    if texts:
        found["stdout"] = (out / "stdout").read_text("utf-8", "replace").replace(str(out), "OUT").splitlines()
    for file in sorted(out.glob("wiring.*")):
        found[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def project_json(data: Any, key: str = "") -> Any:
    """A bom.json without reworded texts and without the names of inputs; of warnings only how many there are."""
    if isinstance(data, dict):
        kept = {name: project_json(value, name) for name, value in data.items() if name not in REWORDED}
        if key == "inputs":
            return sorted(kept.values(), key=lambda value: json.dumps(value, sort_keys=True))
        return kept
    if isinstance(data, list):
        if key == "warnings":
            return len(data)
        return [project_json(value) for value in data]
    return data


def outcomes(tree: Path, corpus: Path, texts: bool, quick: bool, names: list[str] | None = None) -> dict[str, Any]:
    """Exit code and digest of every command with the package of a tree; with names, the whole outcome of those."""
    chosen = [each for each in commands(corpus, texts, quick) if names is None or name_of(*each) in names]
    shares = os.cpu_count() or 1
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    running = []
    for share in range(shares):
        flags = [*(["--whole"] if names is not None else []), *(["--texts"] if texts else [])]
        command = [sys.executable, __file__, "--run", str(corpus), *flags]
        with tempfile.TemporaryFile("w+") as listed:
            listed.writelines(f"{json.dumps(each)}\n" for each in chosen[share::shares])
            listed.seek(0)
            running.append(
                subprocess.Popen(command, env=environment, cwd=tree, stdin=listed, stdout=subprocess.PIPE, text=True)
            )
    found: dict[str, Any] = {}
    for process in running:
        found.update(json.loads(line) for line in process.communicate()[0].splitlines())
        if process.returncode:
            sys.exit(f"the commands did not run to their end: exit code {process.returncode}")
    return found


# comparing ----------------------------------------------------------------------------------------------------------


def differences(was: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two outcomes differ, a line each."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(key for key in now if key not in was)]:
            yield from differences(was.get(key, "absent"), now.get(key, "absent"), f"{path}.{key}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, pair in enumerate(zip(was, now, strict=True)):
            yield from differences(*pair, f"{path}[{place}]")
    elif was != now:
        yield f"{path.lstrip('.')}: {json.dumps(was)} -> {json.dumps(now)}"


def compare(base: str, random_plans: int, texts: bool, quick: bool) -> int:
    """Compare a revision with the working tree; 1 where they differ, or with `quick` where they must not."""
    revision = subprocess.run(
        ["git", "rev-parse", "--verify", f"{base}^{{commit}}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    place = WORK / f"{revision[:12]}-{random_plans}{'-texts' if texts else ''}{'-quick' if quick else ''}"
    corpus, kept = place / "corpus", place / "digests.json"
    if not kept.exists():
        write_corpus(revision, corpus, random_plans)
        extract(revision, place / "tree")
        if (generator := place / "tree" / "tools" / "generate.py").exists():
            subprocess.run([sys.executable, generator], check=True)
        kept.write_text(json.dumps(outcomes(place / "tree", corpus, texts, quick)), encoding="utf-8")
    was, now = json.loads(kept.read_text("utf-8")), outcomes(ROOT, corpus, texts, quick)
    changed = [name for name in was | now if was.get(name) != now.get(name)]
    old, new = (outcomes(tree, corpus, texts, quick, changed[:SHOWN]) for tree in (place / "tree", ROOT))
    for name in changed[:SHOWN]:
        print(name)
        for line in list(differences(old.get(name), new.get(name)))[:SHOWN]:
            print(f"  {line[:LONGEST]}")
    print(f"{len(was) - len(changed)} of {len(was)} outcomes are the same as at {revision[:12]}")
    if quick:
        changed = [name for name in changed if was[name][0] == 0 != now[name][0] or now[name][0] == TRACEBACK]
        print("".join(f"{name}: exit code {was[name][0]} before, {now[name][0]} now\n" for name in changed), end="")
    return 1 if changed or not was else 0


def main() -> int:
    """Read the command line and compare."""
    if sys.argv[1:2] == ["--run"]:
        run_commands(Path(sys.argv[2]), "--whole" in sys.argv, "--texts" in sys.argv)
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", metavar="REV")
    parser.add_argument("--random-plans", type=int, default=RANDOM_PLANS, metavar="NUMBER")
    parser.add_argument("--texts", action="store_true", help="compare the texts that may be reworded, too")
    parser.add_argument("--quick", action="store_true", help="look for plans that are built no more")
    asked = parser.parse_args()
    return compare(asked.base, 0 if asked.quick else asked.random_plans, asked.texts, asked.quick)


if __name__ == "__main__":
    sys.exit(main())
