"""The command, its help and its subcommands, and its answers to the completion scripts of shells."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from bomgen.cli.ending import ends_on_errors, flush_output, run_command
from bomgen.cli.messages import colour, print_text
from bomgen.core.processes import COLLECT_AFTER, limit_memory, limit_processor_time
from bomgen.core.resources import text

COMMANDS = {
    "init": "Write a commented plan that builds as it is.",
    "serve": "Open a page to write plans and see their quotes.",
    "build": "Write quotes, reports and bills of materials.",
    "check": "Validate plans and report whether they can be built.",
    "explain": "Show how a number was calculated.",
    "simulate": "Simulate a served workload at its size.",
    "compare": "Show plans side by side.",
    "search": "Find the best designs over many values.",
    "diff": "Show what changed between two plans, results or revisions.",
    "xray": "Check a vendor's bill and find the designs that explain it.",
    "wiring": "List every cable, port to port.",
    "prices": "Read a vendor's price list, or list unpriced parts.",
    "apply": "Apply an edited quote.xlsx to its plan.",
    "margin": "Show the cost and margin of every line.",
    "lock": "Pin prices, rates and catalogue data in a lock file.",
    "catalog": "Show the parts of the catalogue and their sources.",
    "schema": "Print a JSON Schema.",
    "completion": "Print a shell completion script.",
}
"""The commands in the order of the help, each with its line there."""
MODULES = {
    "completion": "command",
    "diff": "compare",
    "lock": "check",
    "margin": "prices",
    "schema": "catalog",
    "simulate": "explain",
    **dict.fromkeys(("apply", "xray"), "received"),
}
"""The modules of commands that share one; the others are functions of a module of their name."""
HELP_WIDTH = 100
"""Maximum width of a help line."""
SECONDS = 60
"""Processor time of a command, for each plan: three times what the steps of work take on a processor of 2023."""
SECONDS_OF = {"search": 3600, "serve": None}
"""Processor time of a search, per process, which shows what it has found; the calls of a page have their own."""
MEMORY = 1 << 30
"""Memory of a command [bytes]."""
MEMORY_OF = {"search": 2 << 30, "wiring": 2 << 30}
"""Memory of a search, per process, for two tables and a front, and of the cables of a million GPUs [bytes]."""
COMPLETE = "_BOMGEN_COMPLETE"
"""Environment variable with which a completion script requests proposals."""


def subcommand(name: str) -> click.Command:
    """Import and return one of COMMANDS."""
    command: click.Command = getattr(import_module(f"bomgen.cli.{MODULES.get(name, name)}"), name)
    return command


class _Program(click.Group):
    """The command, which imports the module of a subcommand when that is called: help must come at once.

    When the reader of a pipe exits, writing stops without an error message.
    """

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return subcommand(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        names = (name for name in COMMANDS if name.startswith(incomplete))
        commands = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with flush_output():
            return super().make_context(info_name, args, parent, **{"color": colour(), **extra})

    def invoke(self, ctx: click.Context) -> Any:
        with flush_output(), ends_on_errors():
            return super().invoke(ctx)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH})
@click.version_option(package_name="bomgen", prog_name="bomgen")
def main() -> None:
    """Bills of materials for AI clusters from a short YAML plan.

    A plan says which model, how many tokens, how many days, which GPU, which network. bomgen works out GPUs, servers,
    NICs, switches, modules, cables, racks, power and price, and writes quotes with the reason for every number.

    \b
      bomgen init my-cluster                           write a commented plan
      bomgen build plans/llama65b.yaml                 quote and bill into dist/llama65b/
      bomgen check plans/*.yaml                        report problems, write nothing
      bomgen explain plans/llama65b.yaml fabrics.compute.switches.spine
      bomgen compare plans/llama65b*.yaml              plans side by side
      bomgen search plans/search-30b.yaml              the best designs over many values
      bomgen diff main:plans/x.yaml plans/x.yaml       what changed since a git revision
      bomgen xray quote.xlsx                           check a vendor's bill
      bomgen catalog switch qm9700                     the facts about a part, with sources

    Exit codes: 0 done, 1 the plan is wrong or cannot be built, 2 wrong usage, 3 output could not be written,
    4 a threshold of diff or xray was passed, or edits conflict, 130 interrupted, 141 the reader of a pipe has gone.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled


# completion ---------------------------------------------------------------------------------------------------------
# The scripts for completion in a shell, and the answers to them.

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
    print_text(text(Path(__file__).parent / "shells" / f"bomgen.{shell}"))


class _Shell(ShellComplete):
    """A shell that receives a line per proposal: kind, word and description, separated by tabs."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it, without shell quoting."""
        words = [" ".join(split_arg_string(word)) for word in self.words(os.environ[LINE])][1:]
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


class _Bash(_Shell):
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


def run() -> None:
    """Run the command as a program: exit code 130 for an interrupt, 3 if output cannot be written."""
    # A build or a long list makes up to a million small objects and is over in a second: collecting cycles as often as
    # Python does by itself, and once more on the way out, costs a fifth of that.
    gc.set_threshold(COLLECT_AFTER)
    # NumPy's linear algebra, which nothing here uses, would reserve memory for every processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if COMPLETE in os.environ:
        for shell in SHELLS:
            add_completion_class(_Bash if shell == "bash" else _Shell, shell)
    command = next(iter(sys.argv[1:]), "")
    limit_processor_time(SECONDS_OF.get(command, SECONDS))
    limit_memory(MEMORY_OF.get(command, MEMORY))
    try:
        sys.exit(run_command(lambda: main(prog_name="bomgen", complete_var=COMPLETE, standalone_mode=False)))
    finally:
        gc.freeze()
