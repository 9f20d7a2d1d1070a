"""What an editor shows of a plan by yaml-language-server: what is wrong, what can stand somewhere, what a key is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from language_server import LanguageServer

from bomgen.catalog.files import Catalog
from bomgen.fabric.types import topologies

CHECKOUT = Path(__file__).parents[2]
PLANS = CHECKOUT / "plans"
HERE = PLANS / "typed.yaml"
"""Where the texts of these tests would lie: nothing is written there."""
HEAD = "# yaml-language-server: $schema=../schemas/plan.catalog.schema.json\nbomgen: 1\nname: typed\n"
SWITCHED = "cluster: {gpu: h100-sxm}\nfabrics: {compute: {switch: %s}}"
BASES = PLANS / "shared"
"""What plans build on with `extends` is a piece of a plan: the schema of plans asks for keys that it leaves out."""
FILES = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for path in (*PLANS.rglob("*.yaml"), *CHECKOUT.glob("prices/*.yaml"))
    if BASES not in path.parents
)


@pytest.fixture(scope="module")
def server(judge, offline):
    """A language server without network and without settings: what it knows comes from the first line of a file."""
    program = judge("npm:yaml-language-server") / "bin" / "yaml-language-server"
    running = LanguageServer([*offline, "node", str(program), "--stdio"])
    yield running
    running.close()


@pytest.mark.parametrize("file", FILES)
def test_files_of_the_checkout_have_no_problems(server, file):
    """A plan, price book or part file names a schema in its first line and nothing in it is wrong by that."""
    text = (CHECKOUT / file).read_text("utf-8")
    schema = text.partition("\n")[0].removeprefix("# yaml-language-server: $schema=")
    assert ((CHECKOUT / file).parent / schema).is_file()
    assert server.problems(CHECKOUT / file, text) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("cluster: {gpu: h100-sxm, gpuz: 8}", 4, 26, "gpuz"),
        ("cluster: {gpu: h100-sxm, gpus: many}", 4, 32, "integer"),
        ("cluster: {gpu: 8}", 4, 16, "string, object"),
        ("cluster: {gpu: h100-sxm}\nfabrics:\n  compute:\n    topology: fat-tre", 7, 15, "fat-tree"),
        ("cluster: {gpu: h100-sxm}\nfabrics:\n  compute:\n    switch: {portz: 64}", 7, 14, "portz"),
        ("cluster: {gpu: h100-sxm}\nfabrics:\n  compute:\n    dragonfly: {a: four}", 7, 20, "integer"),
    ],
    ids=["unknown-key", "wrong-type", "number-as-id", "word", "part-described", "option-of-a-topology"],
)
def test_an_error_stands_at_its_place(server, text, line, column, words):
    """One problem at the line and column of what is wrong, which says what."""
    (found,) = server.problems(HERE, f"{HEAD}{text}\n")
    assert found[:2] == (line, column)
    assert words in found[2]


@pytest.mark.parametrize(
    "value",
    ["qm9700", "MQM9700-NS2F", "mqm9700-ns2f", "{ports: 64, port_gbps: 400}"],
    ids=["id", "number", "lower-case", "map"],
)
def test_other_names_and_mappings_are_no_errors(server, value):
    """A part number and a mapping are as right as an id of the catalogue."""
    assert server.problems(HERE, f"{HEAD}{SWITCHED % value}\n") == []


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("cluster: {gpu: h100-sxn}", 4, 16, "no gpu of this name"),
        (SWITCHED % "my-own-switch", 5, 29, "no switch of this name"),
    ],
    ids=["misspelt", "own"],
)
def test_a_name_that_the_catalogue_lacks_is_an_error(server, text, line, column, words):
    """A misspelt part is underlined, and so is one that is in no folder of the schema."""
    (found,) = server.problems(HERE, f"{HEAD}{text}\n")
    assert found[:2] == (line, column)
    assert words in found[2]


def test_parts_of_the_users_own_are_no_errors_without_the_catalogue(server):
    """The schema without ids takes any name of a part."""
    head = HEAD.replace("plan.catalog.", "plan.")
    assert server.problems(HERE, f"{head}{SWITCHED % 'my-own-switch'}\n") == []


@pytest.mark.parametrize(
    "text",
    ["cluster:\n  gpu: |", "fabrics:\n  compute:\n    switch: |", "spares: |", "quote:\n  customer: |", "workload: |"],
    ids=lambda value: value.split(":")[-2].split()[-1],
)
def test_no_proposal_is_a_mapping(server, text):
    """An example that is a mapping would be offered as `[object Object]`."""
    assert [each for each in server.completions(HERE, f"{HEAD}{text}\n") if "object" in each] == []


@pytest.mark.parametrize(
    ("text", "kind", "one", "words"),
    [
        ("cluster:\n  gpu: |", "gpu", "h100-sxm", "NVIDIA"),
        ("cluster:\n  server: dgx|", "server", "dgx-h100", "gpus 8"),
        ("workload:\n  training:\n    model: lla|", "model", "llama-2-7b", "Meta"),
        ("fabrics:\n  compute:\n    switch: qm|", "switch", "qm9700", "ports 64, port gbps 400"),
        ("fabrics:\n  compute:\n    spine:\n      switch: |", "switch", "qm9700", "infiniband"),
        ("fabrics:\n  compute:\n    nic: |", "nic", "cx7-400-osfp", "port gbps 400"),
        (
            "fabrics:\n  compute:\n    links:\n      leaf-spine:\n        module: mma|",
            "transceiver",
            "mma4z00-ns",
            "reach",
        ),
        ("fabrics:\n  compute:\n    links:\n      server-leaf:\n        fibre: |", "cable", "mfp7e10-nxxx", "kind"),
        ("fabrics:\n  compute:\n    links:\n      server-leaf:\n        panels:\n          panel: |", "panel", "", ""),
        ("fabrics:\n  compute:\n    hosts:\n      - name: a\n        part: |", "appliance", "ufm-ndr", "NVIDIA"),
        ("site:\n  rack:\n    part: |", "rack", "apc-ar3357", "weight"),
        ("clusters:\n  - name: a\n    gpu: |", "gpu", "h100-sxm", "NVIDIA"),
        ("site:\n  rack:\n    pdu: |", "pdu", "apc-ap8886", "power"),
    ],
    ids=lambda value: value.split(":")[-2].split()[-1] if "|" in value else "",
)
def test_ids_of_the_catalogue_are_offered(server, text, kind, one, words):
    """Where an id stands all ids of its kind are offered, each with what it is."""
    found = server.completions(HERE, f"{HEAD}{text}\n")
    ids = Catalog().ids(kind)
    assert set(ids) <= set(found)
    assert words in found.get(one, "")


@pytest.mark.parametrize(
    ("text", "key"),
    [("stock:\n  |", "qm9700"), ("quote:\n  discount:\n    parts:\n      |", "mma4z00-ns")],
    ids=["stock", "discount"],
)
def test_ids_are_offered_as_keys(server, text, key):
    """Where keys are parts, ids of parts are offered as keys."""
    assert key in server.completions(HERE, f"{HEAD}{text}\n")


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("cl|", "cluster", "GPU"),
        ("cluster:\n  sp|", "spare_servers", "not cabled"),
        ("fabrics:\n  compute:\n    over|", "oversubscription", "non-blocking"),
        ("fabrics:\n  compute:\n    links:\n      leaf-spine:\n        me|", "medium", "copper"),
        (
            "fabrics:\n  compute:\n    topology: dragonfly\n    dragonfly:\n      |",
            "h",
            "Links per switch to other groups",
        ),
        ("fabrics:\n  compute:\n    switch:\n      port_|", "port_gbps", "port"),
    ],
    ids=["top", "cluster", "fabric", "link", "option-of-a-topology", "part-described"],
)
def test_keys_are_offered_with_their_descriptions(server, text, key, words):
    """At every depth the keys that can stand there are offered, each with its description."""
    assert words in server.completions(HERE, f"{HEAD}{text}\n")[key]


def test_words_are_offered(server):
    """The topologies are offered that there are."""
    found = server.completions(HERE, f"{HEAD}fabrics:\n  compute:\n    topology: |\n")
    assert set(topologies()) <= set(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clus|ter: {gpu: h100-sxm}", "The GPUs and servers"),
        ("cluster: {gpu: h100-|sxm}", "NVIDIA: bf16 tflops"),
        ("fabrics: {compute: {switch: qm9|700}}", "NVIDIA: ports 64"),
        ("fabrics: {compute: {swi|tch: my-own}}", "The switch of every tier"),
        ("fabrics: {compute: {links: {leaf-spine: {me|dium: aoc}}}}", "the cheapest with enough reach"),
        ("fabrics: {compute: {topology: dragonfly, dragonfly: {h|: 4}}}", "Links per switch to other groups"),
        ("site: {rack: {po|wer: 40 kW}}", "rack"),
    ],
    ids=["top", "gpu", "switch", "own-switch", "link", "option-of-a-topology", "rack"],
)
def test_hover_says_what_a_key_is(server, text, words):
    """The cursor on a key shows its description, on an id of the catalogue what it is."""
    assert words in server.hover(HERE, f"{HEAD}{text}\n")


def test_parts_of_the_users_own_are_offered(server, tmp_path):
    """A schema made with the user's part folder offers its ids too."""
    command = [sys.executable, "-m", "bomgen", "schema", "plan", "--with-catalog", "--parts", "plans/parts"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=True)
    (tmp_path / "own.schema.json").write_bytes(done.stdout)
    text = HEAD.replace("../schemas/plan.catalog", "own")
    linked = "cluster: {gpu: h100-sxm}\nfabrics: {compute: {links: {leaf-spine: {module: EX-osfp-400g-sr4}}}}"
    assert server.problems(tmp_path / "p.yaml", f"{text}{linked}\n") == []
    found = server.completions(
        tmp_path / "p.yaml", f"{text}fabrics:\n  compute:\n    links:\n      leaf-spine:\n        module: ex-|\n"
    )
    assert {"ex-osfp-400g-sr4", "ex-osfp-800g-2sr4", "mma4z00-ns"} <= set(found)
