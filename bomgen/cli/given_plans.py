"""Plans and results that are named by a path, by `REV:PATH` as they were at a git revision, or come from a pipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from bomgen.cli.messages import complain, print_problems
from bomgen.core.safety import read_sent, refuse_git_files

if TYPE_CHECKING:
    from bomgen.core.diagnostics import Problem
    from bomgen.workflow.plan_files import PlanFile

STANDARD_INPUT = "-"


class GivenPlan(NamedTuple):
    """A plan, or a result, as the user named it."""

    name: str
    content: bytes
    file: Callable[[], PlanFile]
    """As a plan: results are read without what plans need."""
    revision: tuple[str, str] | None
    """Of a revision: its name, and the folder of the plan from the root of the checkout."""


def open_given(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan | None:
    """The file of a path or of REV:PATH; what keeps it from being read is said, and None returned."""
    try:
        is_file = name == STANDARD_INPUT or Path(name).exists()
    except (OSError, ValueError):
        is_file = False
    try:
        if not is_file and (found := _open_revision(name, settings, root, folder)):
            return found
        if name != STANDARD_INPUT:
            return GivenPlan(name, _read(name), lambda: _open(name, root), None)
        file = _open(name, root)
        return GivenPlan(file.name, file.content, lambda: file, None)
    except OSError as error:
        complain(f"Error: cannot read '{name}': {error.strerror}")
    except ValueError as error:
        complain(f"Error: cannot read '{name}': {error}")
    return None


def _read(name: str) -> bytes:
    """The bytes of a file. Raises OSError where it cannot be read, and for a bill that is too large."""
    from bomgen.xray.files import is_bill

    if is_bill(name):
        return read_sent(Path(name))
    refuse_git_files(Path(name))
    return Path(name).read_bytes()


def _open(name: str, root: str | None) -> PlanFile:
    """The plan of a name. Raises OSError when it cannot be read."""
    from bomgen.workflow.plan_files import open_plan

    return open_plan(name, root)


def _open_revision(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan | None:
    """The file that `REV:PATH` names; None when that is not what the name is. Raises ValueError with what is wrong."""
    if ":" not in name:
        return None
    from bomgen.workflow import git_revisions

    found = git_revisions.split_revision(name)
    if found is None:
        return None
    try:
        revision = git_revisions.open_revision(found[0], Path.cwd())
        path = git_revisions.path_in(revision, found[1])
        file = git_revisions.plan_file(revision, path, name, folder, settings, root)
        return GivenPlan(name, file.content, lambda: file, (found[0], str(PurePosixPath(path).parent)))
    except git_revisions.NoRevision as error:
        raise ValueError(str(error)) from None


def show_problems(problems: Sequence[Problem], given: GivenPlan) -> None:
    """Print problems, those of a revision's files under the names that they have there."""
    from posixpath import join, normpath

    def text_of(name: str) -> str:
        from bomgen.workflow import inputs

        return "" if name == given.name and given.name.endswith(".json") else inputs.text_of(given.file(), name)

    names = dict[str, str]()
    moved = []
    for problem in problems:
        file = problem.mark.file
        if given.revision and file != given.name and not file.startswith(("<", "-", f"{given.revision[0]}:")):
            shown = f"{given.revision[0]}:{normpath(join(given.revision[1], file))}"
            names[shown] = file
            problem = problem._replace(mark=problem.mark._replace(file=shown))
        moved.append(problem)
    print_problems(moved, lambda name: text_of(names.get(name, name)))
