"""Ctrl-C and the like at any moment, in front of whatever is slow; and programs that were started in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from children import ENDINGS, NEW, OLD, Child, outcome, state
from depth import DEEP
from processor import PATIENCE

from bomgen.workflow import design_search

CHECKOUT = Path(__file__).parents[2]
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
SIGNALS = {"interrupt": (signal.SIGINT, 130), "end": (signal.SIGTERM, 143), "hang-up": (signal.SIGHUP, 129)}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a plan."""
    (tmp_path / "plan.yaml").write_text(NEW, encoding="utf-8")
    return tmp_path


def until(found: Callable[[], object]) -> None:
    """Wait until something is the case."""
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end
        time.sleep(0.02)


def runs(process: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_at_any_moment(work: Path) -> None:
    """From the first moment of the program to its last: one set of files, no traceback, code 130 or done."""
    command = [sys.executable, "-m", "bomgen", "build", "plan.yaml", "-q", "-o", "out"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    (work / "plan.yaml").write_text(OLD, encoding="utf-8")
    subprocess.run(command, cwd=work, env=environment, check=True)
    old = state(work / "out")
    (work / "plan.yaml").write_text(NEW, encoding="utf-8")
    since = time.monotonic()
    subprocess.run(command, cwd=work, env=environment, check=True)
    length, new = time.monotonic() - since, state(work / "out")
    steps = 80 if DEEP else 4
    for step in range(1, steps):
        process = subprocess.Popen(command, cwd=work, env=environment, stderr=subprocess.PIPE, text=True)
        until(lambda number=process.pid: b"bomgen" in Path(f"/proc/{number}/cmdline").read_bytes())
        time.sleep(0.05 + length * step / steps)  # Python itself needs a moment before it runs anything
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        assert process.returncode in (0, 130, -signal.SIGINT), (step, process.returncode, said)
        assert said in ("", "Interrupted\n"), (step, said)
        assert state(work / "out") in (old, new), step


HALF_A_WORKBOOK = """
import io, os, signal, sys, time, zipfile
from bomgen.cli.command import run_command
signal.signal(signal.SIGINT, signal.SIG_DFL)
def write():
    stream = io.BytesIO()
    package = zipfile.ZipFile(stream, "w")
    package.writestr("a", "b")
    stream.close()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
sys.exit(run_command(write))
"""


def test_what_is_thrown_away_says_nothing() -> None:
    """A package that can no longer be finished complains when it is forgotten; after Ctrl-C nobody wants to know."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", HALF_A_WORKBOOK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, "Interrupted\n")


SWALLOWED = """
import os, signal, sys, time
from bomgen.cli.command import run_command
signal.signal(signal.SIGINT, signal.SIG_DFL)
def convert():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(60)
    except:
        raise TypeError("expected a number")
sys.exit(run_command(convert))
"""


@pytest.mark.parametrize("how", SIGNALS)
def test_a_library_that_catches_everything_is_ended(how: str) -> None:
    """A TypeError is what openpyxl makes of an interrupted conversion: the command ends as at any other moment."""
    number, code = SIGNALS[how]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", SWALLOWED, str(int(number))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (code, "Interrupted\n" if how == "interrupt" else "")


@pytest.mark.parametrize("how", SIGNALS if DEEP else ["interrupt", "end"])
@pytest.mark.parametrize("slow", ["template", "reader"])
def test_what_was_started_is_ended(how: str, slow: str, work: Path, tmp_path: Path) -> None:
    """The process of a template, a pipe that nobody reads: all end, nothing is left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
    if slow == "template":
        (work / "endless.txt.j2").write_text(ENDLESS, encoding="utf-8")
        arguments = ["build", "plan.yaml", "-q", "-f", "json", "--template", "endless.txt.j2"]
    else:
        os.mkfifo(work / "pipe")
        arguments = ["wiring", "plan.yaml", "-q", "-o", "pipe"]
    child = Child(arguments, work, environment=environment)
    begun = time.monotonic()
    if slow == "template":
        until(lambda: children(child.number))
        time.sleep(0.5)
        started = children(child.number)
    else:
        time.sleep(2)
        started = []
    number, code = SIGNALS[how]
    os.kill(child.number, number)
    done = child.outcome()
    assert (code, "Interrupted\n" if how == "interrupt" else "") == (done.code, done.said)
    assert time.monotonic() - begun < PATIENCE
    until(lambda: not any(runs(process) for process in started))
    assert started or slow == "reader"
    assert list(temporary.iterdir()) == []
    assert not (work / "dist").exists()


@pytest.mark.parametrize("how", ["interrupt", "end", "kill"])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.deep
def test_a_search_of_a_thousand_million_designs_ends(
    how: str, jobs: int, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal to the command alone ends it and its processes, whatever they are at; killed, it leaves none behind."""
    if jobs > 1:  # parts that never end by themselves
        monkeypatch.setattr(design_search, "_chunks", lambda *_: time.sleep(2 * PATIENCE))
    workload = "workload: {training: {model: {name: m, parameters: 30B}, tokens: 600B}}\n"
    (work / "plan.yaml").write_text(NEW + workload, encoding="utf-8")
    over = ("cluster.servers=1..100", "spares.switch=0..999", "workload.training.tokens=1000000001..1000010000")
    options = [word for each in over for word in ("--over", each)]
    child = Child(["search", "plan.yaml", *options, "--minimise", "gpus,days", "--jobs", str(jobs)], work)
    if jobs > 1:
        until(lambda: len(children(child.number)) == jobs)
    time.sleep(2)  # in the middle of the first parts
    started = children(child.number)
    os.kill(child.number, ENDINGS[how])
    until(lambda: not runs(child.number))
    done = child.outcome()
    assert done.code == {"interrupt": 130, "end": 143, "kill": -signal.SIGKILL}[how]
    assert "Traceback" not in done.said
    until(lambda: not any(runs(process) for process in started))
    assert len(started) == (jobs if jobs > 1 else 0)


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(number) for number in said.stdout.split()]


def test_a_signal_that_is_ignored_stays_so(work: Path) -> None:
    """What nohup starts is not ended by a terminal that goes away."""
    child = Child(
        ["build", "plan.yaml", "-q", "-f", "json"], work, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    for _ in range(20):
        os.kill(child.number, signal.SIGHUP)
        time.sleep(0.01)
    assert child.outcome().code in (0, -signal.SIGHUP)  # before it could ask not to be told


# memory -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mebibytes", range(60, 1000, 20) if DEEP else [150])
def test_too_little_memory(mebibytes: int, work: Path, bomgen: Callable[..., tuple[int, bytes, str]]) -> None:
    """Either it is enough, or nothing is written and the last line says so."""
    (work / "large.yaml").write_text(NEW.replace("servers: 8", "servers: 1024"), encoding="utf-8")
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    arguments = "wiring large.yaml -q -o out/w.csv"
    code, _, said = bomgen(arguments, work, before=f"ulimit -v {mebibytes * 1024};", **threads)
    if code == 0:
        assert (work / "out" / "w.csv").is_file()
        return
    assert not (work / "out").exists(), said
    assert "Traceback" not in said
    assert code in (1, 127) or code < 0, (code, said)


@pytest.mark.parametrize("command", ["build plan.yaml -q -o out", "wiring plan.yaml -q -o out/w.csv"])
def test_memory_that_no_library_fits_in(
    command: str, work: Path, bomgen: Callable[..., tuple[int, bytes, str]]
) -> None:
    """A library for which there is no room is there: nobody is told to install bomgen again."""
    for mebibytes in (50, 70, 90) if DEEP else (70,):
        code, _, said = bomgen(command, work, before=f"ulimit -v {mebibytes * 1024};", OPENBLAS_NUM_THREADS="1")
        assert code == 1
        assert said == "bomgen: out of memory; nothing was written\n" or said.startswith("OpenBLAS error: Memory")
        assert not (work / "out").exists()


@pytest.mark.parametrize("form", ["csv", "xlsx", "netbox"])
def test_far_too_little_memory(form: str, work: Path, bomgen: Callable[..., tuple[int, bytes, str]]) -> None:
    """`ulimit -v 150000`, which 200 000 cables never fit in: one line and code 1, no traceback and no file."""
    (work / "large.yaml").write_text(NEW.replace("servers: 8", "servers: 8192"), encoding="utf-8")
    arguments = f"wiring large.yaml -q -f {form} -o out/w.{form.replace('netbox', 'csv')}"
    code, out, said = bomgen(arguments, work, before="ulimit -v 150000;", OPENBLAS_NUM_THREADS="1")
    assert (code, out, said) == (1, b"", "bomgen: out of memory; nothing was written\n")
    assert not (work / "out").exists()


# several runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 5])
def test_runs_at_once(number: int, work: Path) -> None:
    """Whichever is last, its files are all there; nobody fails, and nothing is left over."""
    formats = ("csv,json", "json,csv,md", "csv,json,svg", "json,csv", "csv,md,json")
    plans, sets = [], []
    for each in range(number):
        place = work / f"alone{each}"
        place.mkdir()
        (place / "plan.yaml").write_text(NEW.replace("servers: 8", f"servers: {8 + each}"), encoding="utf-8")
        arguments = ["build", place / "plan.yaml", "-q", "-f", formats[each], "-o"]
        assert outcome([*arguments, place], work).code == 0
        plans.append(arguments)
        sets.append({name: content for name, content in state(place / "small").items() if content})
    for _ in range(20 if DEEP else 3):
        running = [Child([*arguments, "together"], work) for arguments in plans]
        assert [(0, "")] * number == [(done.code, done.said) for done in (child.outcome() for child in running)]
        found = state(work / "together" / "small")
        assert [each for each in sets if each.items() <= found.items()]
        assert found.keys() == {name for each in sets for name in each}


def test_a_folder_that_another_run_holds(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that never lets go of a folder is not waited for for ever."""
    import fcntl

    from bomgen.output import writer

    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    (work / "dist" / "small").mkdir(parents=True)
    held = os.open(work / "dist" / "small", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = outcome(["build", "plan.yaml", "-q", "-f", "json"], work)
    finally:
        os.close(held)
    expected = "bomgen: not written: dist/small: another run of bomgen is writing there, and does not end\n"
    assert (3, expected) == (done.code, done.said)
    assert state(work / "dist" / "small") == {}


def test_a_handler_that_goes_on_is_told_that_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server notes a signal and ends later: what the signal broke off must not look as if it had been done."""
    from bomgen.core.jobs import Stopped
    from bomgen.output.writer import write_new

    monkeypatch.setattr(Path, "write_bytes", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    noted = []
    before = signal.signal(signal.SIGTERM, lambda number, _: noted.append(number))
    try:
        with pytest.raises(Stopped):
            write_new(b"a", tmp_path / "out" / "a")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted == [signal.SIGTERM]
    assert state(tmp_path) == {}
