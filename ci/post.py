"""Posts the comment that ci/review.py wrote. With the token it reads no file of the request, and starts nothing.

Run by action.yml and by ci/gitlab.yml after the review, as `python3 -I ci/post.py FOLDER` with the folder that the
review wrote into. It needs nothing but Python. The environment has what the hosts set, and

    BOMGEN_TOKEN     with which to post
    BOMGEN_COMMENT   false: post no comment
    BOMGEN_REQUEST   on GitHub, the number of the pull request
    BOMGEN_AUTHOR    on GitHub, who posts (default: github-actions[bot])

The exit code is 0: a comment that the host does not take is no reason to fail.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

MARKER = "<!-- bomgen -->"
"""The first line of the comment: by it the comment is found again."""
FILE = "comment.json"
"""What the review wrote, in its folder."""
MOST = 4_000_000
"""Bytes of that file: the longest comment of a host with every character escaped."""
PAGE = 100
"""Comments that are asked for at once: as many as the hosts give."""
PATIENCE = 30
"""Seconds that a host may take to answer."""
FORBIDDEN = (401, 403, 404)
"""What hosts answer to a token that may not write, such as that of a fork."""


class Comment(NamedTuple):
    """The text of a comment, and whether it is only for a request that has one already."""

    body: str
    only_change: bool


def written(folder: Path) -> Comment | None:
    """Return the comment that the review wrote; None for a file that is not there, or is none of its."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as stream:
        content = stream.read(MOST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    try:
        data = json.loads(content[:MOST])
        comment = Comment(str(data["body"]), data["only_change"] is True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return comment if comment.body.startswith(MARKER) else None


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
    """Return what a host answers. Raises OSError (urllib's among them), HTTPException, and ValueError without JSON."""
    content = None if data is None else json.dumps(data).encode()
    sent = {"Content-Type": "application/json", "User-Agent": "bomgen", **headers}
    with urlopen(Request(address, content, sent, method=method), timeout=PATIENCE) as answer:
        return json.load(answer)


def host_of() -> Host | None:
    """Return the host of the request; None without a token, or where there is no request."""
    token, number = os.environ.get("BOMGEN_TOKEN"), os.environ.get("BOMGEN_REQUEST")
    if token and number and os.environ.get("GITHUB_ACTIONS"):
        repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
        author = ("user", "login", os.environ.get("BOMGEN_AUTHOR") or "github-actions[bot]")
        return Host(f"{repository}/{int(number)}/comments", f"{repository}/comments", "PATCH", headers, author)
    request = os.environ.get("CI_MERGE_REQUEST_IID")
    if token and request:
        headers = {"PRIVATE-TOKEN": token}
        host = os.environ["CI_API_V4_URL"]
        project = quote(os.environ.get("CI_MERGE_REQUEST_PROJECT_ID") or os.environ["CI_PROJECT_ID"], safe="")
        notes = f"{host}/projects/{project}/merge_requests/{int(request)}/notes"
        return Host(notes, notes, "PUT", headers, ("author", "id", str(asked("GET", f"{host}/user", headers)["id"])))
    return None


def posted(comment: Comment | None) -> str:
    """Post the comment, and return what was done, or what kept the host from taking it."""
    if os.environ.get("BOMGEN_COMMENT", "").lower() == "false":
        return "no comment: none is wanted"
    if comment is None:
        return "no comment: the review wrote none"
    try:
        host = host_of()
        return host.post(*comment) if host else "no comment: no token or no request"
    except HTTPError as error:
        reason = "the token may not write it" if error.code in FORBIDDEN else "the host answers with an error"
        return f"no comment: {reason} ({error.code})"
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"no comment: the host does not answer, or not as it should ({reason})"


if __name__ == "__main__":
    print(f"review: {posted(written(Path(sys.argv[1])))}")
