"""The command, its help and its subcommands."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from bomgen.cli.completion import listen
from bomgen.cli.ending import flush_output, run_command
from bomgen.cli.messages import colour
from bomgen.core.limits import COLLECT_AFTER, limit_memory, limit_processor_time

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
"""The commands in the order of the help, each with its line there; each is a function of a module of its name."""
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
    command: click.Command = getattr(import_module(f"bomgen.cli.{name}"), name)
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
        with flush_output():
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


def run() -> None:
    """Run the command as a program: exit code 130 for an interrupt, 3 if output cannot be written."""
    # A build or a long list makes up to a million small objects and is over in a second: collecting cycles as often as
    # Python does by itself, and once more on the way out, costs a fifth of that.
    gc.set_threshold(COLLECT_AFTER)
    # NumPy's linear algebra, which nothing here uses, would reserve memory for every processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if COMPLETE in os.environ:
        listen()
    command = next(iter(sys.argv[1:]), "")
    limit_processor_time(SECONDS_OF.get(command, SECONDS))
    limit_memory(MEMORY_OF.get(command, MEMORY))
    try:
        sys.exit(run_command(lambda: main(prog_name="bomgen", complete_var=COMPLETE, standalone_mode=False)))
    finally:
        gc.freeze()
