"""`bomgen completion`: the script with which a shell completes what is typed, and what it asks the program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from bomgen.cli.messages import print_text

SHELLS = ("bash", "zsh", "fish")
LINE, BREAKS = "BOMGEN_LINE", "BOMGEN_BREAKS"
"""What the scripts hand over: what was typed up to the cursor, and where bash begins a new word."""
BETWEEN = "\x1f"
"""Stands between words where a shell hands them over as it has read them."""
KINDS = {"plain": "word", "file": "files", "dir": "folders"}
"""What the scripts call a kind of proposal, where click's name is another."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script with which a SHELL completes commands, options, plans, parts and paths of numbers.

    \b
      bash: bomgen completion bash > ~/.local/share/bash-completion/completions/bomgen
      zsh:  bomgen completion zsh > a folder of $fpath, as _bomgen
      fish: bomgen completion fish > ~/.config/fish/completions/bomgen.fish
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    print_text(script(shell))


def script(shell: str) -> str:
    """The completion script of a shell."""
    from bomgen.core.resources import text

    return text(Path(__file__).parent / "shells" / f"bomgen.{shell}")


class _Shell(ShellComplete):
    """A shell that is answered with a line a proposal: its kind, the word, and what it is, with tabs between."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and that one, without the quotes of the shell."""
        words = [_unquoted(word) for word in self.words(os.environ[LINE])][1:]
        return words[:-1], words[-1] if words else ""

    def words(self, line: str) -> list[str]:
        """The words of a line as the shell hands it over, the last one perhaps empty."""
        return line.split(BETWEEN)

    def format_completion(self, item: CompletionItem[str]) -> str:
        help = " ".join((item.help or "").split())
        return "\t".join((KINDS.get(item.type, item.type), self.word(str(item.value)), help))

    def word(self, value: str) -> str:
        """The whole word for a value: after `--option=` click leaves the option out."""
        _, typed = self.get_completion_args()
        option, equals, _ = typed.partition("=")
        return f"{option}={value}" if equals and option.startswith("-") and not value.startswith(option) else value


class _Zsh(_Shell):
    name = "zsh"


class _Fish(_Shell):
    name = "fish"


class _Bash(_Shell):
    name = "bash"

    def words(self, line: str) -> list[str]:
        words = split_arg_string(line)
        return words if line and not line[-1].isspace() else [*words, ""]

    def word(self, value: str) -> str:
        """What bash replaces of a word: what follows its last `=` or `:`."""
        whole = super().word(value)
        _, typed = self.get_completion_args()
        breaks = [sign for sign in "=:" if sign in os.environ.get(BREAKS, "")]
        kept = max((typed.rfind(sign) + 1 for sign in breaks), default=0)
        return whole[kept:] if whole.startswith(typed[:kept]) else whole


def _unquoted(word: str) -> str:
    """A word without the quotes and backslashes of the shell."""
    return " ".join(split_arg_string(word))


def listen() -> None:
    """Have the program answer the scripts."""
    shells: tuple[type[Any], ...] = (_Bash, _Zsh, _Fish)
    for shell in shells:
        add_completion_class(shell)
