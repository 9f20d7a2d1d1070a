"""A command that takes more processor time or memory than it may ends with one line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from bomgen.cli import command
command.SECONDS, command.MEMORY = {seconds}, {memory}
command.SECONDS_OF, command.MEMORY_OF = {{"search": {seconds}}}, {{}}
command.run()
"""
PLAN = """bomgen: 1
name: x
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 8000}
fabrics: {compute: {switch: qm9700, topology: rail-optimized, reserved_ports: 2}}
search: {over: {cluster.servers: 1..3000}, minimise: [gpus]}
"""
BILL = "part,quantity\nDGX H100,557583\nQM9700,188111\n"
GIBI = 1 << 30


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit both")
@pytest.mark.parametrize(
    ("arguments", "seconds", "memory", "said"),
    [
        (["xray", "bill.csv"], 2, GIBI, "not finished after 2 s of processor time; nothing was written"),
        (["wiring", "plan.yaml", "-o", "x.csv"], 60, 160 << 20, "out of memory; nothing was written"),
        (
            ["search", "plan.yaml"],
            3,
            GIBI,
            "not finished after 3 s of processor time; some of 3000 designs were evaluated",
        ),
    ],
)
def test_one_line_and_nothing_else(arguments: list[str], seconds: int, memory: int, said: str, tmp_path: Path) -> None:
    """Exit code 1, no traceback, no file."""
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    (tmp_path / "bill.csv").write_text(BILL, "utf-8")
    command = [sys.executable, "-c", PROGRAM.format(seconds=seconds, memory=memory), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    *warnings, last = done.stderr.splitlines()
    last = re.sub(r"\d+ of 3000", "some of 3000", last)  # as many as the machine is fast
    assert (done.returncode, last) == (1, f"bomgen: {said}")
    assert all(" warning: " in line for line in warnings)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bill.csv", "plan.yaml"]
