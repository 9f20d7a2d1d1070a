"""The open pages and their child processes: one for what is typed, one for what takes long.

A page has one call at a time in each; others wait. A newer turn of the page ends the older ones, and soon one without
a turn, such as an answer of the form. A call ends, too, when whoever asked for it has gone or it takes too long: `tend`
looks after that. Nothing that a page does waits for another page.

A child carries out the calls of its lane with the catalogue kept in memory. Requests come as lines of JSON on standard
input, answers go as lines of JSON to standard output: of a long call first `{"progress": ...}` lines. An interrupt ends
the current call and not the process, once an empty line has said that the process is ready. The end of standard input
ends the process at once, so that none is left behind when the server is killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from http import HTTPStatus
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Event, Lock, Thread
from time import monotonic
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, cast

from bomgen.core.diagnostics import OutputError, PlanErrors
from bomgen.core.jobs import (
    COLLECT_AFTER,
    PIPE,
    Listener,
    OutOfTime,
    Stopped,
    heard_by,
    limit_memory,
    limit_processor_time,
    start_python,
)
from bomgen.core.resources import BrokenInstallation
from bomgen.core.yaml_edit import NotEditable
from bomgen.serve.calls import CALLS, CANCELLED, INTERNAL, OUT_OF_MEMORY, Refused, Workspace, failure, problems_data

if TYPE_CHECKING:
    from bomgen.core.jobs import Child

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


class _Progress(Listener):
    """A listener that passes on how much of a long call is done."""

    def __init__(self, answer: Callable[[Any], None]) -> None:
        self._answer, self._last = answer, 0.0

    def stage(self, name: str) -> None:
        """Report that a stage begins."""
        self._tell({"stage": name})

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
        gc.collect()
        if not gc.get_freeze_count():  # takes a millisecond then: objects of the first call are not examined again
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


MOST_PAGES = 6
"""Pages with processes; that of the page unused for longest ends when another one comes."""
MOST_WAITING = 16
"""Calls of a page that wait."""
PATIENCE_S, PATIENCE_WITH_RESULT_S = 1, 20
"""Seconds in which an interrupted call ends, or one that is to answer what it has found; then its process does.

A call without a turn is interrupted after the former when a newer turn comes.
"""
MOST_SECONDS = 600
"""Seconds that a call may take."""
BUSY = failure(HTTPStatus.TOO_MANY_REQUESTS, "busy", "too many calls wait; try again")
ENDED = failure(HTTPStatus.INTERNAL_SERVER_ERROR, "ended", "the process has ended; try again")

Answer = dict[str, Any]


class Lane:
    """A child process with its calls."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._child: Child | None = None
        self._free = Condition(Lock())
        self._running: int | None = None
        """The turn of the current call; None without one."""
        self._waiting, self._newest, self._closed = 0, 0, False
        self._calls, self._ended = 0, 0
        """The number of the last call, and of the last one that was to end early."""
        self._gone = Event()
        """Whether the client of the current call has gone."""
        self._late, self._patience, self._killed = inf, 0, inf
        """When the current call is interrupted and how long it then has, and when its process is killed."""
        self._ready = False
        """Whether the process can be interrupted; one that starts would end."""

    def call(self, name: str, request: Answer, turn: int, gone: Event) -> Generator[Answer, None, None]:
        """Yield the progress of a call and its answer; once its client is `gone`, the call ends."""
        if refused := self._enter(turn, gone):
            yield refused
            return
        try:
            with closing(self._talk(name, request)) as answers:
                for answer in answers:
                    # One that is interrupted before its process has read it, or in its last step, may have a result.
                    yield CANCELLED if self._is_over(turn, gone) else answer
        finally:
            with self._free:
                self._running, self._gone, self._late, self._killed = None, Event(), inf, inf
                if self._closed:
                    self._discard()
                self._free.notify_all()

    def stop(self) -> None:
        """End the current call."""
        with self._free:
            self._interrupt(PATIENCE_WITH_RESULT_S)

    def tend(self) -> None:
        """End a call that takes too long or whose client has gone, and the process of one that does not end."""
        with self._free:
            if monotonic() >= self._killed:
                self._kill()
            elif self._gone.is_set():
                self._interrupt(PATIENCE_S)
            elif monotonic() >= self._late:
                self._interrupt(self._patience)
            self._free.notify_all()  # of those that wait, some may have gone

    def close(self) -> None:
        """End the process, and whatever waits for it."""
        with self._free:
            self._closed = True
            self._free.notify_all()
            self._kill()
            if self._running is None:
                self._discard()

    def _enter(self, turn: int, gone: Event) -> Answer | None:
        with self._free:
            if turn and turn < self._newest:
                return CANCELLED
            if self._waiting >= MOST_WAITING:
                return BUSY
            if turn > self._newest:
                self._newest = turn
                if self._running:
                    self._interrupt(PATIENCE_S)
                else:
                    self._late, self._patience = monotonic() + PATIENCE_S, PATIENCE_S
                self._free.notify_all()
            self._waiting += 1
            try:
                while self._running is not None and not self._is_over(turn, gone):
                    self._free.wait()
            finally:
                self._waiting -= 1
            if self._is_over(turn, gone):
                return CANCELLED
            self._running, self._gone = turn, gone
            self._late, self._patience = monotonic() + MOST_SECONDS, PATIENCE_WITH_RESULT_S
            self._calls += 1
            return None

    def _is_over(self, turn: int, gone: Event) -> bool:
        return self._closed or gone.is_set() or 0 < turn < self._newest

    def _interrupt(self, patience: int) -> None:
        """Interrupt the current call; its process ends if it does not."""
        child = self._child
        if self._running is None:
            return
        self._ended = self._calls
        if child is None or not self._ready:
            return
        if sys.platform == "win32":
            child.kill()
            return
        self._killed = min(self._killed, monotonic() + patience)
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGINT)

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def _talk(self, name: str, request: Answer) -> Generator[Answer, None, None]:
        """Send a call to the process and yield its answers; a process that ended before its answer is replaced once."""
        line = json.dumps({"call": name, "request": request}).encode() + b"\n"
        for again in (False, True):
            child = self._started()
            if self._is_to_end or self._closed:
                yield CANCELLED
                return
            sent, answers = cast(IO[bytes], child.stdin), cast(IO[bytes], child.stdout)
            try:
                sent.write(line)
                sent.flush()
                while content := answers.readline():
                    answer = json.loads(content)
                    if not again and answer.get("error", {}).get("error") in (INTERNAL, OUT_OF_MEMORY):
                        break  # a new process is whole, and has the memory that earlier calls have left in this one
                    yield answer
                    if "progress" not in answer:
                        return
            except GeneratorExit:
                if "progress" in answer:
                    self._drain(child, answers)
                raise
            except (OSError, ValueError):
                pass
            self._discard()
            if self._is_to_end or self._closed:
                yield CANCELLED
                return
        yield ENDED

    @property
    def _is_to_end(self) -> bool:
        with self._free:
            return self._ended == self._calls

    def _started(self) -> Child:
        """Return the process, started if there is none, as soon as it can be interrupted."""
        child = self._child
        if child is None or child.poll() is not None:
            self._discard()
            arguments = (str(self._workspace.folder), str(self._workspace.root))
            child = self._child = start_python("bomgen.serve.pages", "main", arguments, stdin=PIPE)
            cast(IO[bytes], child.stdout).readline()
            self._ready = True
        return child

    def _drain(self, child: Child, answers: IO[bytes]) -> None:
        """Read the rest of the answer to a call whose page has gone."""
        with self._free:
            self._interrupt(PATIENCE_S)
        while (content := answers.readline()) and b'"progress"' in content[:12]:
            pass
        if child.poll() is not None:
            self._discard()

    def _discard(self) -> None:
        child, self._child = self._child, None
        self._ready = False
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with suppress(OSError):
                    cast(IO[bytes], pipe).close()


class Pages:
    """The lanes of the open pages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._lock = workspace, Lock()
        self._lanes: OrderedDict[tuple[str, bool], Lane] = OrderedDict()

    def call(self, page: str, name: str, request: Answer, turn: int, gone: Event) -> Generator[Answer, None, None]:
        """Yield the progress of a call of a page and its answer; once its client is `gone`, the call ends."""
        return self._lane(page, CALLS[name].long).call(name, request, turn, gone)

    def tend(self) -> None:
        """End calls that take too long or whose clients have gone."""
        with self._lock:
            lanes = [*self._lanes.values()]
        for lane in lanes:
            lane.tend()

    def warm_up(self) -> None:
        """Start the process of the first page, so that it is ready when the page is."""
        for _ in self._lane("", False).call("", {}, 0, Event()):
            pass

    def stop(self, page: str) -> None:
        """End the long call of a page."""
        with self._lock:
            lane = self._lanes.get((page, True))
        if lane:
            lane.stop()

    def leave(self, page: str) -> None:
        """End the processes of a page that was closed."""
        with self._lock:
            lanes = [self._lanes.pop(key) for key in ((page, False), (page, True)) if key in self._lanes]
        for lane in lanes:
            lane.close()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            pages = {page for page, _ in self._lanes}
        for page in pages:
            self.leave(page)

    def _lane(self, page: str, long: bool) -> Lane:
        """Return a lane of a page; a new page takes the process that is ready, or nearly so."""
        with self._lock:
            key = page, long
            if key not in self._lanes:
                ready = None if long else self._lanes.get(("", False))
                if page and ready:
                    del self._lanes[("", False)]
                    self._lanes[key] = ready
                else:
                    self._lanes[key] = Lane(self._workspace)
            self._lanes.move_to_end(key)
            lane, old = self._lanes[key], []
            while len(self._lanes) > 2 * MOST_PAGES:
                old.append(self._lanes.popitem(last=False)[1])
        for idle in old:
            idle.close()
        return lane
