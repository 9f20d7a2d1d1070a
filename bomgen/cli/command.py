"""The command. Everything but click is imported by the command that needs it: help must come at once."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import click

from bomgen.cli.apply import apply
from bomgen.cli.build import build
from bomgen.cli.catalog import catalog
from bomgen.cli.check import check
from bomgen.cli.compare import compare
from bomgen.cli.completion import completion, listen
from bomgen.cli.diff import diff
from bomgen.cli.ending import flush_output, run_command
from bomgen.cli.explain import explain
from bomgen.cli.init import init
from bomgen.cli.lock import lock
from bomgen.cli.margin import margin
from bomgen.cli.messages import colour
from bomgen.cli.prices import prices
from bomgen.cli.schema import schema
from bomgen.cli.search import search
from bomgen.cli.wiring import wiring
from bomgen.cli.xray import xray

HELP_WIDTH = 100
"""Characters a line of help at most."""
COLLECT_AFTER = 1_000_000
"""New objects between two runs of the garbage collector."""


COMPLETE = "_BOMGEN_COMPLETE"
"""The variable with which a completion script asks for words."""


class _Program(click.Group):
    """The command, whose reader may go away: nothing more is written then, and nobody is to blame."""

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
      bomgen init my-cluster                           a commented plan to begin with
      bomgen build plans/llama65b.yaml                 quote and bill into dist/llama65b/
      bomgen check plans/*.yaml                        only say what is wrong
      bomgen explain plans/llama65b.yaml fabrics.compute.switches.spine
      bomgen compare plans/llama65b*.yaml              plans side by side
      bomgen search plans/search-30b.yaml              the best designs over many values
      bomgen diff main:plans/x.yaml plans/x.yaml       what changed since a git revision
      bomgen xray quote.xlsx                           what is wrong with somebody's bill
      bomgen catalog switch qm9700                     what is known of a part, with sources

    Exit codes: 0 done, 1 the plan is wrong or cannot be built, 2 wrong usage, 3 output could not be written,
    4 a threshold of diff or xray was passed, or edits conflict, 130 interrupted, 141 the reader of a pipe has gone.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled


for _command in (
    *(init, build, check, explain, compare, search, diff, xray, wiring),
    *(prices, apply, margin, lock, catalog, schema, completion),
):
    main.add_command(_command)


def run() -> None:
    """The command as a program: an interrupt is exit code 130, an output that takes nothing more is 3."""
    # A build or a long list makes up to a million small objects and is over in a second: collecting cycles as often as
    # Python does by itself, and once more on the way out, costs a fifth of that.
    gc.set_threshold(COLLECT_AFTER)
    # NumPy's linear algebra, which nothing here uses, would reserve memory for every processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if COMPLETE in os.environ:
        listen()
    try:
        sys.exit(run_command(lambda: main(prog_name="bomgen", complete_var=COMPLETE, standalone_mode=False)))
    finally:
        gc.freeze()
