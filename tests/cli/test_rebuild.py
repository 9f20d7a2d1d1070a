"""`bomgen build --watch`, as a process that is watched in turn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processor import PATIENCE

PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 2}\n"


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on POSIX systems")
def test_a_change_is_built(tmp_path: Path) -> None:
    """The plan is built, built again after a change, wrong ones are said, and Ctrl-C ends with 130."""
    # A shell has its background jobs ignore Ctrl-C, and so would the program that a test among them starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plan, result, said = tmp_path / "small.yaml", tmp_path / "dist" / "small" / "bom.csv", tmp_path / "said"
    plan.write_text(PLAN, "utf-8")
    command = [sys.executable, "-m", "bomgen", "build", "small.yaml", "-f", "csv", "--watch"]
    with said.open("wb") as errors, subprocess.Popen(command, cwd=tmp_path, stderr=errors) as process:
        try:
            wait_for(lambda: said.read_text().count("watching 1 files") == 1)
            first = result.read_bytes()
            plan.write_text(PLAN.replace("servers: 2", "servers: 33"), "utf-8")
            wait_for(lambda: said.read_text().count("watching 1 files") == 2)
            assert result.read_bytes() != first
            plan.write_text("bomgen: 1\n", "utf-8")
            wait_for(lambda: "small.yaml:1:1: error" in said.read_text())
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()


@pytest.mark.parametrize("arguments", [("-",), ("small.yaml", "-o", "-", "-f", "json")])
def test_streams_cannot_be_watched(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Neither standard input nor standard output goes with `--watch`."""
    (tmp_path / "small.yaml").write_text(PLAN, "utf-8")
    command = [sys.executable, "-m", "bomgen", "build", *arguments, "--watch"]
    ended = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "--watch takes plans that are files" in ended.stderr
