"""The command at a terminal and in pipes: colours, progress, what is said, and a reader who goes away."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from depth import few
from rich.cells import cell_len
from terminal import Bomgen, Terminal

ROOT = Path(__file__).parents[2]
BOMGEN = [sys.executable, "-m", "bomgen"]
PLAN = """bomgen: 1
name: small
cluster: {gpu: h100-sxm, servers: 16}
fabrics:
  compute: {switch: qm9700}
"""
WRONG = PLAN.replace("qm9700", "qm9701")
ESCAPE = "\x1b"
ERASED = "\x1b[K"
"""What takes a line of progress away."""
COLOURS = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS")
LONG, SMALL = "plans/llama65b.yaml", "plans/a100-32-zh.yaml"
COSTS = "../prices/example-2026q4.yaml"
LONGEST_WORD = 24
"""A longer word may be broken."""

Shown = Callable[..., tuple[int, str]]


def environment(**given: str) -> dict[str, str]:
    """The environment of the tests without what it says of colours."""
    return {name: value for name, value in os.environ.items() if name not in COLOURS} | given


def outcome(*arguments: str, stdin: str = "", folder: Path = ROOT, **given: str) -> tuple[int, bytes, bytes]:
    """Exit code of a command that is no terminal's, and what it writes."""
    with TemporaryFile() as asked, TemporaryFile() as out, TemporaryFile() as err:
        asked.write(stdin.encode())
        asked.seek(0)
        streams = (asked.fileno(), out.fileno(), err.fileno())
        code = Bomgen(arguments, environment(**given), folder, streams).wait()
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


def piped(*arguments: str, stdin: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """What a command prints into pipes."""
    code, out, err = outcome(*arguments, stdin=stdin, **given)
    return subprocess.CompletedProcess(arguments, code, out.decode(), err.decode())


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    """Exit code of a command at a terminal, and all that it shows; its plan is p.yaml."""
    opened: list[Terminal] = []
    (tmp_path / "p.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "q.yaml").write_text(PLAN.replace("small", "other"), encoding="utf-8")
    (tmp_path / "w.yaml").write_text(WRONG, encoding="utf-8")

    def run(*arguments: str, columns: int = 200, **given: str) -> tuple[int, str]:
        opened.append(Terminal([], environment(**given), tmp_path, arguments, columns))
        return opened[-1].to_end()

    yield run
    for terminal in opened:
        terminal.close()


# width --------------------------------------------------------------------------------------------------------------


WIDE_TABLES = {
    "margin": ("margin", str(ROOT / "plans/llama65b-quote.yaml"), "-q", "--set", f"quote.cost_book={COSTS}"),
    "compare": ("compare", *(str(ROOT / "plans" / f"{name}.yaml") for name in ("llama65b", "llama65b-h100"))),
    "compare in Chinese": ("compare", str(ROOT / SMALL), str(ROOT / LONG), "--language", "zh"),
    "list of parts": ("catalog", "transceiver"),
    "part": ("catalog", "switch", "qm9700"),
    "topologies": ("catalog", "topology"),
    "designs": ("init", "--list"),
    "diff": ("diff", *(str(ROOT / "plans" / f"{name}.yaml") for name in ("llama65b", "llama65b-h100"))),
}


@pytest.mark.parametrize("columns", few([80, 100, 160], 2))
@pytest.mark.parametrize("table", WIDE_TABLES)
def test_tables_fit_the_terminal(table: str, columns: int, shown: Shown) -> None:
    """No line is wider, a Chinese character counting as two; every word of the pipe is there; no blanks end a line."""
    code, text = shown(*WIDE_TABLES[table], columns=columns, NO_COLOR="1")
    lines = [line.rpartition(ERASED)[2] for line in text.replace("\r\n", "\n").split("\n")]
    assert code == 0
    assert max(map(cell_len, lines)) <= columns
    assert [line for line in lines if line != line.rstrip()] == []
    whole = "".join(text.split())
    words = {word for word in piped(*WIDE_TABLES[table]).stdout.split() if len(word) < LONGEST_WORD}
    assert [word for word in sorted(words) if word not in whole] == []


def test_a_row_of_a_table_keeps_its_colour(shown: Shown) -> None:
    """What is new is green and what is gone is red, in rows that are wrapped as well."""
    _, text = shown(*WIDE_TABLES["diff"], columns=80)
    assert "\x1b[31m" in text
    assert "\x1b[32m" in text
    assert ESCAPE not in piped(*WIDE_TABLES["diff"]).stdout


# colours ------------------------------------------------------------------------------------------------------------


def test_problems_are_coloured_at_a_terminal(shown: Shown) -> None:
    """An error is red and bold, and so is the caret below it; the words are those of a pipe."""
    code, text = shown("check", "w.yaml")
    assert 1 == code
    assert f"{ESCAPE}[31m{ESCAPE}[1merror:{ESCAPE}[0m" in text
    assert f"{ESCAPE}[31m{ESCAPE}[1m^{ESCAPE}[0m" in text


@pytest.mark.parametrize("given", [{"NO_COLOR": "1"}, {"CLICOLOR": "0"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_colours_where_they_are_not_wanted(given: dict[str, str], shown: Shown) -> None:
    """NO_COLOR and CLICOLOR=0 keep colours from a terminal; NO_COLOR wins over what asks for them."""
    _, text = shown("check", "w.yaml", **given)
    assert "m" not in {part.partition("m")[1] for part in text.split(f"{ESCAPE}[")[1:] if part[:1] != "K"}
    assert "error: no switch 'qm9701'" in text


def test_a_dumb_terminal_is_sent_no_control_codes(shown: Shown) -> None:
    """TERM=dumb: neither colours nor a line that is written over."""
    assert ESCAPE not in shown("check", "w.yaml", TERM="dumb")[1]


def test_pipes_are_sent_no_colours() -> None:
    """Into a pipe goes text alone."""
    outcome = piped("check", "-", stdin=WRONG)
    assert ESCAPE not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_asked_for(name: str) -> None:
    """FORCE_COLOR and CLICOLOR_FORCE colour what goes into a pipe, such as the log of a code host; 0 does not."""
    assert ESCAPE in piped("check", "-", stdin=WRONG, **{name: "1"}).stderr
    assert ESCAPE not in piped("check", "-", stdin=WRONG, **{name: "0"}).stderr


def test_data_has_no_colours() -> None:
    """What programs read is the same with colours."""
    outcome = piped("check", "-", "--format", "json", stdin=WRONG, FORCE_COLOR="1")
    assert "unknown-part" == json.loads(outcome.stdout)[0]["rule"]


def test_a_tree_is_coloured_at_a_terminal_alone(shown: Shown) -> None:
    """What `explain` shows is coloured at a terminal that wants it, and plain in a pipe."""
    asked = ("explain", "p.yaml", "cluster.gpus")
    assert f"{ESCAPE}[1mgpus{ESCAPE}[0m = {ESCAPE}[32m128 GPUs" in shown(*asked)[1]
    assert ESCAPE not in shown(*asked, TERM="dumb")[1]
    assert ESCAPE not in piped("explain", "-", "cluster.gpus", stdin=PLAN).stdout


def test_a_tree_wraps_at_the_width_of_its_terminal(shown: Shown) -> None:
    """Lines are no wider than the terminal, and say the same as in a pipe, where they are whole."""
    asked = ("explain", "p.yaml", "cluster.gpus")
    whole = piped("explain", "-", "cluster.gpus", stdin=PLAN).stdout
    assert max(map(len, whole.splitlines())) > 60
    seen = shown(*asked, columns=60, NO_COLOR="1")[1].replace("\r\n", "\n")
    lines = [line.rpartition("\x1b[K")[2] for line in seen.splitlines()]  # what progress has not erased
    assert max(map(len, lines)) <= 60
    words = [re.sub(r"[\s│├└─]+", "", text).replace("p.yaml", "-") for text in ("".join(lines), whole)]
    assert words[0].count("gpus=128GPUs") == words[1].count("gpus=128GPUs") == 1
    assert words[0].endswith(words[1][-40:])


# what a terminal would obey -----------------------------------------------------------------------------------------


def test_nothing_of_a_plan_controls_the_terminal(shown: Shown, tmp_path: Path) -> None:
    """Control characters, and those that turn the writing, come out as they are written in a title, part and name.

    ECMA-48: ESC [ and U+009B begin a control sequence, ESC ] a control string, which BEL ends in terminals.
    """
    name = f"a{ESCAPE}]0;title\x07.yaml"
    (tmp_path / name).write_text(PLAN, encoding="utf-8")
    (tmp_path / "title.yaml").write_text(f'{PLAN}title: "x\\e[31m\\u009b2J\\u202ey"\n', encoding="utf-8")
    (tmp_path / "part.yaml").write_text(PLAN.replace("qm9700", '"q\\e[2J"'), encoding="utf-8")
    (tmp_path / "raw.yaml").write_text(f"{PLAN}title: a{ESCAPE}[2Jb\n", encoding="utf-8")
    for words, arguments in (
        (r"a\x1b]0;title\x07.yaml: buildable", ("check", name)),
        (r"read a\x1b]0;title\x07.yaml", ("check", "-v", name)),
        (r'x\e[31m\u009b2J\u202ey"', ("build", "title.yaml", "-f", "json", "-o", "out")),
        (r"a\x1b]0;title\x07.yaml:3:", ("explain", name, "cluster.gpus")),
        ("a�]0;title�.yaml", ("diff", name, "p.yaml")),
        ("]0;title", ("compare", name, "p.yaml")),
        ("control character U+001B", ("check", "part.yaml")),
        ("title: a�[2Jb", ("check", "raw.yaml")),
        (r"'no\x1b[2J.yaml'", ("check", f"no{ESCAPE}[2J.yaml")),
        (r"'no\x07'", ("catalog", "no\x07")),
        ("is not in the catalogue", ("catalog", f"no{ESCAPE}[2J")),
    ):
        _, text = shown(*arguments, TERM="dumb")
        assert words in text, arguments
        assert not {ESCAPE, "\x07", "\x9b", "\u202e"} & set(text), arguments


# progress -----------------------------------------------------------------------------------------------------------


def test_progress_is_shown_at_a_terminal_and_taken_away(shown: Shown) -> None:
    """Which of several plans is worked on and what is done stands on a line that is gone at the end."""
    code, text = shown("build", "p.yaml", "q.yaml", "-f", "json", "-o", "out")
    assert 0 == code
    assert "[1/2] p.yaml: fabrics and racks" in text
    assert "[2/2] q.yaml: json" in text
    for line in text.split("\n"):
        assert "[1/2]" not in line.rpartition(f"\r{ESCAPE}[K")[2]


def test_a_line_of_progress_fits_the_terminal(shown: Shown, tmp_path: Path) -> None:
    """A line that is written over is never longer than the terminal is wide: 200 columns."""
    name = f"{'x' * 230}.yaml"
    (tmp_path / name).write_text(PLAN, encoding="utf-8")
    _, text = shown("check", name)
    drawn = [part for part in text.split(f"{ESCAPE}[K")[1:-1] if part]
    assert drawn
    assert max(len(part.rstrip("\r")) for part in drawn) < 200


@pytest.mark.parametrize("options", [["-q"], []])
def test_pipes_are_sent_no_progress(options: list[str]) -> None:
    """Into a pipe goes no progress."""
    outcome = piped("check", SMALL, "plans/llama65b.yaml", *options)
    assert "1/2" not in outcome.stderr
    assert "\r" not in outcome.stderr


# quiet and verbose --------------------------------------------------------------------------------------------------


def test_quiet_says_only_errors(tmp_path: Path) -> None:
    """A build with --quiet writes its files and says nothing, though there are warnings; errors are said."""
    outcome = piped("build", "plans/llama65b.yaml", "-q", "-f", "json", "-o", str(tmp_path))
    assert (0, "", "") == (outcome.returncode, outcome.stdout, outcome.stderr)
    assert (tmp_path / "llama65b" / "bom.json").is_file()
    wrong = piped("check", "-", "--quiet", stdin=WRONG)
    assert (1, "") == (wrong.returncode, wrong.stdout)
    assert wrong.stderr.startswith("<stdin>:5:21: error: ")


def test_quiet_leaves_data_alone() -> None:
    """What a command is asked for is printed with --quiet too."""
    assert piped("explain", "-", "cluster.gpus", "-q", stdin=PLAN).stdout.startswith("gpus = 128 GPUs")
    assert [] == json.loads(piped("check", "plans/llama65b.yaml", "-q", "--format", "json").stdout)


def test_quiet_at_a_terminal(shown: Shown) -> None:
    """With --quiet a terminal shows nothing at all."""
    assert (0, "") == shown("check", "p.yaml", "-q")


def test_verbose_says_what_is_read_and_how_long_it_takes(tmp_path: Path) -> None:
    """With --verbose every file of the user's that is read is named, and every stage with its seconds."""
    arguments = ("build", "plans/llama65b-linkx.yaml", "-v", "-f", "json,csv", "-o", str(tmp_path))
    lines = piped(*arguments).stderr.splitlines()
    size = (ROOT / "plans" / "llama65b-linkx.yaml").stat().st_size
    assert f"bomgen: read plans/llama65b-linkx.yaml, {size} bytes" in lines
    assert any(line.startswith("bomgen: read ../prices/example-2026q4.yaml, ") for line in lines)
    timed = {line.split()[1] for line in lines if line.endswith(" s")}
    assert {"plan", "sizes", "fabrics", "bill", "checks", "json", "csv"} <= timed


def test_verbose_names_parts_and_templates(tmp_path: Path) -> None:
    """Part files of the user's own and templates are files that are read."""
    (tmp_path / "parts" / "switch").mkdir(parents=True)
    switch = tmp_path / "parts" / "switch" / "own.yaml"
    switch.write_text("name: Own\nports: 64\nport_gbps: 400\ncage: osfp\n", encoding="utf-8")
    (tmp_path / "t.txt.j2").write_text("x", encoding="utf-8")
    plan = PLAN.replace("qm9700", "own") + "catalog: [parts]\ntemplates: t.txt.j2\n"
    (tmp_path / "p.yaml").write_text(plan, encoding="utf-8")
    said = piped("check", str(tmp_path / "p.yaml"), "--verbose").stderr
    assert "bomgen: read parts/switch/own.yaml, " in said
    assert "t.txt.j2, 1 bytes" in said


def test_quiet_and_verbose_contradict_each_other() -> None:
    """Both together are wrong usage."""
    assert 2 == piped("check", "-", "-q", "-v", stdin=PLAN).returncode


# pipes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "xlsx"])
def test_one_format_goes_to_standard_output(form: str, tmp_path: Path) -> None:
    """`-o -` writes the one file that is asked for, and nothing else, to standard output: the same as to a folder.

    Of a quote and a report it is the quote.
    """

    def out(place: str) -> bytes:
        code, said, _ = outcome("build", "-", "-f", form, "-o", place, stdin=PLAN, folder=tmp_path)
        assert 0 == code
        return said

    piped_out = out("-")
    assert [] == list(tmp_path.iterdir())
    out("d")
    file = min((tmp_path / "d" / "small").iterdir())
    assert file.read_bytes() == piped_out


@pytest.mark.parametrize("arguments", [["-f", "json,csv"], ["plans/h100-127.yaml", "-f", "json"], ["-f", "svg"]])
def test_several_files_do_not_go_to_standard_output(arguments: list[str]) -> None:
    """Several formats, plans or drawings in one stream are wrong usage."""
    outcome = piped("build", "plans/superpod-h100-4su.yaml", "-o", "-", *arguments)
    assert (2, "") == (outcome.returncode, outcome.stdout)


@pytest.mark.parametrize("command", [["wiring"], ["margin", "--set", "quote.cost_book=../prices/example-2026q4.yaml"]])
def test_a_dash_is_standard_output(command: list[str]) -> None:
    """`-o -` is what happens without -o."""
    plan = SMALL if command == ["wiring"] else "plans/llama65b-linkx.yaml"
    arguments = [command[0], plan, *command[1:]]
    assert piped(*arguments).stdout == piped(*arguments, "-o", "-").stdout != ""
    assert not (ROOT / "-").exists()


def test_commands_form_a_pipe() -> None:
    """A plan comes out of one program, and its bill goes into another."""
    line = f"cat plans/llama65b.yaml | {' '.join(BOMGEN)} build - -q -f json -o - | {sys.executable} -m json.tool"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "llama65b" == json.loads(done.stdout)["plan"]["name"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["wiring", SMALL, "-q"],
        ["wiring", SMALL, "-q", "-f", "parquet"],
        ["build", SMALL, "-q", "-f", "html", "-o", "-"],
        ["explain", SMALL],
        ["compare", SMALL, SMALL],
        ["diff", SMALL, SMALL],
        ["init", "--list"],
        ["completion", "zsh"],
        ["catalog", "transceiver"],
        ["schema", "plan"],
        ["--help"],
    ],
    ids=lambda words: "-".join(word.strip("-") for word in words if "/" not in word),
)
def test_a_reader_who_goes_away_is_no_error(arguments: list[str]) -> None:
    """A pipe that nobody reads any more ends the program as SIGPIPE does, with nothing on standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    with TemporaryFile() as said, open(os.devnull, encoding="utf-8") as nothing:
        streams = (nothing.fileno(), writing, said.fileno())
        code = Bomgen(arguments, environment(), ROOT, streams).wait()
        os.close(writing)
        said.seek(0)
        assert (b"", -signal.SIGPIPE) == (said.read(), code)


def test_the_shell_sees_141() -> None:
    """What a script sees of it is 141, as of other programs, and `head` has its line; no pipe holds them all."""
    line = f"{' '.join(BOMGEN)} wiring {LONG} -q | head -1; echo ${{PIPESTATUS[*]}}"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "" == done.stderr
    assert ("fabric,kind", "141 0") == (done.stdout[:11], done.stdout.splitlines()[-1])


def test_output_that_has_no_room_is_not_written() -> None:
    """A full device is exit code 3 and one line."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*BOMGEN, "catalog", "gpu"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, text=True, check=False
        )
    assert (3, "bomgen: not written: No space left on device\n") == (done.returncode, done.stderr)


# completion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    """`bomgen completion` prints the script of a shell, which asks the program for words."""
    outcome = piped("completion", shell)
    assert 0 == outcome.returncode
    assert f"{shell}_complete" in outcome.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "nowhere.yaml", ""],
        ["explain", "README.md", "clu"],
        ["check", "--set", "no.such.key"],
        ["wiring", "plans", "--fabric", ""],
        ["catalog", "../gpu", ""],
        ["build", "/nowhere/"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_completed_is_left_alone(words: list[str]) -> None:
    """Where there is nothing to propose, nothing is, and nothing is said."""
    line = "\x1f".join(("bomgen", *words))
    outcome = piped(_BOMGEN_COMPLETE="zsh_complete", BOMGEN_LINE=line)
    assert "" == outcome.stderr
    assert "" == outcome.stdout.strip()


def test_a_closed_standard_output_is_an_output_that_cannot_be_written() -> None:
    """`>&-` leaves no stream to write to: exit code 3 and one line."""
    command = f"exec >&-; {sys.executable} -m bomgen catalog"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (3, "bomgen: not written: standard output is closed\n")
