"""Whole plans as a strategy: every kind of workload, machine, topology and term, with the files that they name.

Most of them can be built; what cannot must be refused by a problem at a line of its file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st
from written_plans import open_book

from bomgen.output.price_lists import written
from bomgen.pricing.price_book import entries
from bomgen.workflow.plan_files import PlanFile

MACHINES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"gpu": "h100-sxm"}, {"switch": "qm9700"}),
    ({"gpu": "h100-sxm", "server": "dgx-h100"}, {"switch": "qm9790"}),
    ({"gpu": "h200-sxm"}, {"switch": "qm9700"}),
    ({"gpu": "b200-sxm"}, {"switch": "qm9700"}),
    ({"gpu": "b200-sxm", "server": "dgx-b200"}, {"switch": "qm9700"}),
    ({"gpu": "a100-sxm-80", "server": "dgx-a100-640"}, {"switch": "qm8700"}),
    ({"gpu": "a100-sxm-80"}, {"switch": "qm9700", "nic": "cx7-400-osfp", "gpus_per_nic": 2}),
    ({"gpu": "h100-sxm", "server": "hgx-h100-8-generic"}, {"switch": "qm9700"}),
    ({"gpu": "mi300x"}, {"switch": "generic-th5-64x800"}),
    ({"gpu": "l40s"}, {"switch": "sn5600"}),
)
"""Machines and a switch that their NICs can be plugged into."""
PORTS_UNKNOWN = ("l40s", "mi300x")
"""GPUs in servers of which the catalogue has no figures for the ports but those of the compute fabric."""
SWITCH = {"rack_units": 1, "power": "1 kW", "port_gbps": 400}
SERVER = {"gpus": 8, "rack_units": 8, "power": "10 kW", "nic": {"ports": 1, "port_gbps": 400, "cage": "osfp-flat"}}
GENERIC = {"medium": "transceiver", "module": "generic-400g"}
MODELS = (
    "llama-2-7b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "qwen2.5-7b",
    "mixtral-8x7b",
    {"name": "own", "parameters": "13B"},
)
CATEGORIES = ("server", "switch", "transceiver", "cable")
PARTS = ("qm9700", "qm9790", "qm8700", "dgx-h100", "dgx-b200", "mma4z00-ns", "mma4z00-ns400", "generic-400g", "per-gpu")
DATES = ("2026-01-31", "2026-11-20")
CENTS = 100
FEW_PORTS = 40
"""Ports that each of the switches of `MACHINES` has."""


class Whole(NamedTuple):
    """A plan and the files that it names."""

    plan: dict[str, Any]
    files: dict[str, str]
    """Content by name."""

    @property
    def text(self) -> str:
        """The plan as the YAML that somebody would write."""
        return yaml.safe_dump(self.plan, sort_keys=False, allow_unicode=True)

    def file(self, folder: Path) -> PlanFile:
        """The plan in a folder with its files."""
        for name, content in self.files.items():
            (folder / name).write_text(content, encoding="utf-8")
        return PlanFile("plan.yaml", self.text.encode(), folder, folder)


def shares(most: int = 30) -> st.SearchStrategy[str]:
    """Shares as people write them."""
    return st.integers(0, 10 * most).map(lambda tenths: f"{tenths / 10:g}%")


def maybe(draw: st.DrawFn, into: dict[str, Any], key: str, value: st.SearchStrategy[Any]) -> None:
    """A key that every second plan has."""
    if draw(st.booleans()):
        into[key] = draw(value)


DRAGONFLIES = ("dragonfly", "dragonfly+")
"""Topologies whose groups are balanced, unless the plan says how large they are."""


@st.composite
def fabrics(draw: st.DrawFn, fabric: dict[str, Any], own: bool, few: bool) -> dict[str, Any]:
    """The compute fabric of machines, of any topology; `own`: the plan describes the switch; `few`: one may do."""
    topologies = (
        "fat-tree",
        "rail-optimized",
        "rail-only",
        "dragonfly",
        "dragonfly+",
        *(["single-switch"] if few else []),
    )
    topology = draw(st.sampled_from(topologies))
    fabric = {**fabric, "topology": topology}
    plain = topology in ("fat-tree", "rail-optimized", "rail-only")
    if plain:
        maybe(draw, fabric, "oversubscription", st.sampled_from((1, 1.5, 2, 3, "3:2", {"leaf": 2, "spine": 1})))
        maybe(draw, fabric, "build_out", st.sampled_from(("full", "exact")))
        maybe(draw, fabric, "reserved_ports", st.integers(0, 4))
        maybe(draw, fabric, "tiers", st.sampled_from(("auto", "auto", 2, 3)))
        if own:
            maybe(draw, fabric, "planes", st.sampled_from((1, 2)))
    if topology == "rail-optimized":
        maybe(draw, fabric, "scalable_unit", st.integers(2, 8).map(lambda number: {"servers": number}))
    if topology == "dragonfly" and draw(st.booleans()):
        p = draw(st.integers(2, 4))
        fabric["dragonfly"] = {"p": p}
    if topology != "single-switch" and draw(st.booleans()):
        hosts = [{"name": "login", "count": draw(st.integers(1, 6)), "ports": draw(st.integers(1, 2))}]
        maybe(draw, hosts[0], "part", st.just({"name": "login node", "rack_units": 1, "power": "500 W"}))
        fabric["hosts"] = hosts
    if own and topology not in DRAGONFLIES:
        kinds = draw(st.sets(st.sampled_from(("server-leaf", "leaf-spine", "spine-core"))))
        generic = (GENERIC, {**GENERIC, "length": "50 m"}) if fabric.get("planes", 1) == 1 else ()
        medium = st.sampled_from((*generic, {"medium": "aoc"}, {"medium": "auto"}))
        links = {kind: draw(medium) for kind in sorted(kinds)}
        if topology == "single-switch":
            links = {kind: link for kind, link in links.items() if kind == "server-leaf"}
        if links:
            fabric["links"] = links
    elif draw(st.booleans()):
        prefer = ("copper", "optics-only", "one-fibre-length")
        fabric["links"] = {"server-leaf": {"prefer": draw(st.sampled_from(prefer))}}
    return fabric


@st.composite
def workloads(draw: st.DrawFn, kind: str | None = None) -> dict[str, Any]:
    """One workload of every kind, or of one, small enough for some servers."""
    model = draw(st.sampled_from(MODELS))
    kind = kind or draw(st.sampled_from(("training", "fine_tuning", "reinforcement", "inference", "compute")))
    if kind == "compute":
        return {kind: {"target": f"{draw(st.integers(10, 400))} PFLOPS", "precision": "bf16"}}
    if kind == "inference":
        served = {"model": draw(st.sampled_from(MODELS[:5])), "context": 2048, "concurrency": draw(st.integers(1, 64))}
        maybe(draw, served, "requests_per_minute", st.integers(1, 2000))
        served |= {"output_tokens": 300} if "requests_per_minute" in served else {}
        return {kind: served}
    if kind == "reinforcement":
        return {kind: draw(reinforcements())}
    run: dict[str, Any] = {"model": model, "tokens": f"{draw(st.integers(1, 40))}0B"}
    run["target_days"] = draw(st.integers(10, 60))
    maybe(draw, run, "mfu", st.integers(20, 60).map(lambda share: f"{share}%"))
    if not isinstance(model, dict):
        maybe(draw, run, "sequence", st.sampled_from((2048, 4096)))
        maybe(draw, run, "recompute", st.sampled_from(("none", "full")))
    maybe(draw, run, "zero", st.sampled_from((0, 1, 3)))
    if kind == "fine_tuning":
        run["method"] = draw(st.sampled_from(("full", "lora")))
        run["tokens"] = "100M"
        if run["method"] == "lora":
            run["rank"] = 16
            run["model"] = draw(st.sampled_from(MODELS[:4]))
    else:
        maybe(draw, run, "goodput", st.sampled_from(("95%", 0.9, "estimate")))
    return {kind: run}


@st.composite
def reinforcements(draw: st.DrawFn) -> dict[str, Any]:
    """Reinforcement learning of every method, in one pool or two."""
    learning: dict[str, Any] = {"model": draw(st.sampled_from(MODELS)), "steps": draw(st.integers(1, 100))}
    learning |= {
        "prompts": draw(st.integers(1, 128)),
        "prompt_tokens": 100,
        "response_tokens": draw(st.integers(1, 4000)),
    }
    learning["target_days"] = draw(st.integers(1, 20))
    maybe(draw, learning, "method", st.sampled_from(("grpo", "ppo", "dpo")))
    maybe(draw, learning, "pools", st.sampled_from(("one", "two")))
    maybe(draw, learning, "reward", st.sampled_from(MODELS[:4]))
    maybe(draw, learning, "goodput", st.sampled_from(("95%", "estimate")))
    if learning.get("pools") == "two":
        maybe(draw, learning, "schedule", st.sampled_from(("synchronous", "asynchronous")))
    return learning


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Cluster, workload, fabrics and storage of a plan with one cluster."""
    own = draw(st.booleans())
    if own:
        nics = draw(st.sampled_from((1, 2, 4, 8)))
        server = {**SERVER, "nics": nics}
        cluster: dict[str, Any] = {"gpu": "h100-sxm", "server": server}
        fabric: dict[str, Any] = {"switch": {**SWITCH, "ports": draw(st.sampled_from((8, 16, 32, 64)))}}
    else:
        cluster, fabric = map(dict, draw(st.sampled_from(MACHINES)))
    found: dict[str, Any] = {}
    sized = draw(st.sampled_from(("servers", "servers", "gpus", "workload", "both")))
    servers = draw(st.integers(1, 40))
    if sized in ("servers", "both"):
        cluster["servers"] = servers
    if sized == "gpus":
        cluster["gpus"] = 8 * servers
    if sized in ("workload", "both"):
        found["workload"] = draw(workloads())
        if sized == "workload":
            maybe(draw, cluster, "round_up_to", st.sampled_from(("leaf", {"servers": 4}, {"servers": 20_000})))
    maybe(draw, cluster, "spare_servers", st.integers(0, 2))
    ports = fabric["switch"]["ports"] if own else FEW_PORTS
    few = sized != "workload" and servers * (cluster["server"]["nics"] if own else SERVER["gpus"]) <= ports
    drawn = draw(fabrics(fabric, own, few))
    if "round_up_to" in cluster and drawn["topology"] in (*DRAGONFLIES, "single-switch"):
        del cluster["round_up_to"]
    found |= {"cluster": cluster, "fabrics": {"compute": drawn}}
    if own or cluster["gpu"] in PORTS_UNKNOWN or cluster.get("server", "").endswith("generic"):
        given = {"switch": "qm9700", "ports_per_server": 1, "nic": "cx7-400-osfp"}
        maybe(draw, found["fabrics"], "storage", st.just(given))
    else:
        for role in ("storage", "in_band", "out_of_band"):
            maybe(draw, found["fabrics"], role, st.just("default"))
    if "storage" in found["fabrics"] and draw(st.booleans()):
        servers = {
            "name": "appliance",
            "count": draw(st.integers(1, 8)),
            "ports": 2,
            "rack_units": 2,
            "power": "1.5 kW",
        }
        found["storage"] = {"dataset": "20 TB", "servers": servers}
    return found


@st.composite
def books(draw: st.DrawFn) -> dict[str, Any]:
    """A price book: some parts, some with breaks by quantity, some with a range."""
    prices = []
    for part in sorted(draw(st.sets(st.sampled_from(PARTS), min_size=1))):
        for from_quantity in sorted(draw(st.sets(st.sampled_from((1, 10, 100)), min_size=1, max_size=2))):
            price = draw(st.integers(1, 10**7)) / CENTS
            entry: dict[str, Any] = {"part": part, "price": price, "from_quantity": from_quantity}
            if draw(st.booleans()):
                entry |= {"min": price / 2, "max": price * 2, "estimate": draw(st.booleans())}
            maybe(draw, entry, "valid_until", st.sampled_from(DATES))
            prices.append(entry)
    currency = draw(st.sampled_from(("USD", "USD", "EUR", "JPY")))
    return {"bomgen_prices": 1, "currency": currency, "date": draw(st.sampled_from(DATES)), "prices": prices}


@st.composite
def quotes(draw: st.DrawFn, files: dict[str, str]) -> dict[str, Any]:
    """Terms: books, rates, discounts, charges, tax, dates."""
    quote: dict[str, Any] = {"date": "2026-11-20", "currency": draw(st.sampled_from(("USD", "EUR")))}
    for number in range(draw(st.integers(0, 2))):
        book = draw(books())
        form = draw(st.sampled_from(("yaml", "csv")))
        name = f"book-{number}.{form}"
        text = json.dumps(book, indent=1)
        if form == "csv":
            text = written(entries(open_book(text.encode(), "book.yaml")), "csv").decode()
        files[name] = text
        quote.setdefault("price_book", []).append(name)
        if book["currency"] != quote["currency"]:
            rate = {"rate": draw(st.sampled_from((0.0067, 0.92, 1.08))), "date": "2026-11-01"}
            quote.setdefault("exchange", {})[book["currency"]] = rate
    discount = {"default": draw(shares())}
    maybe(draw, discount, draw(st.sampled_from(CATEGORIES)), shares())
    maybe(draw, quote, "discount", st.just(discount))
    charges = [
        {"kind": "freight", "share": draw(shares(5))},
        {"kind": "installation", "per": draw(st.sampled_from(("order", "gpu", "server", "switch"))), "price": 12.5},
        {"kind": "support", "years": 3, "share": draw(shares(8))},
        {"kind": "software", "name": "manager", "per": "gpu", "years": 2, "part": "per-gpu"},
    ]
    maybe(draw, quote, "charges", st.lists(st.sampled_from(charges), min_size=1, unique_by=lambda each: each["kind"]))
    by_category = {name: shares(25) for name in ("service", "software", "switch")}
    rates = st.fixed_dictionaries({"default": shares(25)}, optional=by_category)
    maybe(draw, quote, "tax", shares(25) | rates)
    maybe(draw, quote, "prices", st.sampled_from(("inclusive", "exclusive")))
    maybe(draw, quote, "valid_days", st.integers(1, 90))
    maybe(draw, quote, "language", st.sampled_from(("en", "zh")))
    maybe(draw, quote, "customer", st.sampled_from(("Example <Research> & Co", {"name": "客户", "address": ["=1+1"]})))
    return quote


@st.composite
def whole_plans(draw: st.DrawFn) -> Whole:
    """A plan with all that plans may have."""
    files: dict[str, str] = {}
    plan: dict[str, Any] = {"bomgen": 1, "name": "law"}
    maybe(draw, plan, "title", st.sampled_from(("A title", "<b>标题</b>")))
    several = draw(st.integers(0, 5)) == 0
    if several:
        plan["clusters"] = []
        for name in ("one", "two"):
            found = draw(clusters())
            plan["clusters"].append({"name": name, **found.pop("cluster"), **found})
    else:
        plan |= draw(clusters())
    if draw(st.booleans()):
        rack = {"units": draw(st.sampled_from((42, 48))), "power": f"{draw(st.integers(25, 60))} kW", "pdus": 2}
        site: dict[str, Any] = {"rack": rack}
        maybe(draw, site, "pue", st.sampled_from((1.15, 1.3)))
        maybe(draw, site, "electricity", st.just(0.08))
        if not several:
            maybe(draw, site, "layout", st.sampled_from(("auto", {"racks_per_row": 4})))
            maybe(draw, site, "management", st.just({"racks": 4}))
        plan["site"] = site
        if draw(st.booleans()):
            plan["operation"] = {"years": draw(st.integers(1, 5)), "rack_cost": 1500} | (
                {"load": "80%"} if "electricity" in site else {}
            )
    share = st.one_of(shares(10), st.integers(1, 3))
    maybe(draw, plan, "spares", st.dictionaries(st.sampled_from(CATEGORIES), share, min_size=1))
    maybe(draw, plan, "stock", st.dictionaries(st.sampled_from(PARTS[:3]), st.integers(1, 5), min_size=1, max_size=1))
    plan["quote"] = draw(quotes(files))
    if not several:
        alternatives = [
            {"name": "wider", "set": {"fabrics.compute.oversubscription": 3}},
            {"name": "dearer", "set": {"quote.tax": "25%"}},
        ]
        chosen = (
            alternatives[draw(st.integers(0, 1)) :]
            if plan["fabrics"]["compute"]["topology"] == "fat-tree"
            else alternatives[1:]
        )
        maybe(draw, plan["quote"], "alternatives", st.just(chosen))
    if draw(st.integers(0, 3)) == 0:
        shared = {key: plan.pop(key) for key in ("site", "spares", "stock") if key in plan}
        if shared:
            files["base.yaml"] = yaml.safe_dump(shared)
            plan["extends"] = "base.yaml"
    return Whole(plan, files)
