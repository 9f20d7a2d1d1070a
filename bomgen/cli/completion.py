"""`bomgen completion`: the script for completion in a shell, and the program's answers to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from bomgen.cli.messages import print_text
from bomgen.core.resources import text

SHELLS = ("bash", "zsh", "fish")
LINE, BREAKS = "BOMGEN_LINE", "BOMGEN_BREAKS"
"""Environment variables of the scripts: the line up to the cursor, and where bash breaks words."""
BETWEEN = "\x1f"
"""Separator of words in the line from a shell."""
KINDS = {"plain": "word", "file": "files", "dir": "folders"}
"""Names in the scripts for kinds of proposals that differ from click's."""


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
    """Return the completion script of a shell."""
    return text(Path(__file__).parent / "shells" / f"bomgen.{shell}")


class _Shell(ShellComplete):
    """A shell that receives a line per proposal: kind, word and description, separated by tabs."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it, without shell quoting."""
        words = [_unquoted(word) for word in self.words(os.environ[LINE])][1:]
        return words[:-1], words[-1] if words else ""

    def words(self, line: str) -> list[str]:
        """Return the words of a line from the shell; the last one may be empty."""
        return line.split(BETWEEN)

    def format_completion(self, item: CompletionItem[str]) -> str:
        help = " ".join((item.help or "").split())
        return "\t".join((KINDS.get(item.type, item.type), self.word(str(item.value)), help))

    def word(self, value: str) -> str:
        """Return the whole word for a value; click omits the option after `--option=`."""
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
        """Return the part of a word that bash replaces: after its last `=` or `:`."""
        whole = super().word(value)
        _, typed = self.get_completion_args()
        breaks = [sign for sign in "=:" if sign in os.environ.get(BREAKS, "")]
        kept = max((typed.rfind(sign) + 1 for sign in breaks), default=0)
        return whole[kept:] if whole.startswith(typed[:kept]) else whole


def _unquoted(word: str) -> str:
    """Return a word without shell quotes and escapes."""
    return " ".join(split_arg_string(word))


def listen() -> None:
    """Register the shells, so that the program answers their scripts."""
    shells: tuple[type[Any], ...] = (_Bash, _Zsh, _Fish)
    for shell in shells:
        add_completion_class(shell)
