"""What the processes of the page hold after many edits: as much as after a few."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bomgen.serve.engine import TABS

CHECKOUT = Path(__file__).parents[2]
PLAN = (CHECKOUT / "plans" / "llama65b.yaml").read_text("utf-8")
DAYS = "target_days: 20"
FEW, MANY = 10, 1000
"""Edits after which memory is looked at; `make deep` makes as many as somebody makes in a day."""
MOST = 1.2
"""Times the memory after a few edits."""


@pytest.fixture
def served() -> Iterator[tuple[int, str]]:
    """Return the process and the address of a server of the plans."""
    command = [sys.executable, "-m", "bomgen", "serve", "plans", "--no-browser", "--root", "."]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.pid, process.stdout.readline().strip()
        process.kill()


def _resident(pid: int) -> dict[int, int]:
    """Return the memory of a process and of those that it has started [bytes]."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    pages = {each: int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in (pid, *children)}
    return {each: held * os.sysconf("SC_PAGE_SIZE") for each, held in pages.items()}


def _edit(address: str, number: int) -> None:
    """Build the plan with other days, in one tab after the other."""
    place = urlsplit(address)
    text = PLAN.replace(DAYS, f"target_days: {number % 37 + 10}.{number:04}")
    request = {"path": "edited.yaml", "text": text, "base": PLAN, "tabs": [[*TABS][number % len(TABS)]]}
    connection = http.client.HTTPConnection(place.netloc, timeout=120)
    body = json.dumps(request | {"page": "memory", "turn": number})
    connection.request("POST", f"/api/build?{place.query}", body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["headline"], answer


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_edits(served: tuple[int, str]) -> None:
    """Neither that of the server nor that of the page's process, whose garbage and caches are bounded."""
    pid, address = served
    for number in range(1, FEW + 1):
        _edit(address, number)
    few = _resident(pid)
    for number in range(FEW + 1, MANY + 1):
        _edit(address, number)
    grown = {each: held / few[each] for each, held in _resident(pid).items()}
    print(grown)
    assert max(grown.values()) < MOST
