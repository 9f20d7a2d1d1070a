"""The child process that carries out the calls of a page, one at a time, with the catalogue kept in memory.

Requests come as lines of JSON on standard input, answers go as lines of JSON to standard output: of a long call first
`{"progress": ...}` lines. An interrupt ends the current call and not the process, once an empty line has said that the
process is ready. The end of standard input ends the process at once, so that none is left behind when the server is
killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from types import FrameType
from typing import IO, Any

from bomgen.core.diagnostics import OutputError, PlanErrors
from bomgen.core.processes import COLLECT_AFTER, OutOfTime, Stopped, limit_memory, limit_processor_time
from bomgen.core.progress import heard_by
from bomgen.core.resources import BrokenInstallation
from bomgen.core.yaml_edit import NotEditable
from bomgen.serve.calls import CALLS, CANCELLED, INTERNAL, OUT_OF_MEMORY, failure, problems_data
from bomgen.serve.workspace import Refused, Workspace

MEMORY = 1 << 30
"""Most memory of the process [bytes]; 65 536 placed GPUs with the list of all their cables take half of it."""
SECONDS, SECONDS_WHEN_LONG = 60, 600
"""Processor time of a call, and of one that takes long."""
REFUSED = HTTPStatus.UNPROCESSABLE_ENTITY
NO_MEMORY = failure(REFUSED, OUT_OF_MEMORY, "more memory than a page may take; use `bomgen build`")
OFTEN = 0.1
"""Seconds between two lines of progress."""
WARM = "bomgen: 1\nname: warm\ncluster: {gpu: h200-sxm, servers: 2}\nfabrics: {compute: default}\n"
"""A plan that loads what most plans need."""


class _Turn:
    """Whether a call is in progress, which alone an interrupt may end, and whether one has ended it."""

    def __init__(self) -> None:
        self.busy = self.interrupted = False

    def begin(self) -> None:
        """Let an interrupt end the call that begins."""
        self.busy, self.interrupted = True, False

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.busy:
            self.busy, self.interrupted = False, True
            raise KeyboardInterrupt


class _Progress:
    """A listener that passes on how much of a long call is done."""

    def __init__(self, answer: Callable[[Any], None]) -> None:
        self._answer, self._last = answer, 0.0

    def stage(self, name: str) -> None:
        """Report that a stage begins."""
        self._tell({"stage": name})

    def read(self, name: str, size: int) -> None:
        """Ignore files."""

    def count(self, what: str, done: int, size: int) -> None:
        """Report that `done` of `size` pieces are done."""
        self._tell({"stage": what, "done": done, "of": size})

    def _tell(self, progress: dict[str, Any]) -> None:
        if (now := monotonic()) - self._last >= OFTEN:
            self._last = now
            self._answer({"progress": progress})


def main() -> None:
    """Execute the calls on standard input; the arguments are the folder and the root of its plans."""
    limit_memory(MEMORY)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(COLLECT_AFTER)
    turn, out = _Turn(), os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no answer
    signal.signal(signal.SIGINT, turn.interrupt)
    out.write(b"\n")
    out.flush()
    folder, root = sys.argv[1:]
    workspace = Workspace(Path(folder), Path(root))
    waiting: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin, waiting), daemon=True).start()
    while True:
        request = json.loads(waiting.get())
        try:
            _answer(out, _result(workspace, request, turn, out))
        except KeyboardInterrupt:  # while an error was being told
            _answer(out, CANCELLED)
        except MemoryError:  # the answer itself has no room
            _answer(out, NO_MEMORY)
        except Exception as error:
            # A module whose import was interrupted may be broken from then on: the process that follows has none.
            # An error that a library has made of an interrupt (openpyxl catches everything) is no answer either.
            message = f"internal error: {type(error).__name__}: {error}"
            failed = failure(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL, message)
            _answer(out, CANCELLED if turn.interrupted else failed)
            raise
        _tidy()


def _tidy() -> None:
    """Free what a call has left behind, in a millisecond: objects of the first call are not examined again."""
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()


def warm_up(workspace: Workspace) -> None:
    """Load what most plans need, before the first one is edited."""
    CALLS["build"](workspace, {"path": "warm.yaml", "text": WARM, "tabs": ["quote"]})


def _read(stream: IO[str], waiting: SimpleQueue[str]) -> None:
    for line in stream:
        waiting.put(line)
    os._exit(0)


def _result(workspace: Workspace, request: dict[str, Any], turn: _Turn, out: IO[bytes]) -> dict[str, Any]:
    """Return the result of a call, or its error with the status of HTTP that fits it."""
    try:
        turn.begin()
        if request["call"] == "":
            warm_up(workspace)
            return {"result": {}}
        call = CALLS[request["call"]]
        limit_processor_time(SECONDS_WHEN_LONG if call.long else SECONDS)
        with heard_by(_Progress((lambda data: _answer(out, data)) if call.long else (lambda _: None))):
            result = call(workspace, request["request"])
        turn.busy = False
        return {"result": result}
    except (KeyboardInterrupt, Stopped):
        return CANCELLED
    except Refused as error:
        return failure(HTTPStatus.BAD_REQUEST, "refused", error.said(request["request"]))
    except NotEditable as error:
        return failure(HTTPStatus.BAD_REQUEST, "refused", str(error))
    except PlanErrors as errors:
        path, text = (request["request"].get(key) or "" for key in ("path", "text"))
        problems = problems_data(errors.problems, path, text)
        return failure(REFUSED, "problems", str(errors.problems[0]), problems=problems)
    except MemoryError:
        return NO_MEMORY
    except OutOfTime as error:
        return failure(REFUSED, "failed", str(error))
    except (OSError, OutputError) as error:
        return failure(REFUSED, "failed", str(error))
    except BrokenInstallation as error:
        return failure(HTTPStatus.INTERNAL_SERVER_ERROR, "failed", str(error))
    except RecursionError:
        return failure(REFUSED, "too-deep", "the plan is nested too deeply")
    finally:
        turn.busy = False


def _answer(out: IO[bytes], data: dict[str, Any]) -> None:
    line = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")  # names of files may be no text
    out.write(line + b"\n")
    out.flush()
