"""A search on a Dask cluster of real processes: the same bytes, workers and schedulers that die."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted import plant
from processor import PATIENCE

from bomgen.cli.command import main

ROOT = Path(__file__).parents[2]
PLAN = str(ROOT / "plans" / "search-30b.yaml")
SMALL = ("--over", "cluster.gpu=h100-sxm,b200-sxm", "--over", "cluster.servers=6..16 step 2", "-f", "json")
MIDDLE = ("--over", "cluster.gpu=h100-sxm,b200-sxm", "--over", "cluster.servers=12..25", "-f", "json")
LONG = ("--over", "cluster.gpu=b200-sxm", "--over", "cluster.servers=8..208", "-f", "json")
SLOWED = """
import time
import bomgen.workflow.design_search as parts

parts.divide = lambda search: parts._divide(search.space.size, 1)
chunks = parts._chunks
parts._chunks = lambda search, part: (time.sleep(0.25), chunks(search, part))[1]
"""
"""What gives a search a middle, whatever works its designs out: a part for each, of a quarter of a second."""


class Cluster:
    """A scheduler and two workers, each a process."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        port = self.address.rpartition(":")[2]
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", port)
        (folder / "sitecustomize.py").write_text(SLOWED, encoding="utf-8")
        self.slowed = {"PYTHONPATH": str(folder)}
        self.workers = [self.start_worker(**self.slowed) for _ in range(2)]

    def start(self, kind: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a part of the cluster."""
        with (self.folder / f"{kind}-{len(self.processes)}.log").open("wb") as log:
            started = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + kind, *words, "--dashboard-address", "127.0.0.1:0"],
                stdout=log,
                stderr=log,
                env=os.environ | environment,
                cwd=self.folder,
            )
        self.processes.append(started)
        return started

    def start_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread."""
        words = (self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
        return self.start("worker", *words, **environment)

    def end(self) -> None:
        """End what is left of it."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that is ended afterwards."""
    started = Cluster(tmp_path)
    yield started
    started.end()


def search(cluster: Cluster, *words: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """A search on a cluster, as a process."""
    command = [Path(sys.executable).with_name("bomgen"), "search", PLAN, *words, "--scheduler", cluster.address]
    environment = os.environ | cluster.slowed
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder)


def test_a_cluster_one_process_and_several_write_the_same_bytes(cluster: Cluster) -> None:
    """However the space is divided; packages in the current folder have no part in it."""
    mark, folder = cluster.folder / "mark", cluster.folder / "sent"
    folder.mkdir()
    plant(folder, mark)
    alone = CliRunner().invoke(main, ["search", PLAN, *SMALL])
    assert alone.exit_code == 0
    assert CliRunner().invoke(main, ["search", PLAN, *SMALL, "--jobs", "2"]).output == alone.output
    process = search(cluster, *SMALL, folder=folder)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert out.decode() == alone.output
    assert not mark.exists(), mark.read_text("utf-8")


@pytest.mark.deep
def test_a_worker_that_is_killed_costs_only_time(cluster: Cluster) -> None:
    """Its work is repeated by the other one, and the front is the same."""
    process = search(cluster, *MIDDLE)
    wait_for_work(cluster, process)
    time.sleep(1)
    assert process.poll() is None
    cluster.workers[0].send_signal(signal.SIGKILL)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert out.decode() == CliRunner().invoke(main, ["search", PLAN, *MIDDLE]).output


@pytest.mark.deep
def test_a_scheduler_that_is_killed_ends_the_search_with_what_was_found(cluster: Cluster) -> None:
    """A line says so, and the exit code is not that of a whole search."""
    process = search(cluster, *LONG)
    wait_for_work(cluster, process)
    time.sleep(5)
    assert process.poll() is None
    cluster.scheduler.send_signal(signal.SIGKILL)
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert f"bomgen: the cluster of {cluster.address} is lost" in errors.decode()
    assert b"Traceback" not in errors
    found = json.loads(out)
    assert 0 < found["tried"] < found["designs"]
    assert found["front"]


def wait_for_work(cluster: Cluster, process: subprocess.Popen[bytes]) -> None:
    """Wait until the workers are at the parts of a search."""
    from distributed import Client

    with Client(cluster.address, timeout=PATIENCE, set_as_default=False) as client:
        end = time.monotonic() + PATIENCE
        while not any(client.processing().values()):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)


def test_no_scheduler_is_wrong_usage() -> None:
    """In one line, after some seconds."""
    outcome = CliRunner().invoke(main, ["search", PLAN, *SMALL, "--scheduler", "udp://nowhere"])
    assert outcome.exit_code == 2
    assert "Error: no scheduler answers at udp://nowhere" in outcome.output


def test_a_worker_with_another_catalogue_refuses(cluster: Cluster, tmp_path: Path) -> None:
    """One line says what differs."""
    for worker in cluster.workers:
        worker.kill()
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text(
        "import bomgen.workflow.design_search as it\nit.__version__ = '0.0.1'\n", encoding="utf-8"
    )
    cluster.start_worker(PYTHONPATH=str(other))
    process = search(cluster, *SMALL)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, b"")
    assert "a worker differs from this machine in its version, its catalogue or the files" in errors.decode()
