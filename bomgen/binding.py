"""From a checked source to a plan: ids to parts, quantities to figures, silence to assumptions.

What cannot be bound is collected and raised together.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeVar

from bomgen import parts, records
from bomgen.catalog import Catalog, Record, UnknownPart, inline
from bomgen.fabric.model import TierChoice
from bomgen.figures import Assumed, Figure, Given, Mark, Origin
from bomgen.medium import Wish
from bomgen.plan import LINK_KINDS, ROLES, Cluster, FabricPlan, Parallelism, Plan, QuotePlan, Site, Training
from bomgen.problems import PlanErrors, Problem, nearest
from bomgen.quantities import parse
from bomgen.source import Path, Source

DEFAULT = "default"


AUTO = "auto"


T = TypeVar("T")


def not_supported(source: Source) -> list[Problem]:
    """A problem for everything in a checked plan that the schema admits and this version does not build."""
    data = source.data
    paths: list[Path] = [("workload", kind) for kind in ("fine_tuning", "inference", "compute")]
    paths += [("storage",), ("quote", "alternatives")]
    fabrics = data.get("fabrics") or {}
    found: list[Path] = [path for path in paths if _at(data, path) is not None]
    for name, fabric in fabrics.items():
        if isinstance(fabric, dict):
            if "hosts" in fabric:
                found.append(("fabrics", name, "hosts"))
            if fabric.get("planes", 1) != 1:
                found.append(("fabrics", name, "planes"))
            if fabric.get("topology") in ("rail-optimized", "rail-only"):
                found.append(("fabrics", name, "topology"))
    return [_unsupported(source, path) for path in found]


def _unsupported(source: Source, path: Path) -> Problem:
    dotted = ".".join(str(step) for step in path)
    word = _at(source.data, path)
    shown = f"{dotted}: {word}" if isinstance(word, str | int) else dotted
    mark = source.key_mark(path) if not isinstance(word, str) else source.mark(path)
    return Problem(mark, "error", f"{shown} is not supported yet; leave it out", "not-supported-yet", dotted)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


class Section(NamedTuple):
    """A mapping of the plan while it is bound: reads figures, notes problems, falls back on assumptions."""

    source: Source
    path: Path
    catalog: Catalog
    problems: list[Problem]
    origin: Origin | None = None
    """The origin of everything in the section when it is no plan's own, such as a default fabric."""

    @property
    def data(self) -> dict[str, Any]:
        """The section's mapping; empty when there is none."""
        data = self.source.data
        for step in self.path:
            data = data.get(step) if isinstance(data, dict) else None
        return data if isinstance(data, dict) else {}

    @property
    def mark(self) -> Mark:
        """Where the section stands."""
        return self.source.key_mark(self.path) if self.path else self.source.mark(())

    def has(self, key: str) -> bool:
        """Whether the section says something of a key."""
        return self.data.get(key) is not None

    def below(self, key: str) -> Section:
        """The section at a key; empty when it is not there."""
        return Section(self.source, (*self.path, key), self.catalog, self.problems, self.origin)

    def value_mark(self, key: str) -> Mark:
        """Where the value of a key stands."""
        return self.source.mark((*self.path, key))

    def problem(self, key: str, message: str, rule: str) -> None:
        """Note a problem with the value of a key."""
        dotted = ".".join(str(step) for step in (*self.path, key))
        self.problems.append(Problem(self.value_mark(key), "error", message, rule, dotted))

    def figure(self, key: str, unit: str, assumption: str | None = None, zero: bool = False) -> Figure | None:
        """The quantity at a key, else the assumption named, else None; `zero` says that nought is allowed."""
        raw = self.data.get(key)
        if raw is None:
            return None if assumption is None else self.catalog.assumption(assumption)
        try:
            number = parse(raw, unit)
        except ValueError as error:
            self.problem(key, str(error), "unit")
            number = 1
        if number < 0 or (number == 0 and not zero):
            self.problem(key, f"{_written(raw)} is too small; {'0 or more' if zero else 'more than 0'}", "range")
            number = 1
        if unit in _WHOLE and isinstance(number, Fraction):
            self.problem(key, f"{_written(raw)} is no whole number of {unit}; write a whole one", "unit")
            number = 1
        return Figure(number, unit, self._origin_of(key))

    def _origin_of(self, key: str) -> Origin:
        """Where the value of a key comes from: the plan, or the assumption that the whole section is."""
        if isinstance(self.origin, Assumed):
            path = ".".join(str(step) for step in (*self.path[1:], key))
            return self.origin._replace(name=f"{self.origin.name}: {path}")
        return self.origin or Given(self.value_mark(key))

    def quantity(self, key: str, unit: str, assumption: str, zero: bool = False) -> Figure:
        """As `figure`, where there always is one."""
        found = self.figure(key, unit, assumption, zero)
        return found if found is not None else self.catalog.assumption(assumption)

    def word(self, key: str, assumption: str) -> Figure:
        """The word at a key, else the assumption named, as a figure."""
        raw = self.data.get(key)
        if raw is None:
            return self.catalog.assumption(assumption)
        return Figure(raw, "word", self._origin_of(key))

    def text(self, key: str) -> str | None:
        """The text at a key."""
        raw = self.data.get(key)
        return None if raw is None else str(raw)

    def part(self, key: str, kind: str, build: Callable[[Record], T]) -> T | None:
        """The part at a key, by id or described by a mapping; None when there is none or it is wrong."""
        raw = self.data.get(key)
        if raw is None:
            return None
        try:
            if isinstance(raw, dict):
                return build(inline(kind, self.source, (*self.path, key)))
            return build(self.catalog.find(kind, str(raw)))
        except UnknownPart as error:
            self.problem(key, str(error), "unknown-part")
        except PlanErrors as errors:
            self.problems.extend(self._moved(problem, key) for problem in errors.problems)
        return None

    def _moved(self, problem: Problem, key: str) -> Problem:
        """A problem in a catalogue file, at the place of the plan that names the part."""
        if problem.mark.file == self.source.file:
            return problem
        return Problem(self.value_mark(key), "error", f"{problem.message} (in {problem.mark})", problem.rule)


_WHOLE = ("count", "tokens", "parameters", "Gb/s")


def _written(raw: object) -> str:
    """A value as the plan has it."""
    return f"{float(raw):g}" if isinstance(raw, Fraction) else str(raw)


def bind(source: Source, catalog: Catalog) -> Plan:
    """The plan in a source that `schema.check` found nothing wrong with.

    Raises PlanErrors with every problem found: unknown parts, quantities in no known unit, what is not built yet.
    """
    problems = not_supported(source)
    root = Section(source, (), catalog, problems)
    workload = root.below("workload")
    training = _training(workload.below("training")) if workload.has("training") else None
    cluster = _cluster(root.below("cluster"))
    fabrics = [_fabric(root.below("fabrics"), name) for name in root.below("fabrics").data]
    site = _site(root.below("site")) if root.has("site") else None
    spares = _spares(root.below("spares"))
    quote = _quote(root.below("quote"))
    if problems or cluster is None:
        unique = dict.fromkeys(problems)
        raise PlanErrors(sorted(unique, key=lambda problem: problem.mark))
    return Plan(
        name=str(source.data["name"]),
        title=str(source.data.get("title") or source.data["name"]),
        mark=source.mark(()),
        training=training,
        cluster=cluster,
        fabrics=tuple(fabric for fabric in fabrics if fabric is not None),
        site=site,
        spares=spares,
        quote=quote,
    )


def _training(section: Section) -> Training | None:
    model = section.part("model", "model", records.model)
    tokens = section.figure("tokens", "tokens")
    achieved = section.figure("achieved_tflops", "TFLOP/s")
    token_rate = section.figure("tokens_per_second_per_gpu", "tokens/s")
    measured = achieved is not None or token_rate is not None
    mfu = section.figure("mfu", "share", None if measured else "training-mfu")
    sequence = section.figure("sequence", "tokens") or (model.shape.get("context") if model else None)
    training = partial(
        Training,
        mark=section.mark,
        epochs=section.quantity("epochs", "count", "training-epochs"),
        target_days=section.figure("target_days", "days"),
        precision=section.word("precision", "training-precision"),
        mfu=mfu,
        achieved_tflops=achieved,
        tokens_per_second_per_gpu=token_rate,
        attention=section.word("attention", "training-attention"),
        recompute=section.word("recompute", "training-recompute"),
        parallel_efficiency=section.quantity("parallel_efficiency", "share", "training-parallel-efficiency"),
        goodput=section.quantity("goodput", "share", "training-goodput"),
        sequence=sequence,
        micro_batch=section.quantity("micro_batch", "count", "training-micro-batch"),
        batch_tokens=section.figure("batch_tokens", "tokens"),
        optimizer=section.word("optimizer", "training-optimizer"),
        gradient_precision=section.word("gradient_precision", "training-gradient-precision"),
        zero=section.quantity("zero", "count", "training-zero", zero=True),
        parallelism=_parallelism(section.below("parallelism")),
        flops_per_parameter_token=section.catalog.assumption("flops-per-parameter-token"),
        recompute_flops_per_parameter_token=section.catalog.assumption("recompute-flops-per-parameter-token"),
    )
    return None if model is None or tokens is None else training(model=model, tokens=tokens)


def _parallelism(section: Section) -> Parallelism | None:
    if not section.data:
        return None

    def degree(key: str) -> Figure:
        return section.quantity(key, "count", "parallelism-degree")

    return Parallelism(
        tensor=degree("tensor"),
        pipeline=degree("pipeline"),
        interleave=degree("interleave"),
        context=degree("context"),
        expert=degree("expert"),
        sequence_parallel=bool(section.data.get("sequence_parallel", False)),
        mark=section.mark,
    )


def _cluster(section: Section) -> Cluster | None:
    gpu = section.part("gpu", "gpu", records.gpu)
    server = section.part("server", "server", records.server)
    round_up_to = section.data.get("round_up_to")
    rounding = (
        section.below("round_up_to").figure("servers", "count")
        if isinstance(round_up_to, dict)
        else section.word("round_up_to", "cluster-round-up-to")
    )
    figures = {
        "gpus": section.figure("gpus", "count"),
        "servers": section.figure("servers", "count"),
        "spare_servers": section.figure("spare_servers", "count", zero=True),
    }
    if gpu is None and not section.has("gpu") and server is not None and server.gpu:
        with suppress(UnknownPart):
            gpu = records.gpu(section.catalog.find("gpu", server.gpu))
    if gpu is None and not section.has("gpu") and not section.problems:
        section.problems.append(
            Problem(
                section.mark,
                "error",
                "the key 'gpu' is missing in cluster; name a GPU, for example `gpu: h100-sxm`",
                "missing-key",
                "cluster",
            )
        )
    if gpu is None or rounding is None:
        return None
    if server is None and not section.has("server"):
        server = default_server(section.catalog, gpu.identity.id)
    return Cluster(
        mark=section.mark,
        gpu=gpu,
        server=server,
        server_nic=_server_nic(section, server),
        round_up_to=rounding,
        **figures,
    )


def default_server(catalog: Catalog, gpu: str) -> parts.Server | None:
    """The server marked as the default of a GPU, if there is one."""
    fits = (record for record in catalog.naming("server", "gpu", gpu) if record.value("default"))
    return next((records.server(record) for record in fits), None)


def _server_nic(section: Section, server: parts.Server | None) -> parts.Nic | None:
    inline_nic = section.data.get("server")
    if isinstance(inline_nic, dict) and isinstance(inline_nic.get("nic"), dict):
        return section.below("server").part("nic", "nic", records.nic)
    if server is None or server.nic is None:
        return None
    with suppress(UnknownPart):
        return records.nic(section.catalog.find("nic", server.nic))
    section.below("server").problem("nic", f"no nic '{server.nic}'; name one of the catalogue", "unknown-part")
    return None


def _fabric(fabrics: Section, name: str) -> FabricPlan | None:
    section = fabrics.below(name)
    given = fabrics.data[name]
    role = name if given == DEFAULT else str(section.data.get("role", name))
    if role not in ROLES:
        fabrics.problem(name, f"no role '{role}'; give the fabric a role: {', '.join(ROLES)}", "role")
        return None
    mark = fabrics.source.key_mark(section.path)
    if given == DEFAULT:
        section = _default_fabric(fabrics, role)
    switch = section.part("switch", "switch", records.switch)
    tier_plans = {tier: _tier(section, tier, switch) for tier in ("leaf", "spine", "core")}
    for tier, tier_plan in tier_plans.items():
        if tier_plan is None and tier == "leaf" and not section.has("switch") and not section.below(tier).has("switch"):
            message = f"the fabric {name} names no switch; add `switch:` with a catalogue id, for example qm9700"
            section.problems.append(Problem(mark, "error", message, "missing-key", f"fabrics.{name}"))
    ratio = section.data.get("oversubscription")
    ratios = section.below("oversubscription") if isinstance(ratio, dict) else None
    leaf_ratio = (
        ratios.quantity("leaf", "ratio", "fabric-oversubscription")
        if ratios
        else section.quantity("oversubscription", "ratio", "fabric-oversubscription")
    )
    spine_ratio = (ratios or section.below("oversubscription")).quantity(
        "spine", "ratio", "fabric-spine-oversubscription"
    )
    tiers = None if section.data.get("tiers", AUTO) == AUTO else section.figure("tiers", "count")
    reserved = section.figure("reserved_ports", "count", zero=True)
    return FabricPlan(
        name=name,
        mark=mark,
        role=role,
        topology=section.word("topology", "fabric-topology"),
        nic=section.part("nic", "nic", records.nic),
        gpus_per_nic=section.figure("gpus_per_nic", "count"),
        ports_per_server=section.figure("ports_per_server", "count"),
        link_gbps=section.figure("link", "Gb/s"),
        tiers=tiers,
        oversubscription=leaf_ratio,
        spine_oversubscription=spine_ratio,
        scalable_unit=section.below("scalable_unit").figure("servers", "count"),
        build_out=section.word("build_out", "fabric-build-out"),
        tier_plans={tier: tier_plan for tier, tier_plan in tier_plans.items() if tier_plan is not None},
        pod_leaves=section.below("pod").figure("leaves", "count"),
        reserved_ports=reserved if reserved and reserved.value else None,
        links={kind: _link(section.below("links"), kind, mark) for kind in LINK_KINDS},
    )


def _default_fabric(fabrics: Section, role: str) -> Section:
    """The section of the cited default for a role, every figure of it an assumption."""
    record = fabrics.catalog.find("assumption", f"fabric-{role.replace('_', '-')}-default")
    origin = fabrics.catalog.assumption(record.id).origin
    return Section(record.source, ("value",), fabrics.catalog, fabrics.problems, origin)


def _tier(section: Section, tier: str, switch: parts.Switch | None) -> TierChoice | None:
    own = section.below(tier)
    model = own.part("switch", "switch", records.switch) or switch
    if model is None:
        return None
    return TierChoice(
        switch=model,
        servers=own.figure("servers", "count"),
        per_pod=own.figure("per_pod", "count"),
        count=own.figure("count", "count"),
        downlinks=own.figure("downlinks", "count"),
        uplinks=own.figure("uplinks", "count"),
    )


def _link(links: Section, kind: str, fabric_mark: Mark) -> Wish:
    section = links.below(kind)
    named = section.data.get("module")
    ends = LINK_KINDS[kind]
    modules = {end: str(named) for end in ends} if isinstance(named, str) else dict(named or {})
    for end, part in modules.items():
        at = section.below("module") if isinstance(named, dict) else section
        key = end if isinstance(named, dict) else "module"
        if end not in ends:
            at.problem(key, f"a {kind} link has no {end} end; its ends are {' and '.join(ends)}", "link-end")
        elif not _is_known(section.catalog, str(part)):
            at.problem(key, _unknown_module(section.catalog, str(part)), "unknown-part")
    return Wish(
        medium=section.word("medium", "link-medium"),
        modules={end: str(part) for end, part in modules.items()},
        rate_gbps=section.figure("rate", "Gb/s"),
        length_m=section.quantity("length", "m", "link-length"),
        mark=section.mark if section.data and section.origin is None else fabric_mark,
    )


def _is_known(catalog: Catalog, part: str) -> bool:
    """Whether a module or cable of that name is in the catalogue."""
    for kind in ("transceiver", "cable"):
        with suppress(UnknownPart):
            catalog.find(kind, part)
            return True
    return False


def _unknown_module(catalog: Catalog, part: str) -> str:
    """What is wrong with the name of a module or cable, with the nearest name of either kind."""
    names = [*catalog.ids("transceiver"), *catalog.ids("cable")]
    close = nearest(part.lower(), names)
    hint = f"did you mean '{close[0]}'?" if close else "`bomgen catalog transceiver` and `cable` list what there is"
    return f"no module or cable '{part}'; {hint}"


def _site(section: Section) -> Site:
    rack, management = section.below("rack"), section.below("management")
    by_hand = section.data.get("servers_per_rack", AUTO) != AUTO
    return Site(
        mark=section.mark,
        rack_units=rack.quantity("units", "U", "rack-units"),
        rack_power_w=rack.quantity("power", "W", "rack-power"),
        pdus_per_rack=rack.quantity("pdus", "count", "rack-pdus", zero=True),
        servers_per_rack=section.figure("servers_per_rack", "count") if by_hand else None,
        management_racks=management.figure("racks", "count", zero=True),
        management_pdus=management.quantity("pdus", "count", "management-pdus", zero=True),
        pue=section.figure("pue", "ratio"),
        electricity=section.figure("electricity", "per kWh", zero=True),
    )


def _spares(section: Section) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for category, raw in section.data.items():
        is_share = (isinstance(raw, str) and raw.strip().endswith("%")) or (isinstance(raw, Fraction) and raw < 1)
        figure = section.figure(category, "share" if is_share else "count", zero=True)
        if figure is not None:
            found[category] = figure
    return found


def _quote(section: Section) -> QuotePlan:
    books = section.data.get("price_book") or []
    named = [books] if isinstance(books, str) else list(books)
    steps: list[Path] = [("price_book",)] if isinstance(books, str) else [("price_book", i) for i in range(len(named))]
    marks = [section.source.mark((*section.path, *step)) for step in steps]
    discounts = section.below("discount")
    shares = {category: discounts.figure(category, "share", zero=True) for category in discounts.data}
    assumed = section.catalog.assumption("quote-currency")
    return QuotePlan(
        customer=section.text("customer"),
        currency=section.text("currency") or str(assumed.value),
        assumed_currency=None if section.has("currency") else assumed,
        price_books=tuple(zip(named, marks, strict=True)),
        discounts={category: share for category, share in shares.items() if share is not None},
        tax=section.figure("tax", "share", zero=True),
        valid_days=section.figure("valid_days", "days"),
        date=section.text("date"),
        date_mark=section.value_mark("date") if section.has("date") else None,
        language=section.text("language") or "en",
        mark=section.mark if section.data else section.source.mark(()),
    )
