"""Any JSON in place of any field of any call: an answer or a refusal, never an error that nobody foresaw."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest
from depth import few
from hypothesis import given
from hypothesis import strategies as st

from bomgen.serve import pages
from bomgen.serve.calls import CALLS, Refused, Workspace, pack, read_request
from bomgen.serve.server import OWN_CALLS, HttpError, _own_call

PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 2}\n"
FILE = {"name": "list.csv", "base64": b64encode(b"sku,price\nh100-sxm,5\n").decode()}
OPENED = {"path": "small.yaml", "text": PLAN}
VALID: dict[str, dict[str, Any]] = {
    "files": {},
    "open": {"path": "small.yaml", "gallery": "llama65b", "packed": pack(PLAN)},
    "save": {**OPENED, "version": ""},
    "stop": {},
    "leave": {},
    "check": OPENED,
    "build": {**OPENED, "base": PLAN, "language": "en", "tabs": ["bill"], "phase": "first"},
    "complete": {**OPENED, "line": 3, "column": 12},
    "device": {**OPENED, "device": "server-01", "language": "zh"},
    "formats": OPENED,
    "form": {**OPENED, "answers": {"cluster.gpu": "h200-sxm", "purpose": "training"}, "goal": "train"},
    "space": {"text": PLAN, "language": "en"},
    "set": {"text": PLAN, "set": {"cluster.servers": 4}},
    "offers": OPENED,
    "picture": {"name": "a100-32-zh", "language": "en"},
    "prices": {**FILE, **OPENED, "answers": {"price": "price=B"}, "entered": True},
    "xray": {**FILE, "answers": {"quantity": "quantity=B"}, "plan": OPENED, "language": "zh"},
    "verify": {**OPENED, "files": [FILE, FILE], "language": "zh"},
    "apply": {**FILE, **OPENED, "choices": {}},
    "search": {**OPENED, "over": {"cluster.servers": [2, 4]}, "minimise": "power", "within": {"gpus": 64}},
    "download": {**OPENED, "format": "md"},
    "compare": {"plans": [OPENED, OPENED], "language": "en"},
    "share": OPENED,
}
"""A request of each call, with all of its fields."""
PAGES = SimpleNamespace(stop=lambda _: None, leave=lambda _: None)
FIELDS = {name: call.fields for name, call in CALLS.items()} | {name: fields for name, (_, fields) in OWN_CALLS.items()}
SLOW = ("offers", "picture", "share", "compare", "search", "download")
"""Calls that take long with any request that is not refused."""
ODD = ["", "5", "-", "[", "{}", "a: b", "*a", "&a [*a]", "&a {b: *a}", "\0", "\ufeff", "1e999", "2..9", "!x", "%", "…"]
KEYS = [
    "search",
    "name",
    "cluster",
    "cluster.gpu",
    "cluster.servers",
    "cluster.0",
    "fabrics.a.b",
    "quote.charges.0",
    ".",
]
FILES = ["small.yaml", "folder.yaml", "small.yaml/none.yaml", "eA==", "JVBERi0xLjQ=", "UEsDBA==", "0M8R4KGxGuE="]
"""Paths, and the first bytes of a PDF and of workbooks."""
BLOCKS = ["fabrics: [1]", "search: 5", "search: {over: 5}", "extends: folder.yaml", "quote: {price_book: folder.yaml}"]
PLANS = [PLAN, *(f"{PLAN}{block}\n" for block in BLOCKS), PLAN.replace("gpu: h100-sxm, ", "")]
TEXTS = st.sampled_from([*ODD, *KEYS, *FILES, *PLANS]) | st.text(max_size=20)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a folder with one plan, and a folder that is named like one."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "small.yaml").write_text(PLAN, "utf-8")
    (folder / "folder.yaml").mkdir()
    return Workspace(folder)


def answer(workspace: Workspace, call: str, request: Any) -> Any:
    """Return the status of the answer to a request, as the server and the process of a page give it."""
    try:
        request = read_request(FIELDS[call], request)
        if call in OWN_CALLS:
            server: Any = SimpleNamespace(workspace=workspace, opened=None, pages=PAGES)
            json.dumps(_own_call(server, call, request, "page"))
            return 200
    except Refused:
        return 400
    except HttpError as error:
        return error.status
    found = pages._result(workspace, {"call": call, "request": request}, pages._Turn(), io.BytesIO())
    json.dumps(found, allow_nan=False)
    return found.get("status", 200)


def of_kind(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of the kind of a field, in which texts are odd ones."""
    if kind is str:
        return TEXTS
    if isinstance(kind, tuple):
        return st.one_of(map(of_kind, kind))
    if isinstance(kind, list):
        return st.lists(of_kind(kind[0]), max_size=3)
    if isinstance(kind, dict) and str in kind:
        return st.dictionaries(TEXTS, of_kind(kind[str]), max_size=2)
    if isinstance(kind, dict):
        return st.fixed_dictionaries({name.removesuffix("?"): of_kind(field) for name, field in kind.items()})
    return st.from_type(kind)


@st.composite
def requests(draw: st.DrawFn, call: str) -> Any:
    """Return a request of a call with other values in some of its fields."""
    request = dict(VALID[call])
    fields = {name.removesuffix("?"): kind for name, kind in FIELDS[call].items()} | {"language": str, "turn": int}
    for name in draw(st.lists(st.sampled_from([*fields]), min_size=1, max_size=2, unique=True)):
        request[name] = draw(of_kind(fields[name]) if draw(st.integers(0, 3)) else JSON)
    return request


def test_every_call_has_an_example() -> None:
    """With each of its fields, but those that every call may have."""
    assert {call: {*fields} - {"language"} for call, fields in VALID.items()} == {
        call: {name.removesuffix("?") for name in fields} for call, fields in FIELDS.items()
    }


@pytest.mark.parametrize("call", sorted(VALID))
def test_a_valid_request_is_answered(workspace: Workspace, call: str) -> None:
    """Each example is answered, so that the others differ from an answered one."""
    assert answer(workspace, call, VALID[call]) in (200, 409, 422)


@pytest.mark.parametrize("call", sorted(VALID))
def test_any_field_may_be_anything(workspace: Workspace, call: str) -> None:
    """Any request is answered, or refused by a status that says so."""

    @given(requests(call))
    def check(request: Any) -> None:
        assert answer(workspace, call, request) < 500

    check()


WITHOUT_NUMPY = ("check", "build", "complete", "form", "space", "set", "prices", "xray", "apply")


@pytest.mark.parametrize("call", few(WITHOUT_NUMPY, 3))
def test_most_calls_need_no_numpy(workspace: Workspace, call: str) -> None:
    """A plan of a fixed size lists no cables and compares no splits; in a browser NumPy is a download more."""
    program = (
        "import json, sys\nsys.modules['numpy'] = None\nfrom pathlib import Path\n"
        "from bomgen.core.diagnostics import PlanErrors\nfrom bomgen.serve.calls import CALLS\n"
        "from bomgen.serve.calls import Workspace\n"
        "try:\n    CALLS[sys.argv[1]](Workspace(Path(sys.argv[2])), json.loads(sys.argv[3]))\n"
        "except PlanErrors:\n    pass"
    )
    command = [sys.executable, "-c", program, call, str(workspace.folder), json.dumps(VALID[call])]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
