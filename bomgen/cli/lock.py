"""`bomgen lock`: pinned prices and rates, effective while the lock lies next to its plan."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.cli.messages import NOT_WRITTEN, WRONG_PLAN, complain, say
from bomgen.cli.options import plans_argument, root_option, talk_options
from bomgen.cli.plans import open_plans, watched
from bomgen.cli.problems import show
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import OutputError, write_one
from bomgen.workflow.pipeline import lock_result
from bomgen.workflow.plan_files import STANDARD_INPUT, lock_name


@click.command()
@plans_argument
@root_option
@talk_options
def lock(plans: tuple[str, ...], root: str | None) -> None:
    """Pin the inputs of each quote: write PLAN.lock with the current prices, exchange rates and catalogue records.

    While the lock exists, `bomgen build` takes prices and rates from it instead of the price books, and `bomgen check`
    reports when it is stale. Run the command again to renew it; remove the file to unlock. Commit it with the plan.
    """
    if STANDARD_INPUT in plans:
        raise click.UsageError("a plan from standard input cannot be locked; name its file")
    files, code = open_plans(plans, root)
    named: dict[str, str] = {}
    for plan in (file.name for file in files):
        other = named.setdefault(lock_name(plan), plan)
        if other != plan:
            raise click.UsageError(f"{other} and {plan} have one lock, {lock_name(plan)}; give one another name")
    for number, file in enumerate(files, start=1):
        try:
            with watched(file.name, number, len(files)):
                text, report = lock_result(file)
        except PlanErrors as errors:
            show(errors.problems, file)
            code = max(code, WRONG_PLAN)
            continue
        show(report.problems, file)
        try:
            write_one(text.encode(), Path(lock_name(file.name)))
        except OutputError as error:
            complain(f"bomgen: not written: {error}")
            code = max(code, NOT_WRITTEN)
            continue
        say(lock_name(file.name))
    sys.exit(code)
