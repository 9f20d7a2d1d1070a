"""Disks that are full, folders that cannot be written, places that are something else: one line, and nothing lost."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from children import NEW, OLD, Child, Outcome, outcome, piped, state
from depth import DEEP, few
from judging import skip_or_fail

from bomgen.output.registry import WIRINGS

PAGE = 4096
"""Bytes that a disk in memory is divided into."""
WORST = 700_000
"""Bytes that hold both sets of files and all that is needed meanwhile."""
BUILD = ("build", "plan.yaml", "-q", "-f", "csv,json,md", "-o")
Disk = Callable[[str], Path]
NOT_ROOT = 65534
"""The user called nobody."""


def become_nobody() -> None:
    """Give up what root may, once the program has what it imports: Python itself may be root's alone."""
    import_module("bomgen.cli.build")
    os.setgroups([])
    os.setgid(NOT_ROOT)
    os.setuid(NOT_ROOT)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a plan."""
    (tmp_path / "plan.yaml").write_text(NEW, encoding="utf-8")
    return tmp_path


def earlier(work: Path, place: Path) -> None:
    """Have the results of another plan at a place."""
    (work / "plan.yaml").write_text(OLD, encoding="utf-8")
    assert outcome([*BUILD, place], work).code == 0
    (work / "plan.yaml").write_text(NEW, encoding="utf-8")


def not_written(done: Outcome, about: str = "") -> bool:
    """Whether a run ended as one whose output could not be written: with code 3 and one line."""
    begins = f"bomgen: not written: {about}"
    return (done.code, done.out) == (3, b"") and done.said.startswith(begins) and len(done.said.splitlines()) == 1


# full ---------------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_at_any_byte(disk: Disk, work: Path) -> None:
    """However little room there is, in the first file or the last, the earlier files stay and nothing else is there."""
    place = disk(f"size={WORST}")
    earlier(work, place)
    before = state(place)
    used = WORST // PAGE - os.statvfs(place).f_bavail
    codes = []
    for pages in range(used + 4, 2 * used + 40, 1 if DEEP else 5):
        disk(f"size={pages * PAGE}")
        done = outcome([*BUILD, place], work)
        codes.append(done.code)
        if done.code == 0:
            break
        assert not_written(done, f"{place}/small"), (pages, done)
        assert "No space left on device" in done.said, (pages, done)
        assert before == state(place), pages
    assert codes[-1] == 0
    assert len(codes) > 3
    assert before != state(place)


def test_files_that_may_not_grow(work: Path) -> None:
    """A limit on the size of a file, as batch systems set one, is met in each of the files in turn."""
    place = work / "out"
    earlier(work, place)
    before = state(place)
    outcome([*BUILD, work / "unbounded"], work)
    largest = max(len(content) for content in state(work / "unbounded").values() if content)
    for limit in range(1, largest, largest // (60 if DEEP else 5)):
        bounds = (limit, limit)
        done = piped([*BUILD, place], work, lambda bounds=bounds: resource.setrlimit(resource.RLIMIT_FSIZE, bounds))
        assert not_written(done, f"{place}/small/"), (limit, done)
        assert "File too large" in done.said
        assert before == state(place)


LIMITED = [
    *("build plan.yaml", "build plan.yaml -f xlsx", "build plan.yaml -f json -o -", "wiring plan.yaml -o w.csv"),
    *("wiring plan.yaml -f xlsx -o w.xlsx", "lock plan.yaml", "explain plan.yaml", "schema plan", "init begun"),
]


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", few(LIMITED, 3), ids=lambda words: words.replace(" ", "_"))
def test_files_of_a_block_at_most(arguments: str, unbuffered: str, work: Path, bomgen: Callable[..., Outcome]) -> None:
    """`ulimit -f 1`: nothing is written, code 3 and one line, for standard output that is a file too."""
    redirected = "" if " -o w" in arguments else "> out.txt"
    quiet = " -q" if "plan.yaml" in arguments else ""
    done = bomgen(f"{arguments}{quiet}", work, redirected, "ulimit -f 1;", PYTHONUNBUFFERED=unbuffered)
    assert not_written(done), done
    assert "File too large" in done.said
    assert set(state(work)) - {"out.txt"} == {"plan.yaml"}


@pytest.mark.parametrize("arguments", ["init begun", "lock plan.yaml", "wiring plan.yaml -o w.csv"])
def test_a_full_disk_and_single_files(disk: Disk, arguments: str) -> None:
    """Commands that write one file leave none that is begun."""
    place = disk("size=1m")
    (place / "plan.yaml").write_text(NEW, encoding="utf-8")
    (place / "filler").write_bytes(b"x" * (PAGE * (os.statvfs(place).f_bavail)))
    assert not_written(outcome([*arguments.split(), "-q"], place))
    assert {"plan.yaml", "filler"} == set(state(place))


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_no_room_for_temporary_files(disk: Disk, work: Path, form: str) -> None:
    """What is written by way of temporary files says that there is no room for them; the rest does not need any."""
    place = disk("size=16k")
    (place / "filler").write_bytes(b"x" * PAGE * os.statvfs(place).f_bavail)
    done = outcome(["build", "plan.yaml", "-q", "-f", form], work, environment={"TMPDIR": str(place)})
    if done.code:
        assert not_written(done)
        assert not (work / "dist").exists()
    assert list(state(place)) == ["filler"]


def test_no_folder_for_temporary_files(work: Path) -> None:
    """A TMPDIR that is not there is passed over, as Python does."""
    done = outcome(["build", "plan.yaml", "-q"], work, environment={"TMPDIR": str(work / "gone")})
    assert (done.code, done.said) == (0, "")


# not to be written --------------------------------------------------------------------------------------------------


def test_a_read_only_disk(disk: Disk, work: Path) -> None:
    """A disk that became read-only keeps what it has."""
    place = disk("size=2m")
    earlier(work, place)
    before = state(place)
    disk("ro")
    assert not_written(outcome([*BUILD, place], work), f"{place}/small: Read-only file system")
    assert before == state(place)
    assert not_written(outcome([*BUILD, place / "deeper" / "still"], work))
    assert not_written(outcome(["wiring", "plan.yaml", "-q", "-o", place / "w.csv"], work), f"{place}/w.csv: Read-only")
    disk("rw")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_somebody_else(work: Path) -> None:
    """Who may not write into a folder is told which, also when it may write the files that are in it."""
    place = work / "out"
    earlier(work, place)
    before = state(place)
    for path in (place / "small" / "bom.csv", *(each for each in work.parents if "pytest-" in str(each)), work):
        path.chmod(path.stat().st_mode | stat.S_IROTH | stat.S_IXOTH | (stat.S_IWOTH if path.is_file() else 0))
    done = outcome(["build", "plan.yaml", "-q", "-f", "csv,json", "-o", place], work, become_nobody)
    assert not_written(done, f"{place}/small: Permission denied"), done
    assert before == state(place)


# places that are something else -------------------------------------------------------------------------------------


def test_a_folder_where_a_file_should_be(work: Path) -> None:
    """None of the other files is written either."""
    place = work / "out"
    earlier(work, place)
    (place / "small" / "report.md").unlink()
    (place / "small" / "report.md").mkdir()
    before = state(place)
    assert not_written(outcome([*BUILD, place], work), f"{place}/small/report.md: there is a folder of that name")
    assert before == state(place)


def test_a_file_where_the_folder_should_be(work: Path) -> None:
    """It stays."""
    (work / "out").write_text("mine", encoding="utf-8")
    assert not_written(outcome([*BUILD, work / "out"], work))
    assert (work / "out").read_bytes() == b"mine"


def test_an_open_file_is_read_to_its_end(work: Path) -> None:
    """Whoever has a result open goes on reading what was there when it was opened."""
    place = work / "out"
    earlier(work, place)
    old = state(place)["small/bom.json"]
    with (place / "small" / "bom.json").open("rb") as stream:
        begun = stream.read(100)
        assert outcome([*BUILD, place], work).code == 0
        assert old == begun + stream.read()
    assert old != (place / "small" / "bom.json").read_bytes()


def test_links(work: Path) -> None:
    """A link in a folder of results is replaced, and what it led to stays; -o FILE writes what a link leads to."""
    place = work / "out"
    earlier(work, place)
    (work / "mine").write_text("mine", encoding="utf-8")
    (place / "small" / "bom.csv").unlink()
    (place / "small" / "bom.csv").symlink_to(work / "mine")
    (place / "small" / "bom.json").unlink()
    (place / "small" / "bom.json").symlink_to("bom.json")
    assert outcome([*BUILD, place], work).code == 0
    assert not (place / "small" / "bom.csv").is_symlink()
    assert not (place / "small" / "bom.json").is_symlink()
    assert (work / "mine").read_bytes() == b"mine"
    (work / "link.csv").symlink_to("behind.csv")
    assert outcome(["wiring", "plan.yaml", "-q", "-o", "link.csv"], work).code == 0
    assert (work / "link.csv").is_symlink()
    assert (work / "behind.csv").read_bytes().startswith(b"fabric,")


@pytest.mark.parametrize("command", ["wiring", "compare"])
def test_links_in_a_circle(work: Path, command: str) -> None:
    """They lead nowhere, and one line says so."""
    (work / "a").symlink_to("b")
    (work / "b").symlink_to("a")
    plans = ["plan.yaml", "plan.yaml"] if command == "compare" else ["plan.yaml"]
    before = state(work)
    assert not_written(outcome([command, *plans, "-q", "-o", "a"], work), "a: Too many levels of symbolic links")
    assert before == state(work)


@pytest.fixture
def device(work: Path) -> Callable[[str], Path]:
    """A device of this machine under a name of the test's own: what replaced it would harm nobody. It takes root."""

    def made(of: str) -> Path:
        place = work / f"copy-of-{of}"
        if os.geteuid():
            skip_or_fail("only root can make a device")
        os.mknod(place, stat.S_IFCHR | 0o600, os.stat(f"/dev/{of}").st_rdev)
        return place

    return made


def test_a_pipe_in_a_folder_of_results(work: Path) -> None:
    """No file takes its place, and none of the others is written either."""
    place = work / "out"
    earlier(work, place)
    (place / "small" / "bom.csv").unlink()
    os.mkfifo(place / "small" / "bom.csv")
    before = {path: path.stat() for path in (place / "small").iterdir()}
    done = outcome([*BUILD, place], work)
    assert not_written(done, f"{place}/small/bom.csv: there is a pipe or device of that name"), done
    assert before == {path: path.stat() for path in (place / "small").iterdir()}


@pytest.mark.parametrize("form", WIRINGS.names)
def test_a_pipe_takes_what_a_file_has(form: str, work: Path) -> None:
    """`wiring -o` writes the same bytes into a pipe; a format of several files is refused, and nothing is renamed."""
    os.mkfifo(work / "pipe")
    child = Child(["wiring", "plan.yaml", "-q", "-f", form, "-o", "pipe"], work)
    if WIRINGS.constant(form, "SEVERAL_FILES"):
        assert not_written(child.outcome(), f"pipe: {form} has several files, which a pipe or device cannot take; ")
        assert {path.name for path in work.iterdir()} == {"plan.yaml", "pipe"}
        assert (work / "pipe").is_fifo()
        return
    taken = (work / "pipe").read_bytes()
    assert child.outcome().code == 0
    assert outcome(["wiring", "plan.yaml", "-q", "-f", form, "-o", "file"], work).code == 0
    assert (work / "file").read_bytes() == taken
    printed = outcome(["wiring", "plan.yaml", "-q", "-f", form], work)
    assert printed.out == taken
    assert (work / "pipe").is_fifo()


@pytest.mark.parametrize("form", WIRINGS.names)
@pytest.mark.parametrize("of", ["null", "full"])
def test_a_device(form: str, of: str, work: Path, device: Callable[[str], Path]) -> None:
    """It is written to, or the format refused; it is a device afterwards, and nothing lies beside it."""
    place = device(of)
    done = outcome(["wiring", "plan.yaml", "-q", "-f", form, "-o", place.name], work)
    if WIRINGS.constant(form, "SEVERAL_FILES"):
        assert not_written(done, f"{place.name}: {form} has several files"), done
    elif of == "full":
        assert not_written(done, f"{place.name}: No space left on device"), done
    else:
        assert (done.code, done.said) == (0, "")
    assert place.is_char_device()
    assert set(work.iterdir()) == {place, work / "plan.yaml"}


WRITERS = {
    "compare": ["compare", "plan.yaml", "plan.yaml", "-f", "xlsx", "-o"],
    "diff": ["diff", "plan.yaml", "plan.yaml", "-f", "xlsx", "-o"],
    "prices": ["prices", "--for", "plan.yaml", "-f", "xlsx", "-o"],
    "search": ["search", "plan.yaml", "--over", "cluster.servers=4..6", "--minimise", "gpus", "-f", "xlsx", "-o"],
    "wiring": ["wiring", "plan.yaml", "-f", "csv", "-o"],
}
"""Commands that write one file."""


@pytest.mark.parametrize("command", WRITERS)
def test_a_device_that_any_command_writes_to(command: str, work: Path, device: Callable[[str], Path]) -> None:
    """It stays a device."""
    place = device("null")
    assert outcome([*WRITERS[command], place.name, "-q"], work).code == 0
    assert place.is_char_device()


@pytest.mark.parametrize(
    "arguments",
    [*WRITERS.values(), ["build", "plan.yaml", "-o"], ["search", "plan.yaml", "--write"], ["xray", "plan.yaml", "-o"]],
    ids=" ".join,
)
def test_an_empty_name(arguments: list[str], work: Path) -> None:
    """It is wrong usage, and not the current folder."""
    done = outcome([*arguments, ""], work)
    assert (done.code, done.said.rpartition(": ")[2].strip()) == (2, "the name is empty; name a file or folder"), done
    assert set(work.iterdir()) == {work / "plan.yaml"}


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_lock_of_a_folder(name: str, work: Path) -> None:
    """A folder is no plan."""
    done = outcome(["lock", name], work)
    assert (2, [f"Error: cannot read the plan '{name}': Is a directory"]) == (done.code, done.said.splitlines())


def test_a_pipe_whose_reader_goes(work: Path) -> None:
    """A named pipe is an output like others: it could not be written."""
    os.mkfifo(work / "pipe")
    child = Child(["wiring", str(Path(__file__).parents[2] / "plans" / "1000P-dense.yaml"), "-q", "-o", "pipe"], work)
    with (work / "pipe").open("rb") as stream:
        stream.read(10)
    assert not_written(child.outcome(), "pipe: Broken pipe")


@pytest.mark.parametrize("name", ["x" * 300, "/".join(["x" * 200] * 30)], ids=["name", "path"])
def test_a_path_that_is_too_long(work: Path, name: str) -> None:
    """One line; no part of the path is left over."""
    before = state(work)
    for done in (
        outcome([*BUILD, name], work),
        outcome(["wiring", "plan.yaml", "-q", "-o", name], work),
        outcome(["compare", "plan.yaml", "plan.yaml", "-q", "-o", f"{name}.md", "-f", "md"], work),
    ):
        assert not_written(done), done
        assert "File name too long" in done.said
    assert before == state(work)


# what bomgen reads ----------------------------------------------------------------------------------------------------


BOOK = "bomgen_prices: 1\ncurrency: USD\nprices: [{part: qm9700, price: 1}]\n"
KNOWN = {
    "other.yaml": ("a plan", OLD),
    "braces.json": ("a plan", '{"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": 4}}'),
    "broken.yml": ("a plan", "cluster: {gpu: [\n"),
    "seller.yaml": ("a plan", "# of all quotes\nquote: {currency: USD}\n"),
    "book.yaml": ("a price list", BOOK),
    "asked.csv": ("a price list", "part,price,currency\nqm9700,,USD\n"),
    "list.csv": ("a price list", "Part number;Unit price USD\nMQM9700-NS2F;25000.00\nMMA4Z00-NS;900.00\n"),
    "plan.lock": ("a lock", "bomgen_lock: 1\n"),
}
"""Files that bomgen reads, and what it takes each for."""


@pytest.mark.parametrize("name", KNOWN)
def test_a_file_that_bomgen_reads(name: str, work: Path) -> None:
    """It is not written over by a slip of the name; --force does it."""
    what, text = KNOWN[name]
    (work / name).write_text(text, encoding="utf-8")
    for command in WRITERS.values():
        done = outcome([*command, name], work)
        said = f"Error: {name} is {what}; specify another file with -o, or overwrite it with --force"
        assert (2, said) == (done.code, done.said.splitlines()[-1])
    assert (work / name).read_text(encoding="utf-8") == text
    if name != "plan.lock":  # which the plan is built by
        follows = name.endswith(".json")  # the suffix of another format of wirings than csv
        command = ["wiring", "plan.yaml", "-o"] if follows else WRITERS["wiring"]
        assert outcome([*command, name, "--force", "-q"], work).code == 0
        assert (work / name).read_bytes().startswith(b"{" if follows else b"fabric,")


REWRITTEN = [
    *(("compare", form) for form in ("text", "md", "html", "json", "xlsx")),
    *(("diff", form) for form in ("text", "md", "html", "json", "xlsx")),
    *(("search", form) for form in ("text", "csv", "json", "xlsx")),
    *(("wiring", form) for form in WIRINGS.names),
]


def test_results_are_written_again(work: Path) -> None:
    """What bomgen writes is no plan and no price list: the same command may be given twice."""
    (work / "book.yaml").write_text(BOOK, encoding="utf-8")
    priced = ["-q", "--set", "quote.price_book=book.yaml"]
    assert outcome(["build", "plan.yaml", "-o", ".", *priced], work).code == 0
    results = {path.suffix: path for path in (work / "small").iterdir() if path.suffix != ".md"}
    for command, form in REWRITTEN:
        options = [form if word in ("xlsx", "csv") else word for word in WRITERS[command]]
        for place in (f"{command}.{form}", f"{command}.{form}", results.get(f".{form}")):
            assert place is None or outcome([*options, place, *priced], work).code == 0


# surroundings -------------------------------------------------------------------------------------------------------


def test_a_current_folder_that_is_gone(work: Path) -> None:
    """Paths that need it are not found; others do."""
    (work / "gone").mkdir()
    away = work / "gone"
    whole = outcome([*BUILD[:1], work / "plan.yaml", *BUILD[2:], work / "out"], away, lambda: None)
    assert whole.code == 0
    before = state(work / "out")
    for arguments, code in (
        (["build", work / "plan.yaml", "-q", "-f", "csv,json,md", "-o", work / "out"], 0),
        (["build", work / "plan.yaml", "-q", "-f", "csv"], 3),
        (["build", "plan.yaml", "-q"], 2),
        (["init", "begun"], 3),
    ):
        done = in_a_folder_that_goes(arguments, away)
        assert (code, code > 0) == (done.returncode, len(done.stderr.splitlines()) == 1), (arguments, done)
    assert before == state(work / "out")


def in_a_folder_that_goes(arguments: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder that is taken away before it begins."""
    line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    folder.mkdir(exist_ok=True)
    command = ["sh", "-c", line, "sh", str(folder), sys.executable, "-m", "bomgen", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_no_home(work: Path) -> None:
    """Nothing is looked for there."""
    done = outcome([*BUILD, "out"], work, environment={"PATH": os.environ["PATH"]})
    assert (done.code, done.said) == (0, "")


# files that go ------------------------------------------------------------------------------------------------------


def test_a_price_book_that_goes(work: Path) -> None:
    """What a plan names and nobody can read is a wrong plan, at its line."""
    plan = NEW + "quote: {prices: [book.yaml]}\n"
    (work / "plan.yaml").write_text(plan, encoding="utf-8")
    (work / "book.yaml").symlink_to("book.yaml")
    done = outcome([*BUILD, "out"], work)
    assert done.code == 1
    assert done.said.startswith("plan.yaml:6:"), done
    assert not (work / "out").exists()


def test_a_plan_that_changes_while_it_is_built(work: Path) -> None:
    """It is read once: what comes out belongs to what was read."""
    place = work / "out"
    assert outcome([*BUILD, place], work).code == 0
    new = state(place)
    os.mkfifo(work / "piped.yaml")
    child = Child(["build", "piped.yaml", "-q", "-f", "csv,json,md", "-o", work / "other"], work)
    with (work / "piped.yaml").open("w", encoding="utf-8") as stream:
        (work / "piped.yaml").unlink()
        stream.write(NEW)
    (work / "piped.yaml").write_text(OLD, encoding="utf-8")
    assert child.outcome().code == 0
    found = state(work / "other")["small/bom.csv"] or b""
    assert new["small/bom.csv"] == found.replace(b"piped.yaml", b"plan.yaml")


def test_a_part_file_that_its_disk_does_not_give(work: Path) -> None:
    """A part file that is there and cannot be read is named, at the line of the plan that asks for it."""
    (work / "parts" / "switch").mkdir(parents=True)
    (work / "parts" / "switch" / "own.yaml").write_text("name: own\n", encoding="utf-8")
    (work / "plan.yaml").write_text(NEW.replace("qm9700", "own") + "catalog: [parts]\n", encoding="utf-8")

    def broken() -> None:
        given = Path.open

        def opened(path: Path, *how: Any, **more: Any) -> Any:
            if path.name == "own.yaml":
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return given(path, *how, **more)

        Path.open = opened  # type: ignore[method-assign]

    done = outcome([*BUILD, "out"], work, broken)
    assert done.code == 1
    assert done.said.startswith("plan.yaml:5:29: error: the part file cannot be read (Input/output error); ")
    assert not (work / "out").exists()
