"""A client of yaml-language-server, as editors are: it opens texts, and asks what is wrong, completed or explained."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from processor import PATIENCE

SETTINGS = {
    "yaml": {
        "validate": True,
        "hover": True,
        "completion": True,
        "format": {"enable": False},
        "schemaStore": {"enable": False, "url": ""},
        "schemas": {},
    },
    "http": {},
    "[yaml]": {},
    "editor": {},
    "files": {},
}
"""What an editor is set to: nothing of bomgen's, so that all that is known comes from the first line of a plan."""
CAPABILITIES = {
    "textDocument": {
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
        "hover": {"contentFormat": ["markdown"]},
        "publishDiagnostics": {},
    },
    "workspace": {"configuration": True},
}
CURSOR = "|"
"""Where the cursor stands in a text."""


class LanguageServer:
    """A running server, spoken to over its standard input and output."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
        self._messages: Queue[dict[str, Any]] = Queue()
        self._answers: dict[int, dict[str, Any]] = {}
        self._problems: dict[str, list[dict[str, Any]]] = {}
        self._asked = self._version = 0
        Thread(target=self._read, daemon=True).start()
        folder = {"processId": os.getpid(), "rootUri": None, "workspaceFolders": None}
        self._ask("initialize", {**folder, "capabilities": CAPABILITIES, "initializationOptions": {}})
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": SETTINGS})

    def problems(self, place: Path, text: str) -> list[tuple[int, int, str]]:
        """Line and column, from 1, and words of what is wrong with a text that lies at a place."""
        uri = self._open(place, text)
        while uri not in self._problems:
            self._take()
        found = [
            (entry["range"]["start"]["line"] + 1, entry["range"]["start"]["character"] + 1, entry["message"])
            for entry in self._problems[uri]
        ]
        self._close(uri)
        return found

    def completions(self, place: Path, text: str) -> dict[str, str]:
        """What can stand at the cursor of a text, with what is said of each."""
        found = self._at_cursor("textDocument/completion", place, text)
        items = found["items"] if isinstance(found, dict) else found or []
        return {item["label"]: _words(item.get("documentation")) for item in items}

    def hover(self, place: Path, text: str) -> str:
        """What is said of the word at the cursor of a text."""
        return _words((self._at_cursor("textDocument/hover", place, text) or {}).get("contents"))

    def close(self) -> None:
        """End the server."""
        self._ask("shutdown", None)
        self._tell("exit", None)
        self._process.wait(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _at_cursor(self, method: str, place: Path, text: str) -> Any:
        before, _, after = text.partition(CURSOR)
        uri = self._open(place, before + after)
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        answer = self._ask(method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}})
        self._close(uri)
        return answer

    def _open(self, place: Path, text: str) -> str:
        uri = place.as_uri()
        self._problems.pop(uri, None)
        self._version += 1  # the server remembers what it made of each version
        document = {"uri": uri, "languageId": "yaml", "version": self._version, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def _close(self, uri: str) -> None:
        """Close a text, and wait until the server takes its problems back."""
        self._problems.pop(uri, None)
        self._tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        while uri not in self._problems:
            self._take()

    def _tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _ask(self, method: str, params: Any) -> Any:
        self._asked += 1
        number = self._asked
        self._send({"id": number, "method": method, "params": params})
        while number not in self._answers:
            self._take()
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self._process.stdin.flush()

    def _take(self) -> None:
        """Take one message of the server: an answer, a question, or the problems of a text."""
        try:
            message = self._messages.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError("the language server does not answer") from None
        assert message, "the language server has ended"
        method = message.get("method")
        if method and "id" in message:
            asked = message["params"]["items"] if method == "workspace/configuration" else ()
            result = [SETTINGS.get(item.get("section"), {}) for item in asked] if asked else None
            self._send({"id": message["id"], "result": result})
        elif method == "textDocument/publishDiagnostics":
            self._problems[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message:
            self._answers[message["id"]] = message

    def _read(self) -> None:
        """Put every message of the server into the queue; an empty one when it ends."""
        stream = self._process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put({})


def _words(text: Any) -> str:
    """The text of a hover or of a completion, whichever way it is given."""
    return str(text["value"] if isinstance(text, dict) else text or "")
