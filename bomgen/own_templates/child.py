"""The program of the process that a template is rendered in: it reads what to do, gives up all it may, and does it."""

from __future__ import annotations

import json
import signal
import sys
import time
from math import ceil
from types import FrameType
from typing import Any, NoReturn

from bomgen.own_templates.process import FAULTY, Limits
from bomgen.own_templates.sandbox import Slow, render, writer

REFUSED = ("ctypes.", "import", "open", "os.", "shutil.", "signal.", "socket.", "subprocess.", "winreg.")
"""Beginnings of the audit events of what no template needs: files, processes, the network, code from elsewhere."""
KILLED_AFTER = 1
"""Seconds of processor time from the signal that names a line, which one long operation holds up, to the end."""
SPARE_BYTES = 32 << 20
"""Memory beyond the limit, to say in what line it was reached."""


def main() -> None:
    """Render or parse the template that stands on standard input: the text, or its faults, on standard output."""
    given = json.load(sys.stdin.buffer)
    limits, data = Limits(*given["limits"]), given["data"]
    filters = writer(given["language"], data["bom"]["totals"]["currency"] if data else "")
    _give_up(limits, given["seconds"])
    answer, faults = render(given["text"], given["name"], filters, data, limits, _use_spare)
    sys.stdout.buffer.write(json.dumps(faults).encode() if faults else answer)
    sys.stdout.buffer.flush()
    sys.exit(FAULTY if faults else 0)


def _give_up(limits: Limits, seconds: float) -> None:
    """Let go of everything that a template does not need, as far as the platform knows how."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, _say_where)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    cpu = ceil(time.process_time() + seconds) + KILLED_AFTER
    for kind, soft, hard in (
        ("RLIMIT_CPU", cpu, cpu + KILLED_AFTER),
        ("RLIMIT_AS", limits.memory_bytes, limits.memory_bytes + SPARE_BYTES),
        ("RLIMIT_FSIZE", 0, 0),
        ("RLIMIT_NOFILE", 0, 0),
        ("RLIMIT_NPROC", 0, 0),
        ("RLIMIT_CORE", 0, 0),
    ):
        _limit(kind, soft, hard)
    sys.addaudithook(_refuse)


def _limit(kind: str, soft: int, hard: int) -> None:
    """Lower a limit of the process; a platform without it leaves it to the others."""
    try:
        import resource

        number = getattr(resource, kind)
        most = resource.getrlimit(number)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(number, (soft, hard))
    except (ImportError, AttributeError, ValueError, OSError):  # Windows, a kind unknown there, macOS and address space
        return


def _use_spare(limits: Limits) -> None:
    """Let the process have the memory that is kept for its last words."""
    _limit("RLIMIT_AS", limits.memory_bytes + SPARE_BYTES, limits.memory_bytes + SPARE_BYTES)


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"no {event} for a template")


def _say_where(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Slow
