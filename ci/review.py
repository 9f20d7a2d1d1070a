"""Reviews the plans that a pull or merge request changes: checks them, says what changed in one comment, builds quotes.

A plan is changed, too, by a file that it reads: a plan that it extends, a price book, a part. What is read are the
tracked files of the reviewed revision, as git stores them, and no links, so that a request cannot show what else the
machine has. All results go into a new folder; the comment is posted from there by ci/post.py, which has the token.

Run by action.yml on GitHub and by ci/gitlab.yml on GitLab, as `python -I ci/review.py` with the Python that bomgen is
installed for. The environment has what these hosts set, and

    BOMGEN_PLANS         patterns of plan files, one a line (default: plans/*.yaml, plans/*.yml)
    BOMGEN_BASE          the revision to compare with (default: where the request branched off)
    BOMGEN_FORMATS       formats of the quotes (default: md,html,xlsx,json,csv)
    BOMGEN_OUTPUT        a folder that is not there yet, for quotes/ and comment.json (default: one for temporary files)
    BOMGEN_MAX_INCREASE  fail when a total, or the sum of all, grows by more, such as 5%; empty: never

Exit codes: 0 done, 1 a plan is wrong, 2 this was called wrongly, 4 the threshold was passed or cannot be judged.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple

from bomgen.core.jobs import PIPE, bare_environment, start_python
from bomgen.documents.diff.data import Limit, exceeds, limit
from bomgen.workflow.inputs import name_of
from bomgen.workflow.plan_files import (
    LINK,
    MAX_BYTES,
    GitFailed,
    NoRevision,
    Revision,
    ask_git,
    files_read,
    open_plan,
    open_revision,
    read_contents,
)

MARKER = "<!-- bomgen -->"
"""The first line of the comment, which browsers do not show: by it the comment is found again."""
PATTERNS = "plans/*.yaml\nplans/*.yml"
FORMATS = "md,html,xlsx,json,csv"
COMMENT, QUOTES = "comment.json", "quotes"
"""What is written into the folder of the results."""
TOKEN = "BOMGEN_TOKEN"  # noqa: S105 - the name of a variable
KEPT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP"),
    *("XDG_CACHE_HOME", "FONTCONFIG_FILE", "FONTCONFIG_PATH"),
)
"""Variables that bomgen is given; among the others there may be secrets."""
TOGETHER = 1 << 25
"""Bytes of files that are laid out at a time."""
LONGEST = {"github": 65_000, "gitlab": 900_000}
"""Bytes of a comment: GitHub takes 65 536 characters, GitLab a million."""
WRONG, MISUSED, PASSED = 1, 2, 4
CUT = "\n\n*The rest is too long for a comment; the quotes are attached to the run.*\n"
NAMED = 2
"""Parts that are named of those without a price."""
UNSAFE = re.compile(r'[^ -~\x80-\U0010ffff]|[%"\\:<>|*?]')
"""Characters that a path in an artifact of GitHub may not have, and the percent sign that encodes them."""
FENCE, FOLD = "```", ("<details>", "</details>")


class Misused(Exception):
    """A setting that cannot be used; the message says what would be right."""


class Changed(NamedTuple):
    """A plan that the request changes: its path, and the path that it had, None for a new one."""

    path: str
    before: str | None
    inputs: tuple[str, ...] = ()
    """Files that it reads and that were changed; empty: the plan itself was."""


class Total(NamedTuple):
    """What a plan comes to, and how many pieces of each part have no price."""

    currency: str
    amount: Decimal
    unpriced: Counter[str]


class Finding(NamedTuple):
    """What is said of a plan: in a few words and as Markdown, the exit code that it asks for, and its totals.

    A new plan has no total before, a removed one none after, and one that cannot be built none at all.
    """

    path: str
    words: str
    text: str
    code: int
    before: Total | None = None
    after: Total | None = None


class Snapshots(NamedTuple):
    """The files of both revisions in folders of their own."""

    folder: Path
    base: str
    head: str
    """The names of the folders, which are short hashes."""
    links: frozenset[str]
    """Links of the reviewed revision, which are not followed."""


# what changed -------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """Return what git prints. Raises GitFailed, and NoRevision without git."""
    return ask_git(Path.cwd(), *arguments).decode("utf-8", "surrogateescape")


def base_revision() -> str:
    """Return the revision that the request is compared with: where it branched off. Raises Misused without any."""
    given = os.environ.get("BOMGEN_BASE") or os.environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
    if not given:
        raise Misused("no revision to compare with; set BOMGEN_BASE")
    return git("merge-base", "--", given, "HEAD").strip()


def changes(base: str, wanted: list[str]) -> tuple[list[Changed], list[str]]:
    """Return the plans that were changed since a revision or read a file that was, and those that are gone."""
    words = iter(git("diff", "--name-status", "-z", "--find-renames", base, "HEAD", "--", *wanted).split("\0"))
    found, gone = [], []
    for status in words:
        if not status:
            break
        path = next(words)
        if status[0] == "D":
            gone.append(path)
        elif status[0] in "RC":
            found.append(Changed(next(words), path))
        else:
            found.append(Changed(path, None if status[0] == "A" else path))
    return [*found, *_with_changed_inputs(base, wanted, {each.path for each in found})], gone


def _with_changed_inputs(base: str, wanted: list[str], known: set[str]) -> Iterator[Changed]:
    """The other plans that read a changed file, as they are now or as they were before."""
    changed = set(git("diff", "--name-only", "-z", "--no-renames", base, "HEAD").split("\0")) - {""}
    plans = all_plans(wanted) - known if changed - known else set()
    revisions = [open_revision(name, Path.cwd()) for name in (base, "HEAD")] if plans else []
    for path in sorted(plans):
        read = [files_read(revision, path) for revision in revisions if path in revision.files]
        if inputs := changed & set().union(*read):
            yield Changed(path, path, tuple(sorted(inputs)))


def all_plans(wanted: list[str]) -> set[str]:
    """Return the plans of the reviewed revision."""
    return set(git("ls-files", "-z", "--with-tree=HEAD", "--", *wanted).split("\0")) - {""}


@contextmanager
def snapshots(base: str) -> Iterator[Snapshots]:
    """The files of both revisions, each in a folder that is called by its short hash.

    They are tracked files alone: without links there is nothing else that a plan could read.
    """
    names = [git("rev-parse", "--short", revision).strip() for revision in (base, "HEAD")]
    with TemporaryDirectory(prefix="bomgen-") as folder:
        place = Path(folder).resolve()
        revisions = {name: open_revision(name, Path.cwd()) for name in names}
        for name, revision in revisions.items():
            _lay_out(revision, place / name)
        files = revisions[names[-1]].files
        links = frozenset(path for path, entry in files.items() if entry.mode == LINK)
        yield Snapshots(place, names[0], names[-1], links)


def _lay_out(revision: Revision, folder: Path) -> None:
    """Lay out the files of a revision, those that are no links and no larger than bomgen reads."""
    folder.mkdir()
    sizes = {path: each.size for path, each in revision.files.items() if each.mode != LINK and each.size <= MAX_BYTES}
    batch, size = list[str](), 0
    for path in (*sizes, None):
        if path is None or size + sizes[path] > TOGETHER:
            for name, content in read_contents(revision, batch):
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            batch, size = [], 0
        if path is not None:
            batch.append(path)
            size += sizes[path]
    (folder / ".git").touch()  # empty: by it bomgen knows where the folder tree of a plan ends


# what bomgen says ---------------------------------------------------------------------------------------------------


class Ended(NamedTuple):
    """The exit code of bomgen and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def bomgen(*arguments: str, folder: Path) -> Ended:
    """Run a command of bomgen in a folder, without colours and without what else is in the environment."""
    environment = bare_environment(*KEPT) | {"NO_COLOR": "1"}
    child = start_python(
        "bomgen.cli.command", "run", arguments, stderr=PIPE, folder=str(folder), environment=environment
    )
    out, errors = (written.decode("utf-8", "replace") for written in child.communicate())
    return Ended(child.returncode, out, errors)


def plans_by_name(plans: set[str], folder: Path) -> dict[str, list[str]]:
    """Return the paths of the plans of each name: two of one name would overwrite each other."""
    found = dict[str, list[str]]()
    for path in sorted(plans):
        with suppress(OSError):  # a link, or larger than bomgen reads
            if name := name_of(open_plan(str(folder / path), None)):
                found.setdefault(name, []).append(path)
    return found


def review(changed: Changed, both: Snapshots, output: Path, namesakes: dict[str, list[str]]) -> Finding:
    """What changed in a plan; of a new one, or one of another kind, the result on a few lines."""
    path = changed.path
    if path in both.links:
        return Finding(path, "a link", "A plan that is reviewed is a file, and no link to one.", WRONG)
    for name, paths in namesakes.items():
        if path in paths and len(paths) > 1:
            text = f"{' and '.join(map(code, paths))} have the same name, {code(name)}; rename one of them."
            return Finding(path, "the name of another plan", text, WRONG)
    head = both.folder / both.head
    built = bomgen("build", named(path), "-f", setting("BOMGEN_FORMATS", FORMATS), "-o", str(output), folder=head)
    if built.returncode:
        followed = [code(name) for name in sorted(both.links) if name.rpartition("/")[2] in built.stderr]
        note = f"\n\nLinks are not followed: {', '.join(followed)}." if followed else ""
        return Finding(path, "cannot be built", f"{block(built.stderr)}{note}", WRONG)
    summary = "\n".join(line for line in built.stdout.splitlines() if not line.startswith(f"  {output}"))
    after = total(path, head)
    if changed.before is None:
        return Finding(path, "a new plan", block(summary), 0, after=after)
    before = total(changed.before, both.folder / both.base)
    why = f"Changed: {', '.join(map(code, changed.inputs))}.\n\n" if changed.inputs else ""
    threshold = os.environ.get("BOMGEN_MAX_INCREASE")
    options = ["--max-increase", threshold] if threshold else []
    sides = (f"{both.base}/{changed.before}", f"{both.head}/{path}")
    compared = bomgen("diff", *sides, "-f", "md", *options, folder=both.folder)
    if compared.returncode not in (0, PASSED):
        judged = " **The threshold cannot be judged.**" if threshold else ""
        text = f"{block(summary)}\n\nNot compared.{judged}\n\n{block(compared.stderr)}"
        return Finding(path, "not compared", text, PASSED if threshold else 0, before, after)
    words = "threshold passed" if compared.returncode else "changed inputs" if changed.inputs else "changed"
    warned = f"**The threshold was passed.**\n\n{block(compared.stderr)}\n\n" if compared.returncode else ""
    text = f"{why}{warned}{compared.stdout.strip()}"
    return Finding(path, words, text, compared.returncode, before, after)


def attached_at(path: str) -> str:
    """Return the folder with the quotes of a plan: its path, encoded for an artifact."""
    return UNSAFE.sub(lambda sign: f"%{ord(sign[0]):02X}", path)


def with_files(finding: Finding, quotes: Path) -> Finding:
    """Return a finding with a table of the attached files of its plan, with total and digest."""
    files = sorted(path for path in (quotes / attached_at(finding.path)).rglob("*") if path.is_file())
    comes_to = amounts(None, finding.after)[1]
    rows = [
        row(cell(file.relative_to(quotes).as_posix()), comes_to, cell(sha256(file.read_bytes()).hexdigest()))
        for file in files
    ]
    table = ["| attached file | total | SHA-256 |", "|---|---|---|", *rows]
    return finding._replace(text="\n\n".join((finding.text, "\n".join(table)))) if rows else finding


def total(path: str, folder: Path) -> Total | None:
    """Return what a plan comes to; None for one that cannot be built."""
    with TemporaryDirectory(prefix="bomgen-") as results:
        built = bomgen("build", named(path), "-f", "json", "-o", results, folder=folder)
        found = sorted(Path(results).rglob("bom.json"))
        if built.returncode or not found:
            return None
        bill = json.loads(found[0].read_text("utf-8"))
    unpriced = Counter[str]()
    for line in bill["lines"]:
        if line["amount"] is None and not line["required_by"]:
            unpriced[line["part"] or line["description"]] += line["quantity"] + line["spare"]
    return Total(bill["totals"]["currency"], Decimal(str(bill["totals"]["amount"])), unpriced)


def judge_sums(findings: list[Finding], most: Limit | None, others: set[str], both: Snapshots) -> Iterator[str]:
    """Yield why the sum over all plans passes the threshold, currency by currency: a plan may have been renamed.

    What plans come to that were added or changed is compared with what those came to that were changed or removed.
    Where plans were only added, a share is one of `others`, the plans that did not change; the first plans of a
    repository are compared with nothing.
    """
    replaced = any(each.before for each in findings)
    if most is None or (replaced and len(findings) == 1):
        return
    if replaced:
        missing = sum((each.after.unpriced for each in findings if each.after), Counter[str]())
        missing -= sum((each.before.unpriced for each in findings if each.before), Counter[str]())
        if missing:
            parts = ", ".join(sorted(missing)[:NAMED]) + (" and others" if len(missing) > NAMED else "")
            yield f"the increase cannot be judged: there is more without a price ({parts})"
    elif findings and others:
        same = ((path, total(path, both.folder / both.head)) for path in sorted(others - both.links))
        findings = [*findings, *(Finding(path, "", "", 0, each, each) for path, each in same)]
    else:
        return
    for currency, before, after in sums(findings):
        if reason := exceeds(before, after, currency, most):
            yield reason


def check(found: list[Changed], annotated: bool, head: Path) -> int:
    """Check plans; on GitHub each problem is an annotation, which bomgen itself writes safely.

    What is no problem of a plan is said as well; a check that a signal ended, whose code is below 0, has failed.
    """
    form = ("--format", "github") if annotated else ()
    outcome = bomgen("check", *form, *(named(changed.path) for changed in found), folder=head)
    if outcome.stderr:
        with without_commands(annotated):
            print(outcome.stderr.rstrip("\n"))
    sys.stdout.write(outcome.stdout)
    return outcome.returncode if outcome.returncode >= 0 else WRONG


def named(path: str) -> str:
    """A path that no command takes for an option or for standard input."""
    return f"./{path}" if path.startswith("-") else path


# Markdown -----------------------------------------------------------------------------------------------------------


def code(text: str) -> str:
    """A text as one span of code, whatever signs are in it."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in text)
    ticks = "`" * (longest(shown) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"`{shown}`"


def block(text: str) -> str:
    """A text as a block of code."""
    shown = "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text.strip("\n"))
    ticks = "`" * max(len(FENCE), longest(shown) + 1)
    return f"{ticks}text\n{shown}\n{ticks}"


def longest(text: str) -> int:
    """The most backticks in a row."""
    return max((len(run) for run in "".join(sign if sign == "`" else " " for sign in text).split()), default=0)


class Open(NamedTuple):
    """What is open at the end of a line: the backticks of a block of code, and how many folds."""

    fence: str = ""
    folds: int = 0

    def after(self, line: str) -> Open:
        """What is open at the end of the next line."""
        if self.fence:
            return Open("" if line == self.fence else self.fence, self.folds)
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if len(ticks) >= len(FENCE):
            return Open(ticks, self.folds)
        return Open("", self.folds + line.count(FOLD[0]) - line.count(FOLD[1]))

    def closing(self) -> list[str]:
        """The lines that close it."""
        return ([self.fence] if self.fence else []) + [FOLD[1]] * max(self.folds, 0)


def cut(text: str, most: int) -> str:
    """A text of at most so many bytes, at the end of a line, with its blocks of code and folds closed."""
    if len(text.encode()) <= most:
        return text
    room, size, kept, still = most - len(CUT.encode()), 0, list[str](), Open()
    for line in text.splitlines():
        following, separated = still.after(line), len(line.encode()) + bool(kept)
        if size + separated + sum(1 + len(each.encode()) for each in following.closing()) > room:
            break
        kept.append(line)
        size, still = size + separated, following
    return "\n".join([*kept, *still.closing()]) + CUT


def comment(findings: list[Finding], passed: list[str], both: Snapshots) -> str:
    """Return the comment: a table of the plans, what the sums pass, and what is said of each plan, folded."""
    if not findings:
        return f"{MARKER}\n\nNo plan is changed, and no file that one reads.\n"
    rows = [row(cell(each.path), each.words, *amounts(each.before, each.after)) for each in findings]
    for currency, before, after in sums(findings) if len(findings) > 1 else ():
        sides = (Total(currency, amount, Counter()) for amount in (before, after))
        rows.append(row("**all plans**", "", *amounts(*sides)))
    table = ["| plan | | before | after | change |", "|---|---|---|---|---|", *rows]
    warned = [f"**The threshold was passed by the sum over all plans.**\n\n{block(text)}" for text in passed]
    folds = [
        f"{FOLD[0]}\n<summary>{shown(each.path)}</summary>\n\n{each.text}\n\n{FOLD[1]}"
        for each in findings
        if each.text
    ]
    return "\n\n".join((MARKER, f"`{both.base}` to `{both.head}`", "\n".join(table), *warned, *folds)) + "\n"


def sums(findings: list[Finding]) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Yield each currency with the sums of all plans in it, before and after."""
    sides = [[each.before for each in findings if each.before], [each.after for each in findings if each.after]]
    for currency in dict.fromkeys(total.currency for side in sides for total in side):
        before, after = (
            sum((total.amount for total in side if total.currency == currency), Decimal()) for side in sides
        )
        yield currency, before, after


def amounts(before: Total | None, after: Total | None) -> tuple[str, str, str]:
    """Return what a plan came to, comes to, and the difference."""
    was, becomes = (
        "" if total is None else f"{total.amount:,} {total.currency}" if total.amount else "no price"
        for total in (before, after)
    )
    if before and after and before.currency != after.currency:
        return was, becomes, ""
    change = (after.amount if after else Decimal()) - (before.amount if before else Decimal())
    return was, becomes, f"{change:+,}" if change else ""


def row(*cells: str) -> str:
    """A row of a table."""
    return "|".join(("", *(f" {text} " if text else " " for text in cells), ""))


def cell(text: str) -> str:
    """A text as code in a cell of a table."""
    return code(text).replace("|", "\\|")


def shown(text: str) -> str:
    """A text as code in HTML."""
    return f"<code>{escape(''.join(sign if sign.isprintable() else '?' for sign in text))}</code>"


# results --------------------------------------------------------------------------------------------------------------


def setting(name: str, otherwise: str) -> str:
    """A setting of the environment, or what holds without one."""
    return os.environ.get(name) or otherwise


def append(variable: str, text: str) -> None:
    """Add to a file that GitHub names."""
    if place := os.environ.get(variable):
        with open(place, "a", encoding="utf-8") as stream:
            stream.write(text)


@contextmanager
def without_commands(annotated: bool) -> Iterator[None]:
    """On GitHub nothing that is printed meanwhile is a command to the runner: names of files may look like one."""
    token = secrets.token_hex()
    if annotated:
        print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        if annotated:
            print(f"::{token}::", flush=True)


def new_folder() -> Path:
    """Return a new folder for the results. Raises OSError where something lies there, or a link leads there."""
    if not os.environ.get("BOMGEN_OUTPUT"):
        return Path(mkdtemp(prefix="bomgen-review-", dir=os.environ.get("RUNNER_TEMP")))
    place = Path(os.environ["BOMGEN_OUTPUT"]).absolute()
    if place.is_relative_to(Path.cwd()) and place.parent.resolve() != place.parent:
        raise OSError(f"there is a link on the way to {place}")
    place.mkdir(parents=True)
    return place


def review_request(annotated: bool) -> int:
    """Review what a request changes, write the comment, and return the exit code.

    Raises Misused, NoRevision, GitFailed, and OSError where results cannot be written.
    """
    if os.environ.get(TOKEN):
        raise Misused(f"{TOKEN} is set where files of strangers are read; give it to ci/post.py alone")
    threshold = os.environ.get("BOMGEN_MAX_INCREASE")
    most = limit(threshold) if threshold else None
    if threshold and most is None:
        raise Misused("BOMGEN_MAX_INCREASE: give a share such as 5%, or an amount such as 100000")
    results, base = new_folder(), base_revision()
    patterns = [line.strip() for line in setting("BOMGEN_PLANS", PATTERNS).splitlines() if line.strip()]
    wanted = [f":(glob){pattern}" for pattern in patterns]
    found, gone = changes(base, wanted)
    with snapshots(base) as both:
        files = [changed for changed in found if changed.path not in both.links]
        worst = check(files, annotated, both.folder / both.head) if files else 0
        quotes = results / QUOTES
        namesakes = plans_by_name(all_plans(wanted) if found else set(), both.folder / both.head)
        reviewed = (review(changed, both, quotes / attached_at(changed.path), namesakes) for changed in found)
        findings = [with_files(finding, quotes) for finding in reviewed]
        findings += [Finding(path, "removed", "", 0, before=total(path, both.folder / both.base)) for path in gone]
        passed = list(judge_sums(findings, most, all_plans(wanted) - {changed.path for changed in found}, both))
        body = cut(comment(findings, passed, both), LONGEST["github" if annotated else "gitlab"])
    (results / COMMENT).write_text(json.dumps({"body": body, "only_change": not findings}), "utf-8")
    append("GITHUB_STEP_SUMMARY", body)
    append("GITHUB_OUTPUT", f"plans={len(found)}\nresults={results}\nquotes={quotes if quotes.is_dir() else ''}\n")
    with without_commands(annotated):
        print(body if not annotated else "\n".join(code(changed.path) for changed in found) or "no plan is changed")
    print(f"review: the results are in {results}")
    return max((worst, PASSED if passed else 0, *(finding.code for finding in findings)))


def main() -> int:
    """Review what a request changes, and return the exit code."""
    try:
        return review_request(bool(os.environ.get("GITHUB_ACTIONS")))
    except (Misused, NoRevision, OSError) as error:
        print(f"review: {error}", file=sys.stderr)
    except GitFailed as error:
        print(f"review: git: {error}", file=sys.stderr)
        print("review: is the whole history there? (fetch-depth: 0, GIT_DEPTH: 0, no filter)", file=sys.stderr)
    return MISUSED


if __name__ == "__main__":
    sys.exit(main())
