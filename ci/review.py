"""Reviews the plans that a pull or merge request changes: checks them, says what changed in one comment, builds quotes.

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
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

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


class Finding(NamedTuple):
    """What is said of a plan, as Markdown, and the exit code that it asks for."""

    text: str
    code: int


# what changed -------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """What git prints. Raises CalledProcessError."""
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout.decode(
        "utf-8", "surrogateescape"
    )


def base_of(event: dict[str, Any]) -> str:
    """The revision that the request is compared with: where it branched off."""
    given = os.environ.get("BOMGEN_BASE") or os.environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
    given = given or event.get("pull_request", {}).get("base", {}).get("sha")
    if not given:
        print("review: no revision to compare with; set BOMGEN_BASE", file=sys.stderr)
        sys.exit(MISUSED)
    return git("merge-base", "--", given, "HEAD").strip()


def changes(base: str, patterns: list[str]) -> tuple[list[Changed], list[str]]:
    """The plans that were changed since a revision, and those that are gone, by the patterns of paths."""
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
    return found, gone


# what bomgen says ---------------------------------------------------------------------------------------------------


def bomgen(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command of bomgen prints; no colours, whatever the host asks for."""
    environment = {**os.environ, "NO_COLOR": "1", "BOMGEN_TOKEN": "", "GITHUB_TOKEN": ""}
    return subprocess.run(
        [sys.executable, "-m", "bomgen.cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=environment,
    )


def reviewed(changed: Changed, base: str) -> Finding:
    """What changed in a plan; of a new one, or one of another kind, the result on a few lines."""
    path, output = named(changed.path), setting("BOMGEN_OUTPUT", OUTPUT)
    title = f"#### {code(changed.path)}\n\n"
    built = bomgen("build", path, "-f", setting("BOMGEN_FORMATS", FORMATS), "-o", output)
    if built.returncode:
        return Finding(f"{title}Cannot be built.\n\n{block(built.stderr)}", WRONG)
    summary = "\n".join(line for line in built.stdout.splitlines() if not line.startswith(f"  {output}/"))
    if changed.before is None:
        return Finding(f"{title}A new plan.\n\n{block(summary)}", 0)
    threshold = os.environ.get("BOMGEN_MAX_INCREASE")
    options = ["--max-increase", threshold] if threshold else []
    compared = bomgen("diff", f"{base}:{changed.before}", path, "-f", "md", *options)
    if compared.returncode not in (0, PASSED):
        judged = " **The threshold cannot be judged.**" if threshold else ""
        text = f"{title}{block(summary)}\n\nNot compared.{judged}\n\n{block(compared.stderr)}"
        return Finding(text, PASSED if threshold else 0)
    warned = f"**The threshold was passed.**\n\n{block(compared.stderr)}\n\n" if compared.returncode else ""
    return Finding(f"{title}{warned}{compared.stdout.strip()}", compared.returncode)


def checked(found: list[Changed], annotated: bool) -> int:
    """Check plans; on GitHub each problem is an annotation, which bomgen itself writes safely.

    What is no problem of a plan is said as well; a check that a signal ended, whose code is below nought, has failed.
    """
    form = ("--format", "github") if annotated else ()
    outcome = bomgen("check", *form, *(named(changed.path) for changed in found))
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


def body_of(findings: list[Finding], gone: list[str]) -> str:
    """The comment: what is said of every plan."""
    parts = [finding.text for finding in findings]
    parts += [f"#### {code(path)}\n\nThe plan is removed." for path in gone]
    return "\n\n".join((MARKER, *(parts or ["No plan is changed."]))) + "\n"


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
    except subprocess.CalledProcessError as error:
        print(f"review: git: {error.stderr.decode('utf-8', 'replace').strip()}", file=sys.stderr)
        print("review: is the whole history there? (fetch-depth: 0, GIT_DEPTH: 0)", file=sys.stderr)
        return MISUSED
    worst = checked(found, annotated) if found else 0
    findings = [reviewed(changed, base) for changed in found]
    body = cut(body_of(findings, gone), LONGEST[name])
    append("GITHUB_STEP_SUMMARY", body)
    append("GITHUB_OUTPUT", f"plans={len(found)}\nquotes={setting('BOMGEN_OUTPUT', OUTPUT) if found else ''}\n")
    with without_commands(annotated):
        print(body if not annotated else "\n".join(code(changed.path) for changed in found) or "no plan is changed")
    print(f"review: {posted(name, event, body, only_change=not found and not gone)}")
    return max((worst, *(finding.code for finding in findings)))


if __name__ == "__main__":
    sys.exit(main())
