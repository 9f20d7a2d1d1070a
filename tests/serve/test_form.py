"""The form, in step with the text of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bomgen.serve import engine
from bomgen.serve.form import form
from bomgen.serve.workspace import Refused, Workspace
from bomgen.workflow.starters import starter

TEXT = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 4} # kept\nfabrics: {compute: {topology: fat-tree}}\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return an empty folder."""
    return Workspace(tmp_path)


def values(found: dict[str, Any]) -> dict[str, Any]:
    """Return the answers by question."""
    return {question["id"]: question["value"] for question in found["questions"]}


def test_the_form_shows_what_the_plan_says(workspace: Workspace) -> None:
    """Answers are those of the text, in both directions."""
    assert values(form(workspace, {"text": TEXT}))["gpu"] == "h100-sxm"
    found = form(workspace, {"text": TEXT, "answers": {"cluster.gpu": "h200-sxm", "cluster.servers": "8"}})
    assert "cluster: {gpu: h200-sxm, servers: 8} # kept" in found["text"]
    assert (values(found)["gpu"], values(found)["servers"]) == ("h200-sxm", 8)


def test_the_form_of_the_starter_builds(workspace: Workspace) -> None:
    """A plan from the form has a result, and keeps the comments of the starter."""
    answers = {"workload.training.target_days": 20, "cluster.gpu": "h100-sxm", "quote.price_book": "indicative"}
    found = form(workspace, {"text": starter("from-form"), "answers": answers})
    assert "# sequence" in found["text"] or "# tokens of one training sequence" in found["text"]
    assert engine.build(workspace, {"path": "from-form.yaml", "text": found["text"]})["headline"]


def test_another_purpose_is_another_block(workspace: Workspace) -> None:
    """The questions are those of the purpose."""
    found = form(workspace, {"text": TEXT, "answers": {"purpose": "inference"}})
    assert values(found)["requests"] == 1000
    assert "days" not in values(found)
    text = found["text"].replace(", servers: 4", "").replace("{topology: fat-tree}", "default")
    built = engine.build(workspace, {"path": "small.yaml", "text": text})
    assert built["headline"], built["problems"]


def test_an_emptied_answer_removes_its_key(workspace: Workspace) -> None:
    """A block without keys goes, too; comments elsewhere stay, and a key that is not there needs no removal."""
    text = f"{TEXT}operation: # of the costs\n  years: 3\nsite: {{pue: 1.3, rack: {{power: 30 kW}}}} # kept, too\n"
    answers = {"cluster.servers": "", "operation.years": None, "site.rack.power": "", "quote.currency": ""}
    found = form(workspace, {"text": text, "answers": answers})
    assert found["text"] == TEXT.replace(", servers: 4", "") + "site: {pue: 1.3} # kept, too\n"
    assert values(found)["servers"] is None


def test_a_server_with_another_gpu_goes(workspace: Workspace) -> None:
    """One that has the chosen GPU stays."""
    text = TEXT.replace("servers: 4", "server: dgx-h100, servers: 4")
    other = form(workspace, {"text": text, "answers": {"cluster.gpu": "h200-sxm"}})["text"]
    assert "server: " not in other
    assert form(workspace, {"text": text, "answers": {"cluster.gpu": "h100-sxm"}})["text"] == text


def test_support_is_a_charge(workspace: Workspace) -> None:
    """Years and share of one charge: other charges and comments stay, and without an answer the charge goes."""
    years, share = "quote.charges.support.years", "quote.charges.support.share"
    found = form(workspace, {"text": TEXT, "answers": {years: "3", share: "4"}})
    assert found["text"] == f"{TEXT}quote: {{charges: [{{kind: support, years: 3, share: 4%}}]}}\n"
    assert (values(found)["support"], values(found)["support-share"]) == (3, "4%")
    assert form(workspace, {"text": found["text"], "answers": {share: ""}})["text"] == TEXT
    freight = f"{TEXT}quote:\n  charges:\n    - {{kind: freight, price: 900}} # kept, too\n"
    found = form(workspace, {"text": freight, "answers": {years: 5}})
    assert found["text"] == f"{freight}    - {{kind: support, years: 5}}\n"
    assert form(workspace, {"text": found["text"], "answers": {years: None}})["text"] == freight
    text = found["text"].replace("{topology: fat-tree}", "default")
    built = engine.build(workspace, {"path": "small.yaml", "text": text})
    assert built["headline"], built["problems"]


def test_support_with_a_price_has_no_share(workspace: Workspace) -> None:
    """A charge has one of them; a share as a number is shown in per cent."""
    for given, held, shown in (("price: 900", True, None), ("share: 0.07", False, "7%")):
        text = f"{TEXT}quote: {{charges: [{{kind: support, {given}}}]}}\n"
        asked = {question["id"]: question for question in form(workspace, {"text": text})["questions"]}
        assert (asked["support-share"]["held"], asked["support-share"]["value"]) == (held, shown)


def test_numbers_are_written_and_shown_as_numbers(workspace: Workspace) -> None:
    """Years may have a fraction."""
    found = form(workspace, {"text": TEXT, "answers": {"operation.years": "2.5"}})
    assert found["text"].endswith("operation: {years: 2.5}\n")
    assert values(found)["years"] == "2.5"


def test_a_fixed_size_has_no_workload(workspace: Workspace) -> None:
    """The block of the workload goes."""
    text = form(workspace, {"text": TEXT, "answers": {"purpose": "training"}})["text"]
    assert form(workspace, {"text": text, "answers": {"purpose": "none"}})["text"] == TEXT


def test_what_only_the_editor_can_show_is_said(workspace: Workspace) -> None:
    """A model of its own is no answer of the form."""
    text = f"{TEXT}workload: {{training: {{model: {{name: x, parameters: 7B}}}}}}\n"
    [model] = [question for question in form(workspace, {"text": text})["questions"] if question["id"] == "model"]
    assert (model["value"], model["held"]) == (None, True)


@pytest.mark.parametrize("answers", [{"name": "x"}, {"cluster.gpu": ["a"]}, []])
def test_other_answers_are_refused(workspace: Workspace, answers: Any) -> None:
    """Only questions of the form have answers."""
    with pytest.raises(Refused):
        form(workspace, {"text": TEXT, "answers": answers})
