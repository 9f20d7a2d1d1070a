"""`bomgen mcp`: an assistant gets what the library gives, in a few kB, and reads nothing outside its folder."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from judging import Judge

from bomgen.cli.start import MOST, _short, list_tools, shorten

ROOT = Path(__file__).parents[2]
PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 16}\nfabrics: {compute: {switch: qm9700}}\n"


def ask(tool: str, folder: Path = ROOT, **request: Any) -> str:
    """Return the answer of a tool."""
    [chosen] = [each for each in list_tools(folder) if each.__name__ == tool]
    answer: str = _short(chosen)(**request)
    return answer


@pytest.mark.parametrize(
    ("tool", "request_", "said"),
    [
        ("build", {"plan": "plans/llama65b.yaml"}, '"GPUs": "2,048"'),
        ("build", {"plan": PLAN, "set": ["cluster.servers=32"]}, '"GPUs": "256"'),
        ("build", {"plan": PLAN.replace("qm9700", "qm9701")}, "did you mean 'qm9700'?"),
        ("build", {"plan": "plans/none.yaml"}, "No such file"),
        ("explain", {"plan": PLAN, "path": "fabrics.compute.switches.leaf"}, "leaf = 4 switches"),
        ("find_parts", {"text": "MQM9700-NS2F"}, "QM9700"),
        (
            "search",
            {"plan": PLAN, "over": ["cluster.servers=8,16"], "minimise": ["switches"]},
            '"cluster.servers": "8"',
        ),
        ("diff", {"old": PLAN, "new": PLAN, "set": ["cluster.servers=32"]}, '"after": "32"'),
        ("wiring", {"plan": PLAN, "fabric": "compute"}, '"left_out": '),
    ],
)
def test_a_tool_answers_in_a_few_kilobytes(tool: str, request_: dict[str, Any], said: str) -> None:
    """With the numbers of the command, or with the problem at its line."""
    answer = ask(tool, **request_)
    assert said in answer
    assert len(answer) <= MOST


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/hostname", "link.yaml"])
def test_nothing_outside_the_folder_is_read(name: str, tmp_path: Path) -> None:
    """By a path that leads out, an absolute one, or a link."""
    (tmp_path / "secret.yaml").write_text(PLAN, "utf-8")
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for tool, key in (("build", "plan"), ("xray", "bill")):
        assert ask(tool, folder, **{key: name}).endswith("name a file below it")


def test_rows_that_do_not_fit_are_counted() -> None:
    """The first rows are whole; the rest is a number."""
    rows = [{"number": number, "text": "x" * 100} for number in range(500)]
    answer = json.loads(shorten(rows))
    assert answer["rows"] == rows[: len(answer["rows"])]
    assert answer["left_out"] == 500 - len(answer["rows"]) > 0


def test_an_assistant_calls_the_tools(judge: Judge) -> None:
    """By the SDK's own client, over standard input and output."""
    judge("python:mcp")

    async def talk() -> tuple[set[str], str]:
        client, stdio = import_module("mcp"), import_module("mcp.client.stdio")
        server = client.StdioServerParameters(command=sys.executable, args=["-m", "bomgen", "mcp"])
        async with stdio.stdio_client(server) as streams, client.ClientSession(*streams) as session:
            await session.initialize()
            listed = await session.list_tools()
            answer = await session.call_tool("build", {"plan": PLAN})
            return {tool.name for tool in listed.tools}, answer.content[0].text

    names, answer = asyncio.run(talk())
    assert names == {tool.__name__ for tool in list_tools(ROOT)}
    assert json.loads(answer)["figures"]["GPUs"] == "128"
