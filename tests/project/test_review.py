"""The review of pull and merge requests: the steps of action.yml and ci/gitlab.yml, run as their hosts run them.

A repository of its own stands for the user's, and a server on this machine for the REST interface of the host. What the
shell of the host has no part in runs in the process of the tests, bomgen among it: starting Python for each of its
commands takes most of the time.
"""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from email.message import Message
from hashlib import sha256
from http.client import IncompleteRead, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from string import Template
from threading import Thread
from typing import Any
from unittest.mock import patch
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from click.testing import CliRunner
from depth import few
from planted import plant

from bomgen.cli.command import main
from bomgen.core.jobs import NEEDED_VARIABLES

ROOT = Path(__file__).parents[2]
REVIEW = runpy.run_path(str(ROOT / "ci" / "review.py"))
POST = runpy.run_path(str(ROOT / "ci" / "post.py"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
JOBS = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text("utf-8"))
MARKER = "<!-- bomgen -->"
PLAN = """bomgen: 1
name: NAME
cluster: {gpu: h100-sxm, servers: 16}
fabrics:
  compute: {switch: qm9700}
"""
PYTHON = ".venv/bin/python"
BOT, TOKEN = "github-actions[bot]", "t0ken"
POLL = 0.02
"""Seconds after which the server sees that it is to end."""
HOSTILE = 'plans/$(touch ran) `touch ran`; "touch ran" \'\n::error::x.yaml'


class Api(BaseHTTPRequestHandler):
    """The comments of one request, as both hosts have them; a token that is not the right one may not write."""

    comments: list[dict[str, Any]]
    asked: list[str]
    page: bytes | None = None
    """What is answered in place of the list."""

    def do_GET(self) -> None:
        """List comments, or say who asks."""
        place = urlsplit(self.path)
        if place.path == "/user":
            self._answer(200, {"id": 7})
            return
        query = parse_qs(place.query)
        if self.page is not None:
            self._send(200, self.page)
            return
        size, page = int(query["per_page"][0]), int(query["page"][0])
        self._answer(200, self.comments[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        """Add a comment."""
        if self._may("POST"):
            self.comments.append({"id": len(self.comments) + 1, **AUTHOR, **self._data()})
            self._answer(201, self.comments[-1])

    def do_PATCH(self) -> None:
        """Change a comment."""
        if self._may(self.command):
            number = int(self.path.rpartition("/")[2])
            self.comments[number - 1] |= self._data()
            self._answer(200, self.comments[number - 1])

    do_PUT = do_PATCH  # noqa: N815 - the name that http.server asks for

    def log_message(self, format: str, *_: Any) -> None:
        """Say nothing."""

    def _may(self, method: str) -> bool:
        self.asked.append(f"{method} {self.path}")
        if TOKEN in (
            self.headers.get("PRIVATE-TOKEN"),
            (self.headers.get("Authorization") or "").removeprefix("Bearer "),
        ):
            return True
        self._answer(403, {"message": "Resource not accessible"})
        return False

    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return data

    def _answer(self, code: int, data: Any) -> None:
        self._send(code, json.dumps(data).encode())

    def _send(self, code: int, content: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


AUTHOR = {"user": {"login": BOT}, "author": {"id": 7}}


class Repository:
    """The user's repository with a request, and what the host sets for a run."""

    def __init__(self, folder: Path, address: str, api: type[Api]) -> None:
        self.folder, self.address, self.api = folder / "repository", address, api
        self.host = folder / "host"
        self.base = ""

    @property
    def clone(self) -> Path:
        """Where the job of GitLab has bomgen."""
        return self.host / "builds" / "bomgen-5"

    @property
    def results(self) -> Path:
        """The folder of the last results: what GitHub was told, or below the folder that GitLab attaches."""
        told = self.host / "output"
        if not told.exists():
            return self.folder / JOBS["bomgen"]["variables"]["BOMGEN_OUTPUT"]
        return Path(re.findall(r"^results=(.*)$", told.read_text("utf-8"), re.MULTILINE)[-1])

    @property
    def body(self) -> str:
        """The comment that was posted."""
        return str(self.api.comments[0]["body"])

    def begin(self) -> None:
        """Make the repository as it is before the request, and the Python of the host."""
        for python in (self.host / "bomgen" / "bin" / "python", self.host / "bin" / "python", self.clone / PYTHON):
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
        (self.clone / "ci").symlink_to(ROOT / "ci")
        self.write("plans/old.yaml", PLAN.replace("NAME", "old"))
        self.write("plans/gone.yaml", PLAN.replace("NAME", "gone"))
        self.write("other/not-a-plan.yaml", "a: 1\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *arguments: str) -> str:
        """What git prints."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def commit(self) -> str:
        """Commit all that is there."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def environment(self) -> dict[str, str]:
        """The environment of a runner."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI", "BOMGEN_"))}
        return kept | {"RUNNER_TEMP": str(self.host)}

    def on_github(self, token: str = TOKEN, *, shell: bool = True, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the steps of the action that review and comment."""
        review, environment = self.step("review", token, inputs)
        assert TOKEN not in environment.values()
        done = self.bash(review, environment) if shell else self._in_process(REVIEW["main"], environment)
        if not (self.host / "output").exists():
            return done
        comment, environment = self.step("Comment", token, inputs)
        return joined(done, self.bash(comment, environment) if shell else self._in_process(self._post, environment))

    def on_gitlab(self, *, shell: bool = True, **given: str) -> subprocess.CompletedProcess[str]:
        """Run the scripts of both jobs; the clone of bomgen is this checkout."""
        review, environment = self.job("bomgen", given)
        done = self.bash(review, environment) if shell else self._in_process(REVIEW["main"], environment)
        comment, environment = self.job("bomgen-comment", {"BOMGEN_TOKEN": TOKEN, **given})
        after = self.bash(comment, environment) if shell else self._in_process(self._post, environment)
        return joined(done, after)

    def _post(self) -> int:
        print(f"review: {POST['posted'](POST['written'](self.results))}")
        return 0

    def step(self, name: str, token: str, inputs: dict[str, str]) -> tuple[str, dict[str, str]]:
        """The script of a step, and its environment."""
        step = next(step for step in ACTION["runs"]["steps"] if name in (step.get("id"), step["name"]))
        values = {f"inputs.{name}": str(entry["default"]) for name, entry in ACTION["inputs"].items()}
        values |= {"inputs.token": token} | {f"inputs.{name}": value for name, value in inputs.items()}
        values |= {
            "env.BOMGEN_BASE || github.event.pull_request.base.sha": self.base,
            "github.event.pull_request.number": "3",
            "steps.review.outputs.results": str(self.results),
        }
        given = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)
            for name, text in step.get("env", {}).items()
        }
        assert "${{" not in step["run"]
        environment = (
            self.environment()
            | given
            | {
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_API_URL": self.address,
                "GITHUB_REPOSITORY": "o/r",
                "GITHUB_OUTPUT": str(self.host / "output"),
                "GITHUB_STEP_SUMMARY": str(self.host / "summary.md"),
            }
        )
        return step["run"], environment

    def job(self, name: str, given: dict[str, str]) -> tuple[str, dict[str, str]]:
        """The script of a job, and its environment. What git would clone and pip install is there."""
        job = JOBS[name]
        environment = (
            self.environment()
            | job["variables"]
            | {
                "PATH": os.pathsep.join((str(self.host / "bin"), os.environ["PATH"])),
                "CI_BUILDS_DIR": str(self.clone.parent),
                "CI_JOB_ID": "5",
                "CI_API_V4_URL": self.address,
                "CI_PROJECT_ID": "9",
                "CI_MERGE_REQUEST_IID": "3",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.base,
                **given,
            }
        )
        lines = [*job.get("before_script", ()), *job["script"]]
        return "\n".join(line for line in lines if not line.startswith(("git clone", "sh "))), environment

    def _in_process(self, run: Callable[[], int], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run what the host runs, with its environment, but without a shell and further Pythons."""
        said, problems = StringIO(), StringIO()
        with (
            patch.dict(os.environ, environment, clear=True),
            patch.dict(REVIEW["main"].__globals__, {"bomgen": bomgen}),
            chdir(self.folder),
            redirect_stdout(said),
            redirect_stderr(problems),
        ):
            code = run()
        return subprocess.CompletedProcess((), code, said.getvalue(), problems.getvalue())

    def bash(self, script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a script as the shell of a host does; no name of a file runs anything."""
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert not list(self.folder.rglob("ran"))
        return done


def joined(*steps: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """What steps say, one after the other; the worst exit code."""
    said, problems = ("".join(text) for text in zip(*((each.stdout, each.stderr) for each in steps), strict=True))
    return subprocess.CompletedProcess((), max(each.returncode for each in steps), said, problems)


def bomgen(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command of bomgen prints, run in this process."""
    with chdir(folder):
        outcome = CliRunner().invoke(main, arguments)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return subprocess.CompletedProcess(arguments, outcome.exit_code, outcome.stdout, outcome.stderr)


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a repository as it is before the request: it is made once, and copied."""
    folder = tmp_path_factory.mktemp("begun")
    Repository(folder, "", Api).begin()
    return folder


@pytest.fixture
def repository(tmp_path: Path, begun: Path) -> Iterator[Repository]:
    """A repository of the user's, with a host."""
    api = type("One", (Api,), {"comments": [], "asked": []})
    server = HTTPServer(("127.0.0.1", 0), api)
    Thread(target=server.serve_forever, kwargs={"poll_interval": POLL}, daemon=True).start()
    shutil.copytree(begun, tmp_path, symlinks=True, dirs_exist_ok=True)
    found = Repository(tmp_path, f"http://127.0.0.1:{server.server_port}", api)
    found.base = found.git("rev-parse", "HEAD")
    yield found
    server.shutdown()
    server.server_close()


def test_a_new_plan_on_github(repository: Repository) -> None:
    """The summary of a new plan is posted once, with its quotes; a second run changes that comment and no other."""
    repository.api.comments.extend(
        {"id": number, "user": {"login": "someone"}, "body": MARKER} for number in range(1, 151)
    )
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    done = repository.on_github(formats="json,csv")
    assert 0 == done.returncode, done.stdout + done.stderr
    body = repository.api.comments[-1]["body"]
    hashes = [repository.git("rev-parse", "--short", revision) for revision in (repository.base, "HEAD")]
    assert body.startswith(f"{MARKER}\n\n`{hashes[0]}` to `{hashes[1]}`\n\n| plan |")
    assert "| `plans/new.yaml` | a new plan | | no price | |" in body
    assert "<details>\n<summary><code>plans/new.yaml</code></summary>\n\n```text\nnew  " in body
    assert "128 × H100 SXM5 80GB" in body
    assert "bomgen-review" not in body
    assert (repository.results / "quotes" / "plans" / "new.yaml" / "new" / "bom.csv").is_file()
    assert repository.results.parent == repository.host
    told = f"plans=1\nresults={repository.results}\nquotes={repository.results / 'quotes'}\n"
    assert told == (repository.host / "output").read_text("utf-8")
    assert body == (repository.host / "summary.md").read_text("utf-8")
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new").replace("16", "32"))
    repository.commit()
    assert 0 == repository.on_github(shell=False, formats="json").returncode
    assert ["POST /repos/o/r/issues/3/comments", "PATCH /repos/o/r/issues/comments/151"] == repository.api.asked
    assert "256 × H100" in repository.api.comments[150]["body"]
    assert {MARKER} == {comment["body"] for comment in repository.api.comments[:150]}


def test_a_new_plan_on_gitlab(repository: Repository) -> None:
    """The note of a merge request is posted once and then changed."""
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    for shell in (True, False):
        shutil.rmtree(repository.folder / "bomgen-review", ignore_errors=True)
        done = repository.on_gitlab(shell=shell, BOMGEN_FORMATS="json")
        assert 0 == done.returncode, done.stdout + done.stderr
        assert "::" not in done.stdout
    notes = "/projects/9/merge_requests/3/notes"
    assert [f"POST {notes}", f"PUT {notes}/1"] == repository.api.asked
    assert "| `plans/new.yaml` |" in repository.api.comments[0]["body"]
    assert (repository.folder / "bomgen-review" / "quotes" / "plans" / "new.yaml" / "new" / "bom.json").is_file()


@pytest.mark.parametrize("given", [{}, {"BOMGEN_OUTPUT": "public/quotes"}])
def test_the_quotes_lie_where_the_job_attaches_them(given: dict[str, str], repository: Repository) -> None:
    """The folder is a variable of the job, which a project may set otherwise."""
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    assert 0 == repository.on_gitlab(shell=False, BOMGEN_FORMATS="json", **given).returncode
    job = JOBS["bomgen"]
    (attached,) = job["artifacts"]["paths"]
    place = Template(attached).substitute(job["variables"] | given)
    assert (repository.folder / place / "quotes" / "plans" / "new.yaml" / "new" / "bom.json").is_file()


def test_attached_files_are_those_of_the_comment(repository: Repository) -> None:
    """Each is at the path of its plan, with what it comes to and its digest; an artifact may have every path."""
    repository.write("prices.yaml", PRICES)
    repository.write("plans/a: b%.yaml", PLAN.replace("NAME", "new") + PRICED)
    repository.commit()
    assert 0 == repository.on_github(shell=False, formats="json,csv").returncode
    rows = re.findall(r"^\| `(\S.*)` \| (120,000.00 USD) \| `([0-9a-f]{64})` \|$", repository.body, re.MULTILINE)
    quotes = repository.results / "quotes"
    assert ["plans/a%3A b%25.yaml/new/bom.csv", "plans/a%3A b%25.yaml/new/bom.json"] == [path for path, *_ in rows]
    assert [digest for *_, digest in rows] == [sha256((quotes / path).read_bytes()).hexdigest() for path, *_ in rows]
    assert "120000.00" == json.loads((quotes / rows[1][0]).read_text("utf-8"))["totals"]["amount"]


def test_two_plans_of_one_name_are_an_error(repository: Repository) -> None:
    """Also if only one of them has changed: whoever builds both has the quote of one of them."""
    repository.write("plans/copy.yaml", PLAN.replace("NAME", "old").replace("16", "32"))
    for name in ("b", "a"):
        repository.write(f"plans/{name}.yaml", PLAN.replace("NAME", "same"))
    repository.write("plans/other.yaml", PLAN.replace("NAME", "other"))
    repository.commit()
    assert 1 == repository.on_github(shell=False, formats="json").returncode
    for name in ("copy", "a", "b"):
        assert f"| `plans/{name}.yaml` | the name of another plan | | | |" in repository.body
    assert "`plans/a.yaml` and `plans/b.yaml` have the same name, `same`; rename one of them." in repository.body
    assert "`plans/copy.yaml` and `plans/old.yaml` have the same name, `old`; rename one of them." in repository.body
    assert ["other.yaml"] == [path.name for path in (repository.results / "quotes" / "plans").iterdir()]


NODE_24 = {"actions/checkout": 5, "actions/upload-artifact": 6}
"""The first major version of an action with `using: node24` in its action.yml; Node 20 is gone from runners."""


@pytest.mark.parametrize("path", ["action.yml", "docs/review.md"])
def test_actions_run_on_the_node_of_runners(path: str) -> None:
    """Those of the recipe and of its example."""
    used = re.findall(r"uses: (actions/[\w-]+)@v(\d+)$", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    assert used
    assert [(name, version) for name, version in used if int(version) < NODE_24[name]] == []


def test_a_wrong_plan_fails_with_its_line(repository: Repository) -> None:
    """A wrong plan is annotated at its line, said in the comment, and fails the run; others are reviewed."""
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.write("plans/wrong.yaml", PLAN.replace("NAME", "wrong").replace("qm9700", "qm9701"))
    repository.commit()
    done = repository.on_github(shell=False, formats="json")
    assert 1 == done.returncode
    assert "::error file=plans/wrong.yaml,line=5,col=21::no switch 'qm9701'; did you mean" in done.stdout
    (comment,) = repository.api.comments
    assert "| `plans/wrong.yaml` | cannot be built |" in comment["body"]
    assert "```text\nplans/wrong.yaml:5:21: error:" in comment["body"]
    assert "| `plans/new.yaml` | a new plan |" in comment["body"]


def test_what_is_no_plan_is_left_alone(repository: Repository) -> None:
    """A request that changes no plan posts nothing; a comment that is there says so."""
    repository.write("other/not-a-plan.yaml", "a: 2\n")
    repository.commit()
    assert 0 == repository.on_github(shell=False).returncode
    assert [] == repository.api.asked
    repository.api.comments.append({"id": 1, **AUTHOR, "body": f"{MARKER}\nbefore"})
    assert 0 == repository.on_github(shell=False).returncode
    assert f"{MARKER}\n\nNo plan is changed, and no file that one reads.\n" == repository.api.comments[0]["body"]


def test_a_plan_that_is_gone(repository: Repository) -> None:
    """A plan that the request removes is named."""
    (repository.folder / "plans" / "gone.yaml").unlink()
    repository.commit()
    assert 0 == repository.on_github(shell=False).returncode
    assert "| `plans/gone.yaml` | removed |" in repository.api.comments[0]["body"]


@pytest.mark.parametrize("on", ["github", pytest.param("gitlab", marks=pytest.mark.deep)])
def test_names_of_files_run_nothing(on: str, repository: Repository) -> None:
    """A name with the signs of a shell, of Markdown and of the runner is a name, and nothing more."""
    repository.write(HOSTILE, PLAN.replace("NAME", "hostile").replace("qm9700", "qm9701"))
    repository.write("plans/-o.yaml", PLAN.replace("NAME", "dash"))
    repository.commit()
    done = repository.on_github(formats="json") if on == "github" else repository.on_gitlab(BOMGEN_FORMATS="json")
    assert 1 == done.returncode
    (comment,) = repository.api.comments
    assert '``plans/$(touch ran) `touch ran`; "touch ran" \'?::error::x.yaml``' in comment["body"].replace(
        "`` ", "``"
    ).replace(" ``", "``")
    if on == "github":
        stopped = re.sub(r"::stop-commands::([0-9a-f]+)\n.*?::\1::", "", done.stdout, flags=re.DOTALL)
        commands = [line for line in stopped.splitlines() if line.startswith("::")]
        assert 1 == len(commands)
        assert "%0A%3A%3Aerror%3A%3Ax.yaml,line=5,col=21::no switch" in commands[0]


def test_a_token_that_may_not_write(repository: Repository) -> None:
    """With the token of a fork the run says that there is no comment, and does not fail."""
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    done = repository.on_github(token="of a fork", shell=False, formats="json")  # noqa: S106 - that is what it is for
    assert 0 == done.returncode
    assert "review: no comment: the token may not write it (403)" in done.stdout
    assert "a new plan" in (repository.host / "summary.md").read_text("utf-8")


@pytest.mark.parametrize("given", [{"BOMGEN_TOKEN": ""}, {"BOMGEN_TOKEN": TOKEN, "BOMGEN_COMMENT": "false"}])
def test_no_comment_is_wanted(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a token, and with `comment: false`, nothing is asked of the host."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("BOMGEN_REQUEST", "3")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert POST["posted"](POST["Comment"]("x", False)).startswith("no comment: no")


def raising(error: Exception) -> Callable[..., Any]:
    """A function that does nothing but fail."""

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    return fails


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("timed out"), "timed out"),
        (TimeoutError(), "TimeoutError"),
        (URLError(ConnectionRefusedError(111, "Connection refused")), "Connection refused"),
        (RemoteDisconnected("Remote end closed connection"), "Remote end closed connection"),
        (IncompleteRead(b"{"), "IncompleteRead"),
        (json.JSONDecodeError("Expecting value", "<html>", 0), "Expecting value: line 1 column 1"),
        (ValueError("a\n::error::b"), "a ::error::b"),
        (HTTPError("http://x", 502, "Bad Gateway", Message(), None), "the host answers with an error (502)"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_a_host_that_fails(
    error: Exception, said: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever keeps the host from taking the comment is said on one line; the exit code is that of the review."""
    monkeypatch.setitem(POST["posted"].__globals__, "asked", raising(error))
    (repository.folder / "plans" / "gone.yaml").unlink()
    repository.commit()
    done = repository.on_github(shell=False)
    assert 0 == done.returncode
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("review: no")]
    assert line.startswith("review: no comment: ")
    assert said in line


def test_a_host_that_answers_no_json(repository: Repository) -> None:
    """A page of a proxy in place of the comments fails nothing; a wrong plan still does."""
    repository.api.page = b"<html>sign in</html>"
    repository.write("plans/wrong.yaml", "a: 1\n")
    repository.commit()
    done = repository.on_github(shell=False, formats="json")
    assert (1, True) == (done.returncode, "review: no comment: the host does not answer" in done.stdout)


@pytest.mark.parametrize("code", [3, -9])
def test_a_check_that_fails_says_why(code: int, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no problem of a plan is shown on GitHub as well, where the runner takes no command from it."""

    def failed(*arguments: str, **_: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, code, "", "::error::no space left on device\n")

    monkeypatch.setitem(globals(), "bomgen", failed)
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    done = repository.on_github(shell=False)
    assert max(code, 1) == done.returncode
    shown = r"::stop-commands::([0-9a-f]+)\n::error::no space left on device\n::\1::\n"
    assert re.match(shown, done.stdout), done.stdout


def test_a_history_that_is_not_there(repository: Repository) -> None:
    """A base that is not in the clone is said to be so: exit code 2."""
    repository.base = "0" * 40
    done = repository.on_github()
    assert (2, True) == (done.returncode, "fetch-depth: 0" in done.stderr)


def test_a_changed_plan_is_compared(repository: Repository) -> None:
    """What changed in a plan since the request branched off is posted, under its new name too."""
    repository.git("checkout", "-q", "-b", "request")
    repository.write("plans/old.yaml", PLAN.replace("NAME", "old").replace("16", "32"))
    repository.git("mv", "plans/gone.yaml", "plans/renamed.yaml")
    repository.commit()
    done = repository.on_github(shell=False, formats="json")
    assert 0 == done.returncode, done.stdout + done.stderr
    body = repository.api.comments[0]["body"]
    assert "cluster.servers" in body
    assert "16" in body
    assert "32" in body
    assert "| `plans/renamed.yaml` | changed |" in body
    assert "Not compared" not in body
    assert "a new plan" not in body


def test_a_threshold_that_is_passed(repository: Repository) -> None:
    """A total that grows by more than the threshold fails the run with 4, and the comment says so."""
    prices = "bomgen_prices: 1\nname: p\ncurrency: USD\ndate: 2026-11-01\nprices:\n  - {part: qm9700, price: 20000}\n"
    repository.write("prices.yaml", prices)
    priced = PLAN.replace("NAME", "old") + "quote: {price_book: ../prices.yaml, currency: USD}\n"
    repository.write("plans/old.yaml", priced)
    repository.base = repository.commit()
    repository.write("plans/old.yaml", priced.replace("16", "128"))
    repository.commit()
    done = repository.on_github(shell=False, **{"formats": "json", "max-increase": "5%"})
    assert 4 == done.returncode, done.stdout + done.stderr
    assert "**The threshold was passed.**" in repository.api.comments[0]["body"]


PRICES = "bomgen_prices: 1\nname: p\ncurrency: USD\ndate: 2026-11-01\nprices:\n  - {part: qm9700, price: 20000}\n"
PRICED = "quote: {price_book: ../prices.yaml, currency: USD}\n"


def test_what_a_plan_reads_is_reviewed(repository: Repository) -> None:
    """A plan whose price book, base or part is changed is compared; one row sums all plans; the threshold is judged."""
    own = "catalog: [../parts]\n"
    based = "bomgen: 1\nname: based\nextends: ../bases/seller.yaml\ncluster: {gpu: h100-sxm, servers: 16}\n"
    repository.write("prices.yaml", PRICES)
    repository.write("plans/old.yaml", PLAN.replace("NAME", "old") + PRICED)
    repository.write("bases/seller.yaml", "fabrics: {compute: {switch: qm9700}}\n" + PRICED)
    repository.write("plans/based.yaml", based)
    repository.write("parts/switch/mine.yaml", "name: Mine\nports: 64\nport_gbps: 400\n")
    repository.write("plans/own.yaml", (PLAN.replace("NAME", "own") + own).replace("qm9700", "mine"))
    repository.base = repository.commit()
    repository.write("prices.yaml", PRICES.replace("20000", "30000"))
    repository.write("parts/switch/mine.yaml", "name: Mine\nports: 32\nport_gbps: 400\n")
    repository.commit()
    assert 0 == repository.on_github(shell=False, formats="json").returncode
    assert "| `plans/own.yaml` | changed inputs | no price | no price | |" in repository.api.comments[0]["body"]
    done = repository.on_github(shell=False, **{"formats": "json", "max-increase": "5%"})
    assert 4 == done.returncode, done.stdout + done.stderr
    body = repository.api.comments[0]["body"]
    assert "| `plans/own.yaml` |" in body
    for name in ("old", "based"):
        assert f"| `plans/{name}.yaml` | threshold passed | 120,000.00 USD | 180,000.00 USD | +60,000.00 |" in body
    assert "| **all plans** | | 240,000.00 USD | 360,000.00 USD | +120,000.00 |" in body
    assert "Changed: `prices.yaml`." in body
    assert "plans/gone.yaml" not in body
    assert body.count("<details>") == body.count("</details>") >= 3


@pytest.mark.parametrize("link", ["../.git/config", "../../host/secret"])
def test_links_show_nothing(link: str, repository: Repository) -> None:
    """A link in place of a template, a picture, a price book or the plan shows nothing of what it leads to."""
    held_back = "extraheader = AUTHORIZATION: basic c2VjcmV0"
    repository.git("config", "http.extraheader", held_back)
    (repository.host / "secret").write_text(held_back, "utf-8")
    (repository.folder / "plans" / "config.j2").symlink_to(link)
    (repository.folder / "plans" / "linked.yaml").symlink_to(link)
    for key, value in (
        ("template", "templates: [config.j2]"),
        ("logo", "quote: {vendor: {name: x, logo: config.j2}}"),
        ("book", "quote: {price_book: config.j2}"),
        ("base", "extends: config.j2"),
    ):
        repository.write(f"plans/{key}.yaml", PLAN.replace("NAME", key) + f"{value}\n")
    repository.commit()
    done = repository.on_github(shell=False, formats="json,html")
    assert 1 == done.returncode
    body = repository.api.comments[0]["body"]
    assert "| `plans/linked.yaml` | a link |" in body
    assert 4 == body.count("| cannot be built |")
    assert "Links are not followed: `plans/config.j2`." in body
    written = [path.read_text("utf-8") for path in repository.results.rglob("*") if path.is_file()]
    assert not [text for text in (*written, body, done.stdout, done.stderr) if "c2VjcmV0" in text]


@pytest.mark.parametrize(("threshold", "code"), [("5%", 4), ("", 0)])
def test_a_threshold_that_cannot_be_judged(threshold: str, code: int, repository: Repository) -> None:
    """Where a plan cannot be compared, a threshold counts as passed; without one nothing depends on it."""
    repository.write("plans/old.yaml", "was: no plan\n")
    repository.base = repository.commit()
    repository.write("plans/old.yaml", PLAN.replace("NAME", "old"))
    repository.commit()
    done = repository.on_github(shell=False, **{"formats": "json", "max-increase": threshold})
    assert code == done.returncode, done.stdout + done.stderr
    body = repository.api.comments[0]["body"]
    assert "Not compared." in body
    assert bool(threshold) == ("The threshold cannot be judged" in body)


@pytest.mark.parametrize("most", [300, 65_000])
def test_a_long_comment_is_cut(most: int) -> None:
    """A comment is never longer than the host takes, ends at a line, and leaves no block of code or fold open."""
    text = (
        f"{MARKER}\n<details><summary>a</summary>\n\n"
        + "````text\n"
        + "a line of some länge\n" * 9000
        + "````\n</details>\n"
    )
    short = REVIEW["cut"](text, most)
    assert most - 100 < len(short.encode()) <= most
    assert short.startswith(MARKER)
    assert 2 == short.count("````")
    assert short.count("<details>") == short.count("</details>")
    assert REVIEW["CUT"] in short
    assert text == REVIEW["cut"](text, len(text.encode()))


def test_a_comment_of_many_lines_is_cut_in_one_pass() -> None:
    """To cut a long text takes a few calls of functions a line, however many lines there are."""
    count = 20_000
    kept = f"{MARKER}\n<details>\n```text\n" + "é\n" * count
    expected = f"{kept}```\n</details>{REVIEW['CUT']}"
    text = f"{kept}é\n```\n</details>\n" + "after\n" * count
    calls = Counter[str]()
    sys.setprofile(lambda _, event, __: calls.update((event,)))
    try:
        short = REVIEW["cut"](text, len(expected.encode()))
    finally:
        sys.setprofile(None)
    assert expected == short
    assert calls["call"] + calls["c_call"] < 20 * count


def test_the_longest_comments_fit_their_hosts() -> None:
    """GitHub takes 65 536 characters, GitLab 1 000 000; what is counted here is bytes, of which there are more."""
    assert REVIEW["LONGEST"]["github"] < 65_536
    assert REVIEW["LONGEST"]["gitlab"] < 1_000_000


def test_annotations_are_escaped() -> None:
    """In properties %, line ends, colon and comma are written as GitHub asks for, in messages % and line ends."""
    from bomgen.cli.check import _annotation
    from bomgen.core.diagnostics import Problem
    from bomgen.core.provenance import Mark

    shown = _annotation(Problem(Mark("a%b:c,d\r\n.yaml", 3, 4), "error", "50 %: a,\r\nb", "rule"))
    assert "::error file=a%25b%3Ac%2Cd%0D%0A.yaml,line=3,col=4::50 %25: a,%0D%0Ab [rule]" == shown


# what a request may do ----------------------------------------------------------------------------------------------

SHIM = """#!/bin/sh
case "$*" in
*"-m venv"*)
    for folder; do :; done
    "{python}" "$@" --without-pip && cp "{python}" "$folder/bin/python.real" 2>/dev/null
    ln -sf "$0" "$folder/bin/python" ;;
*) PIP_DRY_RUN=1 PIP_NO_INDEX=1 exec "{python}" "$@" ;;
esac
"""
"""A `python3` that makes an environment without pip, and whose environments are this one: there all packages are."""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that whatever was planted writes to."""
    return tmp_path / "mark"


@pytest.mark.parametrize("on", ["github", pytest.param("gitlab", marks=pytest.mark.deep)])
def test_nothing_of_a_request_is_run(on: str, repository: Repository, mark: Path) -> None:
    """Packages, programs, filters and hooks that a request brings are files; every step of both recipes is run."""
    plant(repository.folder, mark)
    repository.write(".gitattributes", "* filter=planted\n")
    repository.write("post-index-change", f"#!/bin/sh\ntouch '{mark}'\n")
    (repository.folder / "post-index-change").chmod(0o755)
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    for key, value in (
        *(("filter.planted.smudge", f"touch '{mark}'; cat"), ("core.hooksPath", ".")),
        *(("filter.planted.required", "true"), ("core.fsmonitor", "./post-index-change")),
    ):
        repository.git("config", key, value)
    mark.unlink(missing_ok=True)
    shim = repository.host / "shim" / "python3"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(python=sys.executable), "utf-8")
    shim.chmod(0o755)
    path = {"PATH": os.pathsep.join((str(shim.parent), str(repository.host / "bin"), os.environ["PATH"]))}
    shutil.rmtree(repository.host / "bomgen")
    install, environment = repository.step("Install", "", {})
    if on == "gitlab":
        install = f'sh "{ROOT}/ci/install.sh" "$RUNNER_TEMP/bomgen"'
    installed = repository.bash(install, environment | path)
    assert not mark.exists(), mark.read_text("utf-8")
    assert 0 == installed.returncode, installed.stderr
    done = repository.on_github(formats="json") if on == "github" else repository.on_gitlab(BOMGEN_FORMATS="json")
    assert not mark.exists(), mark.read_text("utf-8")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "| `plans/new.yaml` | a new plan |" in repository.api.comments[0]["body"]


def test_what_is_installed_comes_from_the_lock_files() -> None:
    """Both recipes install by one script: packages by their hashes, and bomgen itself without any further one."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Install"]
    for text in (step["run"], "\n".join(JOBS["bomgen"]["before_script"])):
        assert "ci/install.sh" in text
        assert "pip" not in text
    installs = [
        line for line in (ROOT / "ci" / "install.sh").read_text("utf-8").splitlines() if line.startswith("install ")
    ]
    assert ["--require-hashes", "--no-deps"] == [line.split()[1] for line in installs]
    for name in ("run", "build"):
        assert f"requirements/{name}.txt" in installs[0]
    assert "--no-build-isolation" in installs[1]


def test_the_token_is_for_the_comment_alone(repository: Repository) -> None:
    """No step or job that reads files of a request has the token, and the review refuses to run where it is set."""
    for step in ACTION["runs"]["steps"]:
        assert (step["name"] == "Comment") == ("inputs.token" in str(step)), step["name"]
    assert "environment" not in JOBS["bomgen"]
    assert "bomgen-comment" == JOBS["bomgen-comment"]["environment"]["name"]
    assert "ci/post.py" in JOBS["bomgen-comment"]["script"][-1]
    done = repository.on_gitlab(shell=False, BOMGEN_TOKEN=TOKEN)
    assert (2, True) == (done.returncode, "give it to ci/post.py alone" in done.stderr)
    assert [] == repository.api.asked


def test_bomgen_has_no_secrets(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment of the review bomgen has what it needs."""
    seen: list[dict[str, str]] = []

    class Child:
        returncode = 0

        def communicate(self) -> tuple[bytes, bytes]:
            return b"", b""

    def start(*_: Any, environment: dict[str, str], **__: Any) -> Child:
        seen.append(environment)
        return Child()

    monkeypatch.setenv("CI_JOB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_OUTPUT", "there")
    monkeypatch.setitem(REVIEW["bomgen"].__globals__, "start_python", start)
    REVIEW["bomgen"]("check", folder=repository.folder)
    assert {"PATH", "NO_COLOR"} <= seen[0].keys() <= {*REVIEW["KEPT"], *NEEDED_VARIABLES, "NO_COLOR"}
    assert not [name for name in REVIEW["KEPT"] if "TOKEN" in name or name.startswith(("CI", "GITHUB"))]


@pytest.mark.parametrize("planted", few(["link", "dangling", "files", "parent"], 2))
def test_results_go_into_a_new_folder(planted: str, repository: Repository, tmp_path: Path) -> None:
    """A link or files of a request at the place of the results are neither written through nor attached."""
    aim = tmp_path / "aim"
    aim.mkdir(exist_ok=True)
    (aim / "secret").write_text("secret", "utf-8")
    output = "bomgen-review/inner" if planted == "parent" else "bomgen-review"
    place = repository.folder / "bomgen-review"
    if planted == "files":
        repository.write("bomgen-review/quotes/plans/new.yaml/new/quote.html", "forged")
    else:
        place.symlink_to(tmp_path / "nowhere" if planted == "dangling" else aim)
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    refused = repository.on_gitlab(shell=False, BOMGEN_FORMATS="json", BOMGEN_OUTPUT=output)
    assert (2, []) == (refused.returncode, repository.api.asked)
    assert ["secret"] == [path.name for path in aim.iterdir()]
    done = repository.on_gitlab(BOMGEN_FORMATS="json", BOMGEN_OUTPUT=output)
    assert 0 == done.returncode, done.stderr
    assert ["secret"] == [path.name for path in aim.iterdir()]
    assert not (tmp_path / "nowhere").exists()
    attached = repository.folder / output
    assert ["comment.json", "quotes/plans/new.yaml/new/bom.json"] == sorted(
        path.relative_to(attached).as_posix() for path in attached.rglob("*") if not path.is_dir()
    )


@pytest.mark.parametrize("wrong", ["link", "pipe", "long", "words", "list", "unmarked", "none"])
def test_only_a_comment_of_the_review_is_posted(wrong: str, tmp_path: Path) -> None:
    """What lies in place of the comment, or is none, is not posted, and is not waited for."""
    place = tmp_path / "comment.json"
    text = json.dumps({"body": f"{MARKER}\nx" if wrong != "unmarked" else "x", "only_change": False})
    if wrong == "link":
        (tmp_path / "other").write_text(text, "utf-8")
        place.symlink_to(tmp_path / "other")
    elif wrong == "pipe":
        os.mkfifo(place)
    elif wrong != "none":
        place.write_text({"long": text + " " * POST["MOST"], "words": "no", "list": "[]"}.get(wrong, text), "utf-8")
    found = POST["written"](tmp_path)
    assert (found is None) == (wrong != "long"), found
    if wrong == "long":
        assert f"{MARKER}\nx" == found.body


ALL_PRICES = PRICES + "".join(
    f"  - {{part: {part}, price: 100}}\n" for part in ("dgx-h100", "mma4z00-ns-flt", "mma4z00-ns", "mfp7e10-n030")
)


def in_usd(name: str, servers: int) -> str:
    """A plan with prices."""
    return PLAN.replace("NAME", name).replace("16", str(servers)) + PRICED


REWRITTEN = "# rewritten\n" * 40
"""What keeps git from seeing that a file is another one under a new name."""


def test_a_removed_plan_shows_its_amount(repository: Repository) -> None:
    """What a plan came to that is removed is in its row, and in the sum."""
    repository.write("prices.yaml", PRICES)
    repository.write("plans/gone.yaml", in_usd("gone", 16))
    repository.base = repository.commit()
    (repository.folder / "plans" / "gone.yaml").unlink()
    repository.write("plans/new.yaml", REWRITTEN + in_usd("new", 128))
    repository.commit()
    assert 0 == repository.on_github(shell=False, formats="json").returncode
    body = repository.api.comments[0]["body"]
    rows = [line for line in body.splitlines() if line.startswith("| ")]
    assert "| `plans/gone.yaml` | removed | 120,000.00 USD | | -120,000.00 |" in rows
    assert "| **all plans** | | 120,000.00 USD | 960,000.00 USD | +840,000.00 |" in rows


SUMS = {
    "renamed and rewritten": (["old 16"], ["new 128"], "1%", 4),
    "renamed and rewritten, beside a large plan": (["old 16", "large 2048"], ["new 128", "large 2048"], "1%", 4),
    "renamed, and half as large": (["old 128"], ["new 16"], "1%", 0),
    "one shrinks, another one is new": (["old 128"], ["old 16", "new 1024"], "1%", 4),
    "new beside a large one": (["large 2048"], ["large 2048", "new 16"], "50%", 0),
    "new, and much for the others": (["large 16"], ["large 16", "new 16"], "50%", 4),
    "new, by an amount": (["large 16"], ["large 16", "new 16"], "100000", 4),
    "the first plan": ([], ["new 16"], "5%", 0),
    "two that grow less": (["a 64", "b 64"], ["a 64", "b 65"], "100%", 0),
    "no threshold": (["old 16"], ["new 128"], "", 0),
}


@pytest.mark.parametrize("case", SUMS)
def test_the_sum_of_all_plans_is_judged(case: str, repository: Repository) -> None:
    """A threshold holds for the sum over plans that are changed, added and removed, whatever they are called."""
    before, after, threshold, expected = SUMS[case]
    repository.write("prices.yaml", ALL_PRICES)
    for side in (before, after):
        shutil.rmtree(repository.folder / "plans", ignore_errors=True)
        for name, servers in (plan.split() for plan in side):
            text = in_usd(name, int(servers))
            repository.write(f"plans/{name}.yaml", text if name != "new" else REWRITTEN + text)
        repository.write("side", str(side))
        commit = repository.commit()
        if side is before:
            repository.base = commit
    done = repository.on_github(shell=False, **{"formats": "json", "max-increase": threshold})
    body = repository.api.comments[0]["body"]
    assert expected == done.returncode, body + done.stderr
    assert ("passed by the sum over all plans" in body) == (expected == 4)


def test_prices_that_are_left_out_hide_nothing(repository: Repository) -> None:
    """A plan that is renamed and loses its prices does not become cheaper: the increase cannot be judged."""
    repository.write("prices.yaml", PRICES)
    repository.write("plans/old.yaml", in_usd("old", 16))
    repository.base = repository.commit()
    (repository.folder / "plans" / "old.yaml").unlink()
    repository.write("plans/new.yaml", REWRITTEN + PLAN.replace("NAME", "new").replace("16", "128"))
    repository.commit()
    done = repository.on_github(shell=False, **{"formats": "json", "max-increase": "5%"})
    assert 4 == done.returncode, done.stdout
    assert "there is more without a price (" in repository.api.comments[0]["body"]


def test_a_threshold_that_is_none(repository: Repository) -> None:
    """A threshold that cannot be read is wrong usage, also where plans are only added."""
    repository.write("plans/new.yaml", PLAN.replace("NAME", "new"))
    repository.commit()
    done = repository.on_github(shell=False, **{"max-increase": "five"})
    assert (2, True) == (done.returncode, "BOMGEN_MAX_INCREASE: give a share such as 5%" in done.stderr)
