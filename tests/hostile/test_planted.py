"""Python packages that a stranger put beside a plan: nothing that bomgen starts imports one of them.

Every planted module, package and program leaves a mark when it runs. The command is the console script: `python -m`
itself imports from the current folder before bomgen can say anything about it.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest
from depth import few
from planted import plant

from bomgen.cli.command import COMMANDS as SUBCOMMANDS

ROOT = Path(__file__).parents[2]
BOMGEN = Path(sys.executable).with_name("bomgen")
PLAN = """bomgen: 1
name: NAME
cluster: {gpu: h100-sxm, servers: 16}
fabrics: {compute: {switch: qm9700}}
quote: {price_book: prices.yaml, cost_book: costs.yaml, currency: USD}
templates: [order.txt.j2]
"""
PRICES = "bomgen_prices: 1\nname: p\ncurrency: USD\ndate: 2026-11-01\nprices:\n  - {part: qm9700, price: 20000}\n"
BILL = "part,quantity\nMQM9700-NS2F,6\n"


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that whatever was planted writes to."""
    return tmp_path / "mark"


@pytest.fixture
def folder(tmp_path: Path, mark: Path) -> Path:
    """A folder with two plans and what they name, in a git checkout, as a stranger sent it."""
    found = tmp_path / "sent"
    found.mkdir()
    for name in ("a", "b"):
        (found / f"{name}.yaml").write_text(PLAN.replace("NAME", name), "utf-8")
    (found / "served.yaml").write_text(SERVED, "utf-8")
    (found / "prices.yaml").write_text(PRICES, "utf-8")
    (found / "bill.csv").write_text(BILL, "utf-8")
    (found / "order.txt.j2").write_text("{{ plan.name }}\n", "utf-8")
    (found / "list.txt.j2").write_text("{{ plan.name }}\n", "utf-8")
    (found / "costs.yaml").write_text(PRICES, "utf-8")
    (found / "token").write_text("word", "utf-8")
    (found / "list.csv").write_text("part number,description,price USD\nMQM9700-NS2F,switch,20000\n", "utf-8")
    plant(found, mark)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "sent"]):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, *words], cwd=found, check=True)
    return found


def environment(**given: str) -> dict[str, str]:
    """The environment of a user: no variables of Python's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | given


def run(command: list[str | Path], folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """What a command says, run in a folder."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**given),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


SERVED = """\
bomgen: 1
name: served
workload:
  inference: {model: llama-3.1-8b, prompt_tokens: 900, output_tokens: 300, requests_per_minute: 60}
cluster: {gpu: h100-sxm}
"""
COMMANDS = {
    "build": ["build a.yaml -o out -f md,html,xlsx,json,csv,svg,cdx --template list.txt.j2"],
    "build --jobs": ["build a.yaml b.yaml --jobs 2 -o out -f json"],
    "check": ["check a.yaml b.yaml"],
    "explain": ["explain a.yaml fabrics.compute.switches.spine"],
    "compare": ["compare a.yaml b.yaml", "compare a.yaml --alternatives"],
    "search": [
        "search a.yaml --over cluster.servers=8,16",
        "search a.yaml --over cluster.servers=1..64 --jobs 2",
        "search a.yaml --over cluster.servers=8,16 --scheduler udp://nowhere",
    ],
    "diff": ["diff HEAD:a.yaml b.yaml", "diff a.yaml b.yaml"],
    "xray": ["xray bill.csv"],
    "simulate": ["simulate served.yaml --requests 1000"],
    "wiring": ["wiring a.yaml -f csv -o wiring.csv"],
    "push": ["push netbox a.yaml --url http://127.0.0.1:1 --token-file token --dry-run"],
    "verify": ["wiring a.yaml -f csv -o built.csv", "verify a.yaml built.csv"],
    "help": ["help wiring"],
    "prices": ["prices list.csv", "prices --for a.yaml"],
    "apply": ["build a.yaml -o out -f quote.xlsx", "apply out/a/quote.xlsx a.yaml"],
    "margin": ["margin a.yaml"],
    "lock": ["lock a.yaml"],
    "init": ["init new"],
    "catalog": ["catalog switch qm9700"],
    "schema": ["schema plan"],
    "completion": ["completion bash"],
}


def test_every_command_is_tried() -> None:
    """No command of bomgen is left out; the one that serves a page has a test of its own, and `mcp` needs its extra."""
    assert sorted(SUBCOMMANDS) == sorted({"serve", "mcp", *(name.partition(" ")[0] for name in COMMANDS)})


def test_the_page_runs_nothing_that_lies_beside_a_plan(folder: Path, mark: Path) -> None:
    """Neither its server nor the process that builds for it."""
    with subprocess.Popen(
        [BOMGEN, "serve", "--no-browser"], cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            address = re.search(r"http://([\d.:]+)/\?(\S+)", server.stdout.readline())
            assert address
            plan = {"path": "a.yaml", "text": (folder / "a.yaml").read_text("utf-8"), "tabs": ["quote", "cables"]}
            page = HTTPConnection(address[1])
            page.request("POST", f"/api/build?{address[2]}", json.dumps(plan), {"Content-Type": "application/json"})
            assert set(json.load(page.getresponse())["tabs"]) == {"quote", "cables"}
            page.close()
        finally:
            server.terminate()
    assert not mark.exists(), mark.read_text("utf-8")


@pytest.mark.parametrize("name", few(COMMANDS, 3))
def test_no_command_runs_what_lies_beside_a_plan(name: str, folder: Path, mark: Path) -> None:
    """Neither the command nor any process that it starts imports or runs something of the plan's folder."""
    run_beside(COMMANDS[name], folder, mark)


@pytest.mark.usefixtures("printer")
def test_printing_runs_nothing_that_lies_beside_a_plan(folder: Path, mark: Path) -> None:
    """WeasyPrint and what it needs are not looked for there either."""
    run_beside(["build a.yaml -o out -f pdf"], folder, mark)


def run_beside(commands: list[str], folder: Path, mark: Path) -> None:
    """Run commands in the folder: they end well, and nothing of it runs."""
    for words in commands:
        done = run([BOMGEN, *words.split()], folder)
        assert "Traceback" not in done.stderr, done.stderr
        assert not mark.exists(), mark.read_text("utf-8")
        assert "://" in words or done.returncode == 0, done.stdout + done.stderr  # those that reach no server


def test_parallel_builds_work_where_bomgen_is_run_by_python(folder: Path, mark: Path) -> None:
    """With `python -P -m bomgen` the jobs are this bomgen as well."""
    words = ["-m", "bomgen", "build", "a.yaml", "b.yaml", "--jobs", "2", "-o", "out", "-f", "json"]
    done = run([sys.executable, "-P", *words], folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a", "b"]
    assert not mark.exists(), mark.read_text("utf-8")


STARTED = """
import multiprocessing
from bomgen.__main__ import run

if __name__ == "__main__":
    multiprocessing.set_start_method("METHOD")
    run()
"""


@pytest.mark.parametrize(
    "method", sorted({"spawn", "forkserver"} & {*__import__("multiprocessing").get_all_start_methods()})
)
def test_processes_of_a_search_import_nothing_from_there(method: str, folder: Path, mark: Path, tmp_path: Path) -> None:
    """Pythons that start processes anew, as on Windows and macOS, look into the current folder first."""
    script = tmp_path / "safe" / "start.py"
    script.parent.mkdir()
    script.write_text(STARTED.replace("METHOD", method), "utf-8")
    done = run([sys.executable, script, "search", "a.yaml", "--over", "cluster.servers=1..64", "--jobs", "2"], folder)
    assert not mark.exists(), mark.read_text("utf-8")
    assert done.returncode == 0, done.stderr


NOTEBOOK = """
import os, sys
import bomgen
assert sys.path[0] == ""
bomgen.build("safe.yaml").write("out", "json")
os.chdir(sys.argv[1])
bomgen.build("a.yaml").write("out", "json")
"""


def test_a_notebook_starts_nothing_that_imports_from_there(folder: Path, mark: Path, tmp_path: Path) -> None:
    """A notebook looks for modules in its current folder; the processes that bomgen starts for it do not."""
    safe = tmp_path / "safe"
    safe.mkdir()
    (safe / "safe.yaml").write_text(PLAN.replace("NAME", "safe"), "utf-8")
    for name in ("prices.yaml", "costs.yaml", "order.txt.j2"):
        (safe / name).write_bytes((folder / name).read_bytes())
    done = run([sys.executable, "-c", NOTEBOOK, folder], safe)
    assert done.returncode == 0, done.stderr
    assert not mark.exists(), mark.read_text("utf-8")
    assert (folder / "out" / "order.txt").read_text("utf-8") == "a\n"


@pytest.mark.parametrize("path", [":", ".:", ""])
def test_git_is_not_the_program_of_the_current_folder(path: str, folder: Path, mark: Path) -> None:
    """A PATH with an empty or a relative entry means the current folder to the system, and nothing to bomgen."""
    done = run([BOMGEN, "diff", "HEAD:a.yaml", "b.yaml"], folder, PATH=f"{path}{os.environ['PATH']}")
    assert not mark.exists(), mark.read_text("utf-8")
    assert done.returncode == 0, done.stderr


def test_git_starts_nothing_that_a_checkout_configures(folder: Path, mark: Path) -> None:
    """A checkout that came with its `.git` names programs: to watch files, as hooks, and to fetch what is missing."""
    program = folder / "python"
    for key, value in (
        *(
            ("core.fsmonitor", program),
            ("core.hooksPath", folder),
            ("core.pager", program),
            ("core.sshCommand", program),
        ),
        *(("extensions.partialClone", "origin"), ("remote.origin.url", f"ext::{program} %S")),
        *(("remote.origin.promisor", "true"), ("remote.origin.uploadpack", program), ("protocol.ext.allow", "always")),
    ):
        subprocess.run(["git", "config", key, str(value)], cwd=folder, check=True)
    blob = subprocess.run(["git", "rev-parse", "HEAD:a.yaml"], cwd=folder, check=True, capture_output=True, text=True)
    digest = blob.stdout.strip()
    (folder / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    done = run([BOMGEN, "diff", "HEAD:a.yaml", "b.yaml"], folder)
    assert not mark.exists(), mark.read_text("utf-8")
    assert (done.returncode, "git does not have 'a.yaml' at HEAD; fetch it" in done.stderr) == (2, True), done.stderr


def test_no_address_of_a_plan_is_used(folder: Path) -> None:
    """A scheduler can run code in bomgen: only the command line names one, neither a plan nor a variable of Dask's."""
    with socket.create_server(("127.0.0.1", 0)) as scheduler:
        address = f"tcp://127.0.0.1:{scheduler.getsockname()[1]}"
        plan = (folder / "a.yaml").read_text("utf-8")
        space = f"search: {{over: {{cluster.servers: [8, 16]}}, scheduler: '{address}'}}\n"
        (folder / "named.yaml").write_text(plan + space, "utf-8")
        named = run([BOMGEN, "search", "named.yaml"], folder)
        assert (named.returncode, "scheduler" in named.stderr) == (1, True), named.stderr
        words = ["search", "a.yaml", "--over", "cluster.servers=8,16"]
        assert run([BOMGEN, *words], folder, DASK_SCHEDULER_ADDRESS=address).returncode == 0
        assert select.select([scheduler], [], [], 0)[0] == []
        refused = run([BOMGEN, *words, "--set", f"search.scheduler={address}"], folder)
        assert refused.returncode == 1
        assert select.select([scheduler], [], [], 0)[0] == []
