"""The form, in step with the text of a plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bomgen.serve import engine
from bomgen.serve.calls import Refused, Workspace
from bomgen.serve.form import GOALS, NONE, PURPOSE, PURPOSES, QUESTIONS, form
from bomgen.workflow.starters import starter

TEXT = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 4} # kept\nfabrics: {compute: {topology: fat-tree}}\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return an empty folder."""
    return Workspace(tmp_path)


def values(found: dict[str, Any]) -> dict[str, Any]:
    """Return the answers by question."""
    return {question["id"]: question["value"] for question in found["questions"]}


def uncommented(text: str) -> str:
    """Return a text without the comments behind its lines, but those of TEXT."""
    return re.sub(r" +# (?!kept).*", "", text)


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


@pytest.mark.parametrize("purpose", [*PURPOSES, NONE])
def test_each_purpose_begins_a_plan_with_a_price(workspace: Workspace, purpose: str) -> None:
    """Two answers are enough, and what applies without an answer is said as it would be typed."""
    answers = {PURPOSE: purpose, "quote.price_book": "indicative"}
    found = form(workspace, {"path": "first.yaml", "text": "", "answers": answers})
    built = engine.build(workspace, {"path": "first.yaml", "text": found["text"]})
    assert built["headline"][0][1].endswith("USD"), built["problems"]
    defaults = {question["id"]: question["default"] for question in found["questions"]}
    assert (defaults["spare-servers"], defaults["topology"]) == (0, "fat-tree")


def test_a_second_phase_begins_and_goes(workspace: Workspace) -> None:
    """Servers of a second phase make two phases, the first of which is the plan as it is; without answers none."""
    begun = form(workspace, {"path": "first.yaml", "text": "", "answers": {"cluster.servers": 4}})["text"]
    later = {"phases.1.cluster.servers": "6", "phases.1.date": "2028-01-15"}
    found = form(workspace, {"text": begun, "answers": later})
    assert "phases: [{name: phase-1}, {name: phase-2, cluster: {servers: 6}, date: 2028-01-15}]" in found["text"]
    assert (values(found)["later-servers"], values(found)["later-date"]) == (6, "2028-01-15")
    early = form(workspace, {"text": found["text"], "answers": {"phases.0.ahead": "fabrics.compute"}})
    assert "{name: phase-1, ahead: fabrics.compute}" in early["text"]
    [ahead] = [asked for asked in early["questions"] if asked["id"] == "ahead"]
    assert ahead["value"] in [choice["value"] for choice in ahead["choices"]]
    assert form(workspace, {"text": early["text"], "answers": dict.fromkeys(later, "")})["text"] == begun
    assert "ahead" not in values(form(workspace, {"text": begun}))


def test_servers_that_exist_are_a_group(workspace: Workspace) -> None:
    """Of the plan of an extension, where they follow the answer; in another plan `existing` alone changes."""
    asked = {"path": "first.yaml", "goal": "extend", "text": ""}
    found = form(workspace, {**asked, "answers": {"existing": "8 dgx-h100，2 x qm9700", "cluster.servers": "4"}})
    group = "{name: dgx-h100, server: dgx-h100, servers: 8}"
    assert f"cluster: {{servers: 4, server: dgx-h100, groups: [{group}]}}" in found["text"]
    assert values(found)["existing"] == "8 dgx-h100, 2 qm9700"
    changed = form(workspace, {"text": found["text"], "answers": {"existing": "9 dgx-h200"}})["text"]
    assert "server: dgx-h200, groups: [{name: dgx-h200, server: dgx-h200, servers: 9}]" in changed
    assert "groups" not in form(workspace, {"text": changed, "answers": {"existing": ""}})["text"]
    alone = form(workspace, {"text": TEXT, "answers": {"existing": "2 dgx-h100"}})["text"]
    assert uncommented(alone) == f"{TEXT}existing:\n  dgx-h100: 2\n"
    for answer, said in (("some", "quantities and parts"), ("8 dgx-h1000", "the nearest: dgx-h100")):
        with pytest.raises(Refused, match=said):
            form(workspace, {**asked, "answers": {"existing": answer}})


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_asks_few_questions(workspace: Workspace, goal: str) -> None:
    """At most six, each of them of one of its purposes, over a plan with prices."""
    begun = form(workspace, {"path": "first.yaml", "text": "", "goal": goal})
    assert 3 <= len(begun["questions"]) <= 6
    assert "price_book: indicative" in begun["text"]
    for purpose in GOALS[goal]:
        asked = form(workspace, {"text": begun["text"], "goal": goal, "answers": {PURPOSE: purpose}})["questions"]
        assert [question["id"] for question in asked] == GOALS[goal][purpose]
        assert all({choice["value"] for choice in q["choices"]} == {*GOALS[goal]} for q in asked if q["id"] == PURPOSE)


def test_price_books_of_the_folder_are_proposed(workspace: Workspace) -> None:
    """Those beside the plan and in a folder of prices; no other file."""
    (workspace.root / "prices").mkdir()
    for name, text in (("own", "bomgen_prices: 1\n"), ("prices/shop", "bomgen_prices: 1\n"), ("other", "bomgen: 1\n")):
        (workspace.root / f"{name}.yaml").write_text(text, "utf-8")
    questions = form(workspace, {"path": "first.yaml", "text": TEXT})["questions"]
    proposed = next(question["choices"] for question in questions if question["id"] == "prices")
    assert [choice["value"] for choice in proposed] == ["indicative", "own.yaml", "prices/shop.yaml"]


def test_an_inquiry_with_a_workload_has_no_size(workspace: Workspace) -> None:
    """The servers of a fixed size do not stay when computing power is asked for, and come back without it."""
    sizes = []
    text = ""
    for purpose in (NONE, "compute", NONE):
        text = form(workspace, {"text": text, "goal": "count", "answers": {PURPOSE: purpose}})["text"]
        sizes.append("servers: 4" in text)
    assert sizes == [True, False, True]


def test_a_rate_has_the_date_of_the_quote(workspace: Workspace) -> None:
    """So that prices in dollars can be quoted in another currency; without a date it is refused."""
    rate = "quote.exchange.USD.rate"
    with pytest.raises(Refused, match="date first"):
        form(workspace, {"text": TEXT, "answers": {rate: "7.12"}})
    answers = {"quote.date": "2026-11-30", rate: "7.12", "quote.currency": "CNY", "quote.price_book": "indicative"}
    found = form(
        workspace, {"text": TEXT, "answers": {**answers, "quote.currency": "CNY", "quote.price_book": "indicative"}}
    )
    assert "USD: rate: 7.12 date: 2026-11-30" in " ".join(uncommented(found["text"]).split())
    text = found["text"].replace("{topology: fat-tree}", "default")
    built = engine.build(workspace, {"path": "small.yaml", "text": text})
    assert built["headline"][0][1].endswith("CNY"), built["problems"]


def test_an_unknown_goal_is_refused(workspace: Workspace) -> None:
    """The nearest one is named."""
    with pytest.raises(Refused, match="serve"):
        form(workspace, {"text": "", "goal": "server"})


def test_a_bound_takes_the_place_of_a_size(workspace: Workspace) -> None:
    """And a size that of a bound or of another size."""
    bounded = form(workspace, {"text": TEXT, "answers": {"cluster.power": "2 MW"}})["text"]
    assert "cluster: {gpu: h100-sxm, power: 2 MW} # kept" in uncommented(bounded)
    sized = form(workspace, {"text": bounded, "answers": {"cluster.gpus": "16"}})["text"]
    assert "cluster: {gpu: h100-sxm, gpus: 16} # kept" in uncommented(sized)


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
    unknown = form(workspace, {"text": text, "answers": {"cluster.gpu": "h200"}})["text"]
    assert unknown == text.replace("h100-sxm", "h200")


def test_support_is_a_charge(workspace: Workspace) -> None:
    """Years and share of one charge: other charges and comments stay, and without years the charge goes."""
    years, share = "quote.charges.support.years", "quote.charges.support.share"
    found = form(workspace, {"text": TEXT, "answers": {years: "3", share: "4"}})
    assert uncommented(found["text"]) == f"{TEXT}quote:\n  charges: [{{kind: support, years: 3, share: 4%}}]\n"
    assert (values(found)["support"], values(found)["support-share"]) == (3, "4%")
    assert form(workspace, {"text": found["text"], "answers": {share: ""}})["text"] == found["text"].replace(
        ", share: 4%", ""
    )
    assert form(workspace, {"text": found["text"], "answers": {years: ""}})["text"] == TEXT
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
    assert uncommented(found["text"]).endswith("operation:\n  years: 2.5\n")
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


def test_other_answers_are_refused(workspace: Workspace) -> None:
    """Only questions of the form have answers."""
    with pytest.raises(Refused):
        form(workspace, {"text": TEXT, "answers": {"name": "x"}})


@pytest.mark.parametrize(
    "answer", [{"purpose": "training"}, {"purpose": "inference"}, {"purpose": "none"}, {"quote.customer": "Acme #1"}]
)
@pytest.mark.parametrize("text", ["", "# a note\n"])
def test_the_first_answer_begins_a_plan(workspace: Workspace, answer: dict[str, str], text: str) -> None:
    """It has a result without problems, the name of its file, comments that say what is what, and what stood there."""
    asked = {question["id"]: question for question in form(workspace, {"text": text})["questions"]}
    assert (asked["purpose"]["value"], asked["gpu"]["value"]) == (None, None)
    found = form(workspace, {"path": "plans/our-plan.yaml", "text": text, "answers": answer})
    built = engine.build(workspace, {"path": "our-plan.yaml", "text": found["text"]})
    assert built["headline"]
    assert built["problems"] == []
    assert built["name"] == "our-plan"
    assert found["text"].startswith(text)
    assert values(found)["purpose"] == answer.get("purpose", "none")
    begun = [line for line in found["text"].splitlines() if re.match(r"(?:workload|quote):", line)]
    assert all("# " in line for line in begun)
    assert begun or answer == {"purpose": "none"}


def test_every_block_that_is_begun_has_a_comment(workspace: Workspace) -> None:
    """In the words of the schema; blocks that were there stay as they are."""
    answers = {"storage.dataset": "1 PB", "site.rack.power": "40 kW", "operation.years": 3, "quote.currency": "EUR"}
    text = form(workspace, {"text": TEXT, "answers": answers})["text"]
    for line in ("storage:", "site:", "  rack:", "operation:", "quote:"):
        assert re.search(rf"^{line} +# [A-Z].+[^.]$", text, re.MULTILINE), text
    assert text.startswith(TEXT)


@pytest.mark.parametrize("key", [PURPOSE, *(".".join(question.path) for question in QUESTIONS)])
def test_comments_are_in_the_language_of_the_page(workspace: Workspace, key: str) -> None:
    """On every key of each block that an answer begins, in a plan that exists and in a new one."""
    for text in ("bomgen: 1\nname: small\n", ""):
        answers = {
            "quote.date": "2026-11-30",
            key: "inference" if key == PURPOSE else "1 sn5600" if key == "existing" else 1,
        }
        written = form(workspace, {"text": text, "answers": answers, "language": "zh"})["text"]
        comments = re.findall(r"(?:^| )# (.*)", written, re.MULTILINE)
        assert [comment for comment in comments if not re.search("[\u4e00-\u9fff]", comment)] == []
        assert comments or key == "title"


def test_a_fixed_size_has_servers(workspace: Workspace) -> None:
    """The purpose that decided their number goes; a new one takes none away."""
    text = form(workspace, {"text": "", "answers": {"purpose": "training"}})["text"]
    fixed = form(workspace, {"text": text, "answers": {"purpose": "none"}})
    assert values(fixed)["servers"] == 4
    assert engine.build(workspace, {"path": "a.yaml", "text": fixed["text"]})["headline"]
    assert values(form(workspace, {"text": fixed["text"], "answers": {"purpose": "inference"}}))["servers"] == 4


def test_a_default_network_is_changed_in_one_answer(workspace: Workspace) -> None:
    """The rest stays that of the platform; without own answers it is the default again."""
    text = TEXT.replace("{topology: fat-tree}", "default")
    found = form(workspace, {"text": text, "answers": {"fabrics.compute.switch": "sn5600"}})
    assert "{compute: {switch: sn5600}}" in found["text"]
    assert engine.build(workspace, {"path": "small.yaml", "text": found["text"]})["headline"]
    answers = {"fabrics.compute.switch": "", "fabrics.compute.topology": ""}
    assert form(workspace, {"text": found["text"], "answers": answers})["text"] == text


def test_a_quote_is_addressed(workspace: Workspace) -> None:
    """Title, parties, date and tax; a party may have more than a name, and tax may depend on the category."""
    answers = {"title": "Our cluster", "quote.customer": "Acme", "quote.vendor": "We", "quote.date": "2026-11-28"}
    answers |= {"quote.valid_days": "45", "quote.delivery_time": "9 weeks", "quote.payment": "in advance"}
    found = form(workspace, {"text": TEXT, "answers": {**answers, "quote.tax": "19"}})
    assert "tax: 19%\n" in found["text"]
    assert values(found)["tax"] == "19%"
    built = engine.build(
        workspace,
        {"path": "small.yaml", "text": found["text"].replace("{topology: fat-tree}", "default"), "tabs": ["quote"]},
    )
    shown = " ".join(built["tabs"]["quote"].replace("\xa0", " ").split())
    for said in ("Our cluster", "Acme", "We", "28 November 2026", "12 January 2027", "9 weeks", "in advance"):
        assert said in shown
    more = f"{TEXT}quote: {{customer: {{name: A, contact: B}}, tax: {{default: 19%}}}}\n"
    asked = {question["id"]: question for question in form(workspace, {"text": more})["questions"]}
    assert (asked["customer"]["value"], asked["tax"]["held"]) == ("A", True)
    found = form(workspace, {"text": more, "answers": {"quote.customer": "C"}})
    assert "customer: {name: C, contact: B}" in found["text"]
    assert "customer" not in form(workspace, {"text": more, "answers": {"quote.customer": ""}})["text"]


def test_a_storage_system_has_a_network(workspace: Workspace) -> None:
    """Storage that is asked for is on the bill with what connects it; an own network stays as it is."""
    answers = {"storage.servers": "ddn-ai400x3", "storage.dataset": "1 PB"}
    text = TEXT.replace("{topology: fat-tree}", "default")
    found = form(workspace, {"text": text, "answers": answers})
    assert "storage: default" in found["text"]
    built = engine.build(workspace, {"path": "small.yaml", "text": found["text"], "tabs": ["bill"]})
    assert "AI400X3" in built["tabs"]["bill"]
    assert "Storage network" in built["tabs"]["bill"]
    own = text.replace("default", "default, storage: {switch: sn5600}")
    assert "storage: {switch: sn5600}" in form(workspace, {"text": own, "answers": answers})["text"]
    networks = {"fabrics.storage": "", "storage.servers": "", "storage.dataset": ""}
    assert form(workspace, {"text": found["text"], "answers": networks})["text"] == text


def test_servers_are_those_of_the_gpu(workspace: Workspace) -> None:
    """The usual one first; for a GPU that is not known all."""
    servers = {}
    for gpu in ("h200-sxm", "nothing"):
        text = TEXT.replace("h100-sxm", gpu)
        [server] = [found for found in form(workspace, {"text": text})["questions"] if found["id"] == "server"]
        servers[gpu] = [choice["value"] for choice in server["choices"]]
    assert servers["h200-sxm"][0] == "dgx-h200"
    assert {"dell-xe9680-h200", "hgx-h200-8-generic"} < {*servers["h200-sxm"]} < {*servers["nothing"]}
    assert "dell-xe9680-h100" not in servers["h200-sxm"]


def test_a_plan_that_begins_on_a_chinese_page_has_a_chinese_quote(workspace: Workspace) -> None:
    """In yuan, at a dated rate that the quote prints; an answer changes rate, currency or language."""
    answers = {"purpose": "none", "cluster.gpu": "h20", "quote.price_book": "indicative"}
    begun = form(workspace, {"text": "", "language": "zh", "answers": answers})
    assert (values(begun)["language"], values(begun)["currency"], values(begun)["rate"]) == ("zh", "CNY", "6.9858")
    shown = engine.build(workspace, {"path": "begun.yaml", "text": begun["text"], "tabs": ["quote"], "language": "zh"})
    assert shown["headline"][0][1].endswith("万元")
    assert "6.9858" in shown["tabs"]["quote"]
    assert "2026年1月27日" in shown["tabs"]["quote"]
    own_rate = form(workspace, {"text": begun["text"], "answers": {"quote.exchange.USD.rate": "7.05"}})
    assert f"{{USD: {{rate: 7.05, date: {values(begun)['date']}}}}}" in own_rate["text"]
    assert "exchange" not in form(workspace, {"text": begun["text"], "answers": {"quote.currency": "EUR"}})["text"]
    later = form(workspace, {"text": begun["text"], "language": "zh", "answers": {"quote.language": "en"}})
    assert values(later)["language"] == "en"
    assert values(form(workspace, {"text": TEXT, "language": "zh"}))["language"] is None


def test_questions_come_in_groups(workspace: Workspace) -> None:
    """Each group once, in the order of the page."""
    groups = [question["group"] for question in form(workspace, {"text": TEXT})["questions"]]
    assert [*dict.fromkeys(groups)] == [group for at, group in enumerate(groups) if groups[at - 1 : at] != [group]]
    assert [*dict.fromkeys(groups)] == ["workload", "hardware", "network", "site", "prices", "quote"]
