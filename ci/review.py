"""Reviews the plans that a pull or merge request changes: checks them, says what changed in one comment, builds quotes.

A plan is changed, too, by a file that it reads: a plan that it extends, a price book, a part. What is read are the
tracked files of the reviewed revision, and no links, so that a request cannot show what else lies on the machine.

Run by action.yml on GitHub and by ci/gitlab.yml on GitLab, with the Python that bomgen is installed for. What there is
to know stands in the environment: what these hosts set, and

    BOMGEN_PLANS         patterns of plan files, one a line (default: plans/*.yaml, plans/*.yml)
    BOMGEN_BASE          the revision to compare with (default: where the request branched off)
    BOMGEN_FORMATS       formats of the quotes (default: md,html,xlsx,json,csv)
    BOMGEN_OUTPUT        folder of the quotes (default: dist)
    BOMGEN_MAX_INCREASE  fail when a total grows by more, such as 5%; empty: never
    BOMGEN_COMMENT       false: post no comment
    BOMGEN_AUTHOR        on GitHub, who posts (default: github-actions[bot])
    BOMGEN_TOKEN         with which to post

Exit codes: 0 done, 1 a plan is wrong, 2 this was called wrongly, 4 the threshold was passed or cannot be judged.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from bomgen.workflow.git_revisions import LINK, NoRevision, files_read, open_revision

MARKER = "<!-- bomgen -->"
"""The first line of the comment, which browsers do not show: by it the comment is found again."""
PATTERNS = "plans/*.yaml\nplans/*.yml"
FORMATS, OUTPUT = "md,html,xlsx,json,csv", "dist"
LONGEST = {"github": 65_000, "gitlab": 900_000}
"""Bytes of a comment: GitHub takes 65 536 characters, GitLab a million."""
PAGE = 100
"""Comments that are asked for at once: as many as the hosts give."""
PATIENCE = 30
"""Seconds that a host may take to answer."""
WRONG, MISUSED, PASSED = 1, 2, 4
FORBIDDEN = (401, 403, 404)
"""What hosts answer to a token that may not write, such as that of a fork."""
CUT = "\n\n*The rest is too long for a comment; the quotes are attached to the run.*\n"
FENCE, FOLD = "```", ("<details>", "</details>")


class Changed(NamedTuple):
    """A plan that the request changes: its path, and the path that it had, None for a new one."""

    path: str
    before: str | None
    inputs: tuple[str, ...] = ()
    """Files that it reads and that were changed; empty: the plan itself was."""


class Finding(NamedTuple):
    """What is said of a plan: in a few words and as Markdown, the exit code that it asks for, and its totals."""

    path: str
    words: str
    text: str
    code: int
    totals: Totals | None = None


class Totals(NamedTuple):
    """What a plan comes to before and after, in one currency; None before where it is new."""

    currency: str
    before: Decimal | None
    after: Decimal


class Snapshots(NamedTuple):
    """The files of both revisions in folders of their own."""

    folder: Path
    base: str
    head: str
    """The names of the folders, which are short hashes."""
    links: frozenset[str]
    """Links of the reviewed revision, which are not followed."""


# what changed -------------------------------------------------------------------------------------------------------


def git(*arguments: str, given: str = "", environment: dict[str, str] | None = None) -> str:
    """What git prints. Raises CalledProcessError."""
    sent = given.encode("utf-8", "surrogateescape")
    done = subprocess.run(["git", *arguments], input=sent, capture_output=True, check=True, env=environment)
    return done.stdout.decode("utf-8", "surrogateescape")


def base_of(event: dict[str, Any]) -> str:
    """The revision that the request is compared with: where it branched off."""
    given = os.environ.get("BOMGEN_BASE") or os.environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
    given = given or event.get("pull_request", {}).get("base", {}).get("sha")
    if not given:
        print("review: no revision to compare with; set BOMGEN_BASE", file=sys.stderr)
        sys.exit(MISUSED)
    return git("merge-base", "--", given, "HEAD").strip()


def changes(base: str, patterns: list[str]) -> tuple[list[Changed], list[str]]:
    """The plans that were changed since a revision or read a file that was, and those that are gone."""
    wanted = [f":(glob){pattern}" for pattern in patterns]
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
    plans = git("ls-files", "-z", "--with-tree=HEAD", "--", *wanted).split("\0") if changed - known else []
    revisions = [open_revision(name, Path.cwd()) for name in (base, "HEAD")] if plans else []
    for path in sorted(set(plans) - known - {""}):
        read = [files_read(revision, path) for revision in revisions if path in revision.files]
        if inputs := changed & set().union(*read):
            yield Changed(path, path, tuple(sorted(inputs)))


@contextmanager
def snapshots(base: str) -> Iterator[Snapshots]:
    """The files of both revisions, each in a folder that is called by its short hash.

    They are tracked files alone: without links there is nothing else that a plan could read.
    """
    names = [git("rev-parse", "--short", revision).strip() for revision in (base, "HEAD")]
    with TemporaryDirectory(prefix="bomgen-") as folder:
        place = Path(folder).resolve()
        links = [_copy_files(name, place / name, place / "index") for name in dict.fromkeys(names)]
        yield Snapshots(place, names[0], names[-1], frozenset(links[-1]))


def _copy_files(revision: str, folder: Path, index: Path) -> list[str]:
    """Copy the files of a revision, those that are no links, into a folder; returns the links."""
    index.unlink(missing_ok=True)
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    git("read-tree", revision, environment=environment)
    listed = git("ls-files", "-s", "-z", environment=environment).split("\0")
    links = [line.partition("\t")[2] for line in listed if line.startswith(LINK)]
    if links:
        git("update-index", "--force-remove", "-z", "--stdin", given="\0".join(links), environment=environment)
    folder.mkdir()
    git("checkout-index", "--all", f"--prefix={folder}{os.sep}", environment=environment)
    (folder / ".git").touch()  # empty: by it bomgen knows where the folder tree of a plan ends
    return links


# what bomgen says ---------------------------------------------------------------------------------------------------


def bomgen(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command of bomgen prints, run in a folder; no colours, whatever the host asks for."""
    environment = {**os.environ, "NO_COLOR": "1", "BOMGEN_TOKEN": "", "GITHUB_TOKEN": ""}
    return subprocess.run(
        [sys.executable, "-m", "bomgen.cli", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=environment,
    )


def review(changed: Changed, both: Snapshots, output: Path) -> Finding:
    """What changed in a plan; of a new one, or one of another kind, the result on a few lines."""
    path = changed.path
    if path in both.links:
        return Finding(path, "a link", "A plan that is reviewed is a file, and no link to one.", WRONG)
    head = both.folder / both.head
    built = bomgen("build", named(path), "-f", setting("BOMGEN_FORMATS", FORMATS), "-o", str(output), folder=head)
    if built.returncode:
        followed = [code(name) for name in sorted(both.links) if name.rpartition("/")[2] in built.stderr]
        note = f"\n\nLinks are not followed: {', '.join(followed)}." if followed else ""
        return Finding(path, "cannot be built", f"{block(built.stderr)}{note}", WRONG)
    summary = "\n".join(line for line in built.stdout.splitlines() if not line.startswith(f"  {output}"))
    if changed.before is None:
        return Finding(path, "a new plan", block(summary), 0, _total_of_new(named(path), head))
    why = f"Changed: {', '.join(map(code, changed.inputs))}.\n\n" if changed.inputs else ""
    threshold = os.environ.get("BOMGEN_MAX_INCREASE")
    options = ["--max-increase", threshold] if threshold else []
    sides = (f"{both.base}/{changed.before}", f"{both.head}/{path}")
    compared = bomgen("diff", *sides, "-f", "md", *options, folder=both.folder)
    if compared.returncode not in (0, PASSED):
        judged = " **The threshold cannot be judged.**" if threshold else ""
        text = f"{block(summary)}\n\nNot compared.{judged}\n\n{block(compared.stderr)}"
        return Finding(path, "not compared", text, PASSED if threshold else 0)
    words = "threshold passed" if compared.returncode else "changed inputs" if changed.inputs else "changed"
    warned = f"**The threshold was passed.**\n\n{block(compared.stderr)}\n\n" if compared.returncode else ""
    text = f"{why}{warned}{compared.stdout.strip()}"
    return Finding(path, words, text, compared.returncode, _total_of_changed(sides, both.folder))


def _total_of_changed(sides: tuple[str, str], folder: Path) -> Totals | None:
    """What a plan came to and comes to; None in different currencies."""
    answered = bomgen("diff", *sides, "-f", "json", folder=folder)
    money = json.loads(answered.stdout).get("money") if answered.returncode == 0 else None
    return Totals(money["currency"], Decimal(str(money["old"])), Decimal(str(money["new"]))) if money else None


def _total_of_new(path: str, head: Path) -> Totals | None:
    """What a new plan comes to."""
    with TemporaryDirectory(prefix="bomgen-") as folder:
        built = bomgen("build", path, "-f", "json", "-o", folder, folder=head)
        found = sorted(Path(folder).rglob("bom.json"))
        if built.returncode or not found:
            return None
        totals = json.loads(found[0].read_text("utf-8"))["totals"]
        return Totals(totals["currency"], None, Decimal(str(totals["amount"])))


def check(found: list[Changed], annotated: bool, head: Path) -> int:
    """Check plans; on GitHub each problem is an annotation, which bomgen itself writes safely.

    What is no problem of a plan is said as well; a check that a signal ended, whose code is below nought, has failed.
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


def comment(findings: list[Finding], gone: list[str], both: Snapshots) -> str:
    """The comment: a table of the plans, and what is said of each, folded."""
    if not findings and not gone:
        return f"{MARKER}\n\nNo plan is changed, and no file that one reads.\n"
    rows = [row(cell(each.path), each.words, *amounts(each.totals)) for each in findings]
    rows += [row(cell(path), "removed", *amounts(None)) for path in gone]
    rows += [row("**all plans**", "", *amounts(total)) for total in totals(findings)]
    table = ["| plan | | before | after | change |", "|---|---|---|---|---|", *rows]
    folds = [f"{FOLD[0]}\n<summary>{shown(each.path)}</summary>\n\n{each.text}\n\n{FOLD[1]}" for each in findings]
    return "\n\n".join((MARKER, f"`{both.base}` to `{both.head}`", "\n".join(table), *folds)) + "\n"


def totals(findings: list[Finding]) -> Iterator[Totals]:
    """The sums over all plans, currency by currency; a new plan was nought before."""
    each = [finding.totals for finding in findings if finding.totals]
    for currency in dict.fromkeys(total.currency for total in each) if len(each) > 1 else ():
        own = [total for total in each if total.currency == currency]
        before = sum((total.before or Decimal() for total in own), Decimal())
        yield Totals(currency, before, sum((total.after for total in own), Decimal()))


def amounts(total: Totals | None) -> tuple[str, str, str]:
    """What a plan came to, comes to, and the difference."""
    if total is None:
        return "", "", ""
    before, after = (
        "" if amount is None else f"{amount:,} {total.currency}" if amount else "no price"
        for amount in (total.before, total.after)
    )
    change = total.after - (total.before or Decimal())
    return before, after, f"{change:+,}" if change else ""


def row(*cells: str) -> str:
    """A row of a table."""
    return "|".join(("", *(f" {text} " if text else " " for text in cells), ""))


def cell(text: str) -> str:
    """A text as code in a cell of a table."""
    return code(text).replace("|", "\\|")


def shown(text: str) -> str:
    """A text as code in HTML."""
    return f"<code>{escape(''.join(sign if sign.isprintable() else '?' for sign in text))}</code>"


# hosts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Host:
    """The comments of a request at a code host, over its REST interface."""

    comments: str
    """The address of the list."""
    one: str
    """The address of one of them, before its number."""
    change: str
    """The method that changes one."""
    headers: dict[str, str]
    author: tuple[str, str, str]
    """Where a comment has its author, and key and value of this one: those of others are left alone."""

    def post(self, body: str, only_change: bool) -> str:
        """Change the comment that is there, else post it unless only changes are wanted. Says what was done."""
        number = self._found()
        if number is None and only_change:
            return "no comment"
        if number is None:
            self._asked("POST", self.comments, {"body": body})
            return "comment posted"
        self._asked(self.change, f"{self.one}/{number}", {"body": body})
        return "comment changed"

    def _found(self) -> int | None:
        person, key, value = self.author
        page = 1
        while True:
            listed = self._asked("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            for comment in listed:
                author = (comment.get(person) or {}).get(key)
                if str(comment.get("body", "")).startswith(MARKER) and str(author) == value:
                    return int(comment["id"])
            if len(listed) < PAGE:
                return None
            page += 1

    def _asked(self, method: str, address: str, data: dict[str, str] | None = None) -> Any:
        return asked(method, address, self.headers, data)


def asked(method: str, address: str, headers: dict[str, str], data: dict[str, str] | None = None) -> Any:
    """What a host answers. Raises OSError, as which urllib has its own, HTTPException, and ValueError without JSON."""
    content = None if data is None else json.dumps(data).encode()
    sent = {"Content-Type": "application/json", "User-Agent": "bomgen", **headers}
    with urlopen(Request(address, content, sent, method=method), timeout=PATIENCE) as answer:
        return json.load(answer)


def host_of(name: str, event: dict[str, Any]) -> Host | None:
    """The host of the request; None without a token, or where there is no request."""
    token, number = os.environ.get("BOMGEN_TOKEN"), event.get("pull_request", {}).get("number")
    if name == "github" and token and number:
        repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
        author = ("user", "login", setting("BOMGEN_AUTHOR", "github-actions[bot]"))
        return Host(f"{repository}/{int(number)}/comments", f"{repository}/comments", "PATCH", headers, author)
    request = os.environ.get("CI_MERGE_REQUEST_IID")
    if name == "gitlab" and token and request:
        headers = {"PRIVATE-TOKEN": token}
        host = os.environ["CI_API_V4_URL"]
        project = quote(os.environ.get("CI_MERGE_REQUEST_PROJECT_ID") or os.environ["CI_PROJECT_ID"], safe="")
        notes = f"{host}/projects/{project}/merge_requests/{int(request)}/notes"
        return Host(notes, notes, "PUT", headers, ("author", "id", str(asked("GET", f"{host}/user", headers)["id"])))
    return None


def setting(name: str, otherwise: str) -> str:
    """A setting of the environment, or what holds without one."""
    return os.environ.get(name) or otherwise


def event_of() -> dict[str, Any]:
    """What GitHub says of the run; empty elsewhere."""
    place = os.environ.get("GITHUB_EVENT_PATH")
    return dict(json.loads(Path(place).read_text("utf-8"))) if place else {}


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


def posted(name: str, event: dict[str, Any], body: str, only_change: bool) -> str:
    """Post the comment; what keeps the host from taking it is no reason to fail. Says what was done."""
    if os.environ.get("BOMGEN_COMMENT", "").lower() == "false":
        return "no comment: none is wanted"
    try:
        host = host_of(name, event)
        return host.post(body, only_change) if host else "no comment: no token or no request"
    except HTTPError as error:
        reason = "the token may not write it" if error.code in FORBIDDEN else "the host answers with an error"
        return f"no comment: {reason} ({error.code})"
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"no comment: the host does not answer, or not as it should ({reason})"


def main() -> int:
    """Review what a request changes."""
    annotated = bool(os.environ.get("GITHUB_ACTIONS"))
    name, event = "github" if annotated else "gitlab", event_of()
    patterns = [line.strip() for line in setting("BOMGEN_PLANS", PATTERNS).splitlines() if line.strip()]
    try:
        base = base_of(event)
        found, gone = changes(base, patterns)
    except NoRevision as error:
        print(f"review: {error}", file=sys.stderr)
        return MISUSED
    except subprocess.CalledProcessError as error:
        print(f"review: git: {error.stderr.decode('utf-8', 'replace').strip()}", file=sys.stderr)
        print("review: is the whole history there? (fetch-depth: 0, GIT_DEPTH: 0)", file=sys.stderr)
        return MISUSED
    output = Path(setting("BOMGEN_OUTPUT", OUTPUT)).absolute()
    with snapshots(base) as both:
        files = [changed for changed in found if changed.path not in both.links]
        worst = check(files, annotated, both.folder / both.head) if files else 0
        findings = [review(changed, both, output) for changed in found]
        body = cut(comment(findings, gone, both), LONGEST[name])
    append("GITHUB_STEP_SUMMARY", body)
    append("GITHUB_OUTPUT", f"plans={len(found)}\nquotes={setting('BOMGEN_OUTPUT', OUTPUT) if found else ''}\n")
    with without_commands(annotated):
        print(body if not annotated else "\n".join(code(changed.path) for changed in found) or "no plan is changed")
    print(f"review: {posted(name, event, body, only_change=not found and not gone)}")
    return max((worst, *(finding.code for finding in findings)))


if __name__ == "__main__":
    sys.exit(main())
