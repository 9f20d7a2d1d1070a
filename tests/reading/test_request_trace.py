"""Traces of requests: with the headings of public traces, and what is wrong with those that cannot be used."""

from __future__ import annotations

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.reading.request_trace import read_trace

COUNT = 100


def table(header: str, *rows: str) -> bytes:
    """A table with so many rows that it has percentiles: the given ones again and again."""
    return "\n".join([header, *(rows * COUNT)[:COUNT]]).encode()


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("arrival,prompt_tokens,output_tokens", ("7,1000,30", "4.5,200,1")),
        ("Timestamp,Model,Request tokens,Response tokens,Total tokens", ("7,GPT,1000,30,1030", "4.5,GPT,200,1,201")),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens",
            ("2023-11-16 18:15:49.1805900,1000,30", "2023-11-16 18:15:46.6805900,200,1"),
        ),
        ("output_length;input_length;timestamp", ("30;1000;7", "1;200;4.5")),
    ],
)
def test_public_traces_are_read(header: str, rows: tuple[str, ...]) -> None:
    """In any order of columns and rows; the first request arrives at 0 s, the other 2.5 s later."""
    requests = read_trace(table(header, *rows), "trace.csv")
    assert len(requests) == COUNT
    assert tuple(requests[0]) == (0, 200, 1)
    assert tuple(requests[-1]) == (2.5, 1000, 30)


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (b"", "trace.csv:1:1", "an empty table"),
        (table("arrival,prompt_tokens", "1,2"), "trace.csv:1:1", "no column `output_tokens`"),
        (table("arrival,prompt_tokens,output_tokens", "1,2,3"), "trace.csv:2:1", "all requests arrive at once"),
        (b"arrival,prompt_tokens,output_tokens\n1,2,3\n2,2,3", "trace.csv:1:1", "2 requests have no percentiles"),
        (table("arrival,prompt_tokens,output_tokens", "noon,2,3"), "trace.csv:2:1", "'noon' is not a valid arrival"),
        (table("arrival,prompt_tokens,output_tokens", "1,-2,3"), "trace.csv:2:3", "'-2' is not a valid number of tok"),
        (table("arrival,prompt_tokens,output_tokens", "1,2,1e99"), "trace.csv:2:5", "'1e99' is not a valid number"),
        (table("arrival,prompt_tokens,output_tokens", "1,2"), "trace.csv:2:3", "'' is not a valid number of tokens"),
        (table("arrival,prompt_tokens,output_tokens", "nan,2,3"), "trace.csv:2:1", "'nan' is not a valid arrival"),
    ],
)
def test_a_trace_that_cannot_be_used_is_refused(content: bytes, place: str, message: str) -> None:
    """With the place and what would be right."""
    with pytest.raises(PlanErrors) as caught:
        read_trace(content, "trace.csv")
    assert str(caught.value).startswith(f"{place}: error: {message}"), caught.value
