"""Public functions give what they gave, call by call; `tests/calls.py` says what that proves."""

from __future__ import annotations

import calls
import pytest


@pytest.mark.parametrize(("module", "call", "value"), calls.cases())
def test_a_call_gives_what_it_gave(module: str, call: str, value: str) -> None:
    """The value is the same; the call names nothing private. `python tests/calls.py` writes values anew."""
    assert not calls.private_names(call)
    assert value != f"{calls.RAISES}NameError"
    assert calls.given(call, calls.names(calls.import_module(f"bomgen.{module}"))) == value
