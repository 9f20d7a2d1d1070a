"""The program of the process that templates are rendered in: it reads what to do, gives up all it may, and does it."""

from __future__ import annotations

import gc
import json
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from math import ceil
from types import FrameType
from typing import Any, NoReturn

from bomgen.core.process_limits import lower_limit
from bomgen.output.user_templates.process import HEAD, LIMIT, Answer, Fault, Limits, too_slow
from bomgen.output.user_templates.sandbox import Slow, render, writer

REFUSED = ("ctypes.", "import", "open", "os.", "shutil.", "signal.", "socket.", "subprocess.", "winreg.")
"""Beginnings of the audit events of what no template needs: files, processes, the network, code from elsewhere."""
KILLED_AFTER = 1
"""Seconds of processor time from the signal that names a line, which one long operation holds up, to the end."""
SPARE_BYTES = 32 << 20
"""Memory beyond the limit, to say in what line it was reached."""


def main() -> None:
    """Render or parse the templates that stand on standard input: texts, or faults, on standard output as they come."""
    given = json.load(sys.stdin.buffer)
    limits, data = Limits(*given["limits"]), given["data"]
    filters = writer(given["language"], data["bom"]["totals"]["currency"] if data else "")
    _give_up(limits)
    gc.freeze()
    left = float(limits.cpu_seconds)
    for name, text in given["templates"]:
        (answer, faults), left = _timed(partial(render, text, name, filters, data, limits, _use_spare), limits, left)
        body = json.dumps(faults).encode() if faults else answer
        sys.stdout.buffer.write(HEAD.pack(bool(faults), len(body)))
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        if any(fault.rule == LIMIT for fault in faults):
            return
        del answer, body
        gc.collect()  # what a template held, also in circles, is memory that the next one may take


def _timed(rendered: Callable[[], Answer], limits: Limits, left: float) -> tuple[Answer, float]:
    """What a template gives, and what it leaves of the seconds of processor time that there were."""
    try:
        _set_timer(left)
        answer = rendered()
        return answer, _set_timer(0)
    except Slow:  # behind the last line of the template, or while another fault was told
        return (b"", [Fault(0, too_slow(limits), LIMIT)]), 0


def _set_timer(seconds: float) -> float:
    """Let the processor time end after seconds, with 0 not at all, and return what was left; Windows counts none."""
    return signal.setitimer(signal.ITIMER_PROF, seconds)[0] if hasattr(signal, "setitimer") else 0


def _give_up(limits: Limits) -> None:
    """Let go of everything that a template does not need, as far as the platform knows how."""
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, _say_where)
    cpu = ceil(time.process_time() + limits.cpu_seconds) + KILLED_AFTER
    for kind, soft, hard in (
        ("RLIMIT_CPU", cpu, cpu + KILLED_AFTER),
        ("RLIMIT_AS", limits.memory_bytes, limits.memory_bytes + SPARE_BYTES),
        ("RLIMIT_FSIZE", 0, 0),
        ("RLIMIT_NOFILE", 0, 0),
        ("RLIMIT_NPROC", 0, 0),
        ("RLIMIT_CORE", 0, 0),
    ):
        lower_limit(kind, soft, hard)
    sys.addaudithook(_refuse)


def _use_spare(limits: Limits) -> None:
    """Let the process have the memory that is kept for its last words."""
    lower_limit("RLIMIT_AS", limits.memory_bytes + SPARE_BYTES, limits.memory_bytes + SPARE_BYTES)


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"no {event} for a template")


def _say_where(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Slow
