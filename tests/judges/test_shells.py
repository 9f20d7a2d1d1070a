"""Completion in the shells themselves: what stands on the line after the tab key, and what is proposed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from terminal import Terminal

from bomgen.cli.command import main

CHECKOUT = Path(__file__).parents[2]
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        """bind 'set show-all-if-ambiguous on' 'set bell-style none' 'set enable-bracketed-paste off'
bind 'set completion-query-items 0' 'set page-completions off'
bind -x '"\\C-t": printf "<%s>\\n" "$READLINE_LINE"'
""",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        """unsetopt beep; LISTMAX=1000; autoload -Uz compinit; compinit -u -D
told() { print -r -- "<$BUFFER>" }; zle -N told; bindkey '^T' told
""",
    ),
}
"""How each shell starts, and what makes it print the line at Ctrl-T."""
READY = "ready-to-type"
CASES = {
    "command": ("bomgen che", "bomgen check "),
    "option": ("bomgen check --verb", "bomgen check --verbose "),
    "choice": ("bomgen check --format git", "bomgen check --format github "),
    "shell": ("bomgen completion z", "bomgen completion zsh "),
    "plan": ("bomgen check plans/llama65b-q", "bomgen check plans/llama65b-quote.yaml "),
    "folder": ("bomgen check pla", "bomgen check plans/"),
    "space": ("bomgen check my", "bomgen check my\\ plan.yaml "),
    "kind": ("bomgen catalog tran", "bomgen catalog transceiver "),
    "id": ("bomgen catalog switch qm970", "bomgen catalog switch qm9700 "),
    "topology": ("bomgen catalog topology tor", "bomgen catalog topology torus "),
    "formats": ("bomgen build -f md,ht", "bomgen build -f md,html "),
    "wiring": ("bomgen wiring plans/llama65b.yaml -f parq", "bomgen wiring plans/llama65b.yaml -f parquet "),
    "fabric": ("bomgen wiring plans/llama65b.yaml --fabric c", "bomgen wiring plans/llama65b.yaml --fabric compute "),
    "number": ("bomgen explain plans/llama65b.yaml cluster.gpu", "bomgen explain plans/llama65b.yaml cluster.gpus "),
    "path": ("bomgen explain plans/llama65b.yaml fabr", "bomgen explain plans/llama65b.yaml fabrics."),
    "key": ("bomgen check --set cluster.spare", "bomgen check --set cluster.spare_servers="),
    "keys": ("bomgen check --set quo", "bomgen check --set quote."),
    "cluster": (
        "bomgen wiring plans/training-and-serving.yaml --cluster tr",
        "bomgen wiring plans/training-and-serving.yaml --cluster training ",
    ),
    "line": ("bomgen explain plans/llama65b.yaml compute.sw", "bomgen explain plans/llama65b.yaml compute.switch."),
    "total": ("bomgen explain plans/llama65b.yaml totals.am", "bomgen explain plans/llama65b.yaml totals.amount "),
    "design": ("bomgen init own --from llama65b-h", "bomgen init own --from llama65b-h100 "),
    "side": ("bomgen diff my\\ plan.yaml plans/llama65b-q", "bomgen diff my\\ plan.yaml plans/llama65b-quote.yaml "),
    "new-value": ("bomgen diff a b --set-new cluster.gpu=h100-sx", "bomgen diff a b --set-new cluster.gpu=h100-sxm "),
    "plans": ("bomgen compare plans/a.yaml plans/a100-", "bomgen compare plans/a.yaml plans/a100-32-zh.yaml "),
    "lock": ("bomgen lock plans/a100-", "bomgen lock plans/a100-32-zh.yaml "),
    "own-key": (
        "bomgen check plans/llama65b.yaml --set fabrics.com",
        "bomgen check plans/llama65b.yaml --set fabrics.compute.",
    ),
    "value": ("bomgen check --set cluster.gpu=h100-sx", "bomgen check --set cluster.gpu=h100-sxm "),
    "written-as-one": ("bomgen check --format=git", "bomgen check --format=github "),
}


TELLING = ("command", "plan", "folder", "space", "id", "formats", "path", "key", "value", "written-as-one")
"""The cases in which shells differ; of the others it is enough that the program proposes the same to each."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the plans of the checkout and one of a name with a space, and the command in a folder of PATH."""
    folder = tmp_path_factory.mktemp("shells")
    (folder / "plans").symlink_to(CHECKOUT / "plans")
    shutil.copy(CHECKOUT / "plans" / "llama65b.yaml", folder / "my plan.yaml")
    command = folder / "bin" / "bomgen"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bomgen "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def environment(place):
    """The environment of a shell in which `bomgen` is this checkout's."""
    path = os.pathsep.join((str(place / "bin"), os.environ["PATH"]))
    return {
        "PATH": path,
        "PYTHONPATH": str(CHECKOUT),
        "HOME": str(place),
        "LC_ALL": "C.UTF-8",
        "PS1": "",
        "TERM": "dumb",
    }


@pytest.fixture(scope="module", params=list(SHELLS))
def shell(request, judge, place, environment):
    """A shell at a terminal, with the script that `bomgen completion` prints."""
    judge(request.param)
    command, setting = SHELLS[request.param]
    script = place / f"completion.{request.param}"
    script.write_bytes(
        subprocess.run(
            [place / "bin" / "bomgen", "completion", request.param], env=environment, capture_output=True, check=True
        ).stdout
    )
    (place / f"setting.{request.param}").write_text(f"{setting}PS1=\n. {script}\n", encoding="utf-8")
    terminal = Terminal(command, environment, place)
    terminal.type(f". {place}/setting.{request.param}; echo ready-''to-type\n")
    terminal.until(READY)
    yield request.param, terminal
    terminal.close()


def completed(shell, typed):
    """What is shown after the tab key, and the line as it is then; the line is taken back."""
    shell.type(f"{typed}\t\x14")
    shown = shell.until("<bomgen")
    line = "bomgen" + shell.until(">")
    shell.type("\x05\x15")
    return shown, line


@pytest.mark.parametrize("case", sorted(CASES.keys() - set(TELLING)))
def test_the_program_proposes(case, place, monkeypatch):
    """The one thing that can stand there is proposed, and goes on or is over as the line says."""
    monkeypatch.chdir(place)
    typed, line = CASES[case]
    *words, begun = shlex.split(typed)
    (found,) = ShellComplete(main, {}, "bomgen", "_BOMGEN_COMPLETE").get_completions(words[1:], begun)
    assert shlex.split(line)[-1] == found.value
    assert (found.type == "open" or found.value.endswith("/")) == (not line.endswith(" "))


@pytest.mark.parametrize("case", TELLING)
def test_the_tab_key_completes(shell, case):
    """The one thing that can stand there is written, with a space where the word is over."""
    typed, line = CASES[case]
    assert completed(shell[1], typed)[1] == line


def test_several_are_listed(shell):
    """What can stand there is listed when it is more than one thing."""
    shown, line = completed(shell[1], "bomgen catalog switch sn56")
    assert line.startswith("bomgen catalog switch sn56")
    assert {"sn5600", "sn5610"} <= set(shown.split())


def test_nothing_that_is_there_runs(shell, place):
    """A plan of a hostile name is completed as a name."""
    (place / "$(touch ran).yaml").write_text("bomgen: 1\n", encoding="utf-8")
    completed(shell[1], "bomgen check \\$")
    (place / "$(touch ran).yaml").unlink()
    assert not (place / "ran").exists()


@pytest.fixture(scope="module")
def fish(judge, place, environment):
    """What fish proposes for a line: words with what each is."""
    program = judge("fish")
    script = place / "completion.fish"
    script.write_bytes(
        subprocess.run(
            [place / "bin" / "bomgen", "completion", "fish"], env=environment, capture_output=True, check=True
        ).stdout
    )

    def propose(*lines):
        asked = "".join(f"echo '<'; complete -C {line!r}; " for line in lines)
        done = subprocess.run(
            [program, "--no-config", "-c", f"source {script}; {asked}"],
            env=environment,
            cwd=place,
            capture_output=True,
            text=True,
            check=True,
        )
        return [
            dict((*proposal.split("\t"), "")[:2] for proposal in block.split("\n") if proposal)
            for block in done.stdout.split("<\n")[1:]
        ]

    return propose


def test_fish_proposes(fish):
    """The one thing that can stand there is proposed by fish, which adds the space itself."""
    for case, found in zip(TELLING, fish(*(CASES[case][0] for case in TELLING)), strict=True):
        word = CASES[case][1].rstrip().replace("\\ ", " ").rpartition(" ")[2] if case != "space" else "my plan.yaml"
        assert [word] == [proposal.replace("\\ ", " ") for proposal in found], case


def test_fish_shows_what_a_proposal_is(fish):
    """Commands and formats are proposed with what they are."""
    (commands, formats) = fish("bomgen che", "bomgen wiring plans/llama65b.yaml -f parq")
    assert "can be built" in commands["check"]
    assert formats["parquet"]
