"""Binding of the fabrics block of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from bomgen.catalog import part_records, parts
from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import slug
from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Assumed, Figure, Mark, constant, first_given, floor_div
from bomgen.fabric.ports import carries_rate
from bomgen.fabric.types import SERVER_LEAF, LinkKind, TierChoice, Topology, describe_topologies, link_kinds
from bomgen.optics.compatibility import AOC, COPPER, OPTICS_ONLY, PREFER_COPPER, TRANSCEIVER, LinkSpec, PanelSpec
from bomgen.plan.binding.section import AUTO, WORD, PlanSection
from bomgen.plan.fabric_demand import ETHERNET, Attachment, compute_protocols, own_port_gbps
from bomgen.plan.schema import unknown_part
from bomgen.plan.types import (
    COMPUTE,
    IN_BAND,
    OUT_OF_BAND,
    REDUNDANT,
    ROLES,
    STORAGE,
    Cluster,
    FabricPlan,
    Hosts,
    Plug,
    Uplink,
)

DEFAULT, NONE = "default", "none"
OTHERWISE, UP_TO = "otherwise", "up_to"
"""The key of the alternative form of a default fabric, and in it that of the most servers that it is for."""
COMPUTE_DEFAULT = "fabric-compute-default"
"""The default compute fabric, and the beginning of the ids of those for other platforms."""
PORT_TO_PORT = "fabric-port-to-port"
"""The fabric of two servers that are joined without a switch."""
PLATFORM = ("server", "gpu", "server_vendor", "gpu_vendor", "gbps", "protocol")
"""What a default compute fabric may be for, the most telling first."""
PORTS_OF_ONE_CARD = 2
"""Ports for storage and in-band traffic of a server with one card for both."""
NVIDIA = "NVIDIA"
CONVERGED = "converged"
"""In ids of defaults: a fabric for storage and in-band traffic."""
OWN_LINK = ("rate", "medium", "length", "module")
"""Keys of hosts and of uplinks for their own links."""
CUSTOMERS_KEYS = ("count", "to", "far_module")
"""Keys of uplinks to the customer's switch."""
CUSTOMERS_SWITCH = "customer's switch"
INCLUDED = "included"
"""The word for a module at the customer's end that is offered, too."""
MODULES = ("transceiver", "cable")
"""Kinds of parts that a link may specify."""


def built(listed: PlanSection) -> tuple[PlanSection, Mark | None]:
    """Return the fabrics without those that the plan rules out, and where it rules out the compute fabric."""
    out = [name for name, value in listed.data.items() if value == NONE]
    marks = (listed.source.key_mark(listed.below(name).path) for name in out if name == COMPUTE)
    return listed._replace(given={key: value for key, value in listed.data.items() if key not in out}), next(
        marks, None
    )


def converged(fabrics: PlanSection, bought: Cluster | None) -> tuple[str, ...]:
    """Return the names of fabrics that are one by default: storage, which is built, and in-band, which it carries.

    A server with one dual-port card for both has no ports for two fabrics; a platform may have one by design.
    """
    if bought is None or (server := bought.server) is None:
        return ()
    names = (name for name, value in fabrics.data.items() if value == DEFAULT and _role(fabrics, name) in REDUNDANT)
    ordered = sorted(names, key=lambda name: ROLES.index(_role(fabrics, name)))
    one_card = server.storage is None or server.storage.count.value <= PORTS_OF_ONE_CARD
    by_design = len(ordered) > 1 and bool(_default_record(fabrics, CONVERGED, bought).value("suits"))
    return tuple(ordered) if ordered and _role(fabrics, ordered[0]) == STORAGE and (one_card or by_design) else ()


def fabric(
    fabrics: PlanSection, name: str, shared: tuple[str, ...] = (), bought: Cluster | None = None
) -> FabricPlan | None:
    """Return the fabric of a name; None when it is wrong, which the section notes. `shared`: see `converged`."""
    section, server = fabrics.below(name), bought.server if bought else None
    value = fabrics.data[name]
    role = _role(fabrics, name)
    if role not in ROLES:
        fabrics.problem(name, f"no role '{role}'; set a role for the fabric: {', '.join(ROLES)}", "role")
        return None
    mark = fabrics.source.key_mark(section.path)
    usual = _usual_compute_fabric(fabrics, name, bought) if role == COMPUTE else None
    if value != DEFAULT:
        return _read_fabric(section, fabrics, name, role, mark, shared, usual=usual)
    leaf = _compute_leaf(fabrics, bought)
    least = fabrics.catalog.assumption("fabric-compute-servers") if role == COMPUTE else None
    pair = _assumed_section(fabrics, name, fabrics.catalog.find("assumption", PORT_TO_PORT))
    if role == COMPUTE and usual is None and _has_one_server(bought):
        known = bought is not None and bought.server is not None and bought.server.compute is not None
        return _read_fabric(pair, fabrics, name, role, mark, ())._replace(least_servers=least) if known else None
    if role == COMPUTE and usual is None:
        servers = bought.server.identity.name if bought and bought.server else "the server"
        facts = _platform(bought, None)
        ports = f"{servers}, {facts.get('protocol', 'of no known protocol')} at {facts.get('gbps', 'unknown')} Gb/s"
        text = f"no default compute fabric is known for the ports of {ports}; "
        text += "describe a `switch:` that they speak to, or write `compute: none`"
        fabrics.problem(name, text, "protocol")
        return None
    section = usual or _default_fabric(fabrics, name, shared, bought, leaf)
    like = leaf if role == STORAGE and leaf and _serves_storage(leaf, server) else None

    def read(form: PlanSection) -> FabricPlan:
        switch = _small_switch(fabrics.catalog, like) if like and form.has(UP_TO) else like
        plan = _read_fabric(form, fabrics, name, role, mark, shared, switch, usual)
        if not form.has(OTHERWISE):
            return plan
        alternative = form.below(OTHERWISE)._replace(declared=section.declared)
        other = pair if alternative.data["topology"] == pair.data["topology"] else alternative
        return plan._replace(otherwise=read(other), otherwise_up_to=alternative.data.get(UP_TO))

    return read(section)._replace(least_servers=least)


def _has_one_server(bought: Cluster | None) -> bool:
    """Return whether the plan asks for a single server, which needs no compute fabric."""
    if bought is None or bought.server is None:
        return False
    asked, whole = (bought.servers, 1) if bought.servers else (bought.gpus, bought.server.gpus.value)
    return asked is not None and asked.value <= whole


def pair_of_servers(fabrics: PlanSection, mark: Mark | None, bought: Cluster | None) -> FabricPlan | None:
    """Return the fabric that joins two servers where the plan rules out compute switches at `mark`; None: it cannot."""
    server = bought.server if bought else None
    if mark is None or bought is None or server is None or server.compute is None or own_port_gbps(bought) is None:
        return None
    section = _assumed_section(fabrics, COMPUTE, fabrics.catalog.find("assumption", PORT_TO_PORT))
    return _read_fabric(section, fabrics, COMPUTE, COMPUTE, mark, ())


def _read_fabric(
    section: PlanSection,
    fabrics: PlanSection,
    name: str,
    role: str,
    mark: Mark,
    shared: tuple[str, ...],
    like: parts.Switch | None = None,
    usual: PlanSection | None = None,
) -> FabricPlan:
    """Return the fabric that a section describes, which may be a cited default; of switches `like` another's.

    A compute fabric that names no switch has that of the `usual` one, and its topology unless it names one.
    """
    fitting, usual = usual, None if section.origin is None and _names_leaf(section) else usual
    topology = (section if section.has("topology") or usual is None else usual).setting("topology")
    kind = _topology(section, str(topology.value))
    usual = None if kind.switchless else usual
    switch = like or section.part("switch", "switch", part_records.switch)
    switch = switch or (usual.part("switch", "switch", part_records.switch) if usual else None)
    above = switch or section.below("leaf").part("switch", "switch", part_records.switch)
    tier_plans = {"leaf": _tier(section, "leaf", switch)}
    tier_plans |= {tier: _tier(section, tier, above) for tier in ("spine", "core")}
    if not (tier_plans["leaf"] or kind.switchless or _names_leaf(section)):
        message = f"the fabric {name} has no switch; add `switch:` with a catalogue id, for example qm9700"
        if role == COMPUTE:
            message = f"no switch is known for the servers' ports on {name}; add `switch:` with one that they speak to"
        section.problems.append(Problem(mark, "error", message, "missing-key", f"fabrics.{name}"))
    links, ratios = section.below("links"), section.below("oversubscription")
    leaf_ratio = (ratios, "leaf") if ratios.data else (section, "oversubscription")
    split = section.data.get("split_servers", AUTO)
    reserved = section.figure("reserved_ports")
    return FabricPlan(
        **section.keys(FabricPlan),
        name=name,
        mark=mark,
        role=role,
        nic=section.part("nic", "nic", part_records.nic),
        link_gbps=section.figure("link"),
        oversubscription=leaf_ratio[0].setting(leaf_ratio[1]),
        spine_oversubscription=ratios.setting("spine"),
        scalable_unit=section.below("scalable_unit").figure("servers"),
        split_servers=None if split == AUTO else bool(split),
        tier_plans={tier: tier_plan for tier, tier_plan in tier_plans.items() if tier_plan is not None},
        pod_leaves=section.below("pod").figure("leaves"),
        pod_rails=section.below("pod").setting("rails"),
        homing_asked=section.has("homing"),
        homing=section.setting("homing", "fabric-homing-redundant" if role in REDUNDANT else None),
        reserved_ports=reserved if reserved and reserved.value else None,
        hosts=_hosts(section, role, tier_plans["leaf"]),
        switch_ports=_management_ports(section, role, "switch"),
        pdu_ports=_management_ports(section, role, "pdu"),
        machine_ports=_management_ports(section, role, "machine"),
        uplink=_uplink(section, fabrics, kind, shared),
        links={each.name: _link(links.below(each.name), each, mark) for each in link_kinds().values()},
        declared=kind,
        options=_options(section, kind),
        host_cage=section.catalog.assumption("host-cage"),
        carried=shared[1:] if name in shared else (),
        switch_by_default=usual.figure("switch", unit=WORD) if usual else None,
        fitting_switches=(fitting.data["switch"], *fitting.source.data["alternatives"]) if fitting else (),
    )


def _names_leaf(section: PlanSection) -> bool:
    return section.has("switch") or section.below("leaf").has("switch")


def _hosts(section: PlanSection, role: str, leaf: TierChoice | None) -> tuple[Hosts, ...]:
    """Return the other machines on the fabric, by name, so that their order in a plan does not matter."""
    machines = []
    for listed in section.items("hosts"):
        part = _host_part(listed)
        nic, protocol = listed.part("nic", "nic", part_records.nic), leaf.switch.protocol if leaf else None
        device: parts.Nic | parts.Appliance | None = nic
        # The ports of an appliance are on fabrics that speak its protocols; its management port has a different plug.
        if part and nic is None and role != OUT_OF_BAND:
            device = part if not (protocol and part.protocols) or protocol in part.protocols else None
        machines.append(
            Hosts(
                **listed.keys(Hosts),
                pieces=listed.setting("count"),
                part=part,
                plug=plug_of(device) if device else None,
                link=_own_link(section, listed),
            )
        )
    machines += _customers_switch(section)
    return tuple(sorted(machines, key=lambda hosts: hosts.name))


def _host_part(listed: PlanSection) -> parts.Appliance | None:
    """Return the machine that is bought for each host: described, or of any kind of the catalogue that has ports."""
    named = listed.data.get("part")
    if not isinstance(named, str):
        return listed.part("part", part_records.HOST_KINDS[0], part_records.host)
    if wrong := unknown_part(listed.catalog, part_records.HOST_KINDS, named):
        listed.problem("part", wrong, "unknown-part")
        return None
    kinds = (kind for kind in part_records.HOST_KINDS if unknown_part(listed.catalog, (kind,), named) is None)
    return listed.part("part", next(kinds), part_records.host)


def _own_link(section: PlanSection, listed: PlanSection) -> LinkSpec | None:
    """Return the link settings of some hosts, completed by those of the fabric; None if they have none."""
    if not any(listed.has(key) for key in OWN_LINK):
        return None
    usual = _link(section.below("links").below(SERVER_LEAF.name), SERVER_LEAF, listed.mark)
    spec = _link(listed, SERVER_LEAF, listed.mark)
    return usual._replace(
        mark=listed.mark,
        medium=spec.medium if listed.has("medium") or spec.modules else usual.medium,
        modules=spec.modules or ({} if listed.has("medium") else usual.modules),
        rate_gbps=spec.rate_gbps,
        length_m=spec.length_m if listed.has("length") else usual.length_m,
        fibre=None if listed.has("medium") or spec.modules else usual.fibre,
        panels=None,
    )


def _customers_switch(section: PlanSection) -> Iterator[Hosts]:
    """Yield the customer's switch that a fabric is linked to, where its uplinks lead into no other fabric."""
    below = section.below("uplink")
    if not below.data or below.has("fabric"):
        return
    count = below.figure("count")
    if count is None:
        below.problem(
            "count",
            "uplinks without a number; write `count:` links to the customer's switch, or `fabric:` for another fabric",
            "uplink",
        )
        return
    name, link = below.text("to") or CUSTOMERS_SWITCH, _own_link(section, below)
    usual = _link(section.below("links").below(SERVER_LEAF.name), SERVER_LEAF, below.mark)
    link = link or usual._replace(mark=below.mark, panels=None)
    offered = below.text("far_module") == INCLUDED
    yield Hosts(name, one_switch(), count, link=link, customers=True, modules_offered=offered)


one_switch = constant("one_switch", "machines", 1)
"""The customer's switch that uplinks lead to."""


def _leave_out_parts(elsewhere: set[str], machines: tuple[Hosts, ...]) -> tuple[Hosts, ...]:
    return tuple(hosts._replace(part=None) if hosts.name in elsewhere else hosts for hosts in machines)


def bought_once(fabrics: Iterable[FabricPlan], problems: list[Problem]) -> tuple[FabricPlan, ...]:
    """Return the fabrics with machines of one name bought once: by the first fabric that names their part.

    Notes a problem where two fabrics give different numbers or parts for them.
    """
    buyers: dict[str, tuple[str, Hosts]] = {}
    changed = []
    for fabric_plan in fabrics:
        elsewhere = set[str]()
        for here in fabric_plan.hosts:
            where, first = buyers.get(here.name, (fabric_plan.name, here))
            stated = [(str(here.pieces.value), str(first.pieces.value))]
            if here.part and first.part:
                stated.append((here.part.identity.name, first.part.identity.name))
            for value, first_value in stated if where != fabric_plan.name else ():
                if value != first_value:
                    text = (
                        f"'{here.name}' are {value} here and {first_value} on {where}; one name is for the same "
                        "machines: use the same value, or give these another name"
                    )
                    mark = first_given(here.pieces) or fabric_plan.mark
                    problems.append(Problem(mark, "error", text, "hosts", f"fabrics.{fabric_plan.name}.hosts"))
            if where == fabric_plan.name or first.part is None:
                buyers[here.name] = (fabric_plan.name, here)
            else:
                elsewhere.add(here.name)
        changed.append(fabric_plan.with_hosts(partial(_leave_out_parts, elsewhere)))
    return tuple(changed)


planes_of_ethernet = floor_div("planes_of_ethernet", "planes", "port_gbps", "ethernet_gbps")
"""Planes over which a NIC port is broken out if its Ethernet rate is lower."""


def with_ethernet_planes(fabric: FabricPlan, server_nic: parts.Nic | None, problems: list[Problem]) -> FabricPlan:
    """Return the fabric in planes, where its NICs split a port for Ethernet and the plan leaves that open.

    Notes a problem where the plan sets links that such a port does not carry.
    """
    if fabric.otherwise:
        fabric = fabric._replace(otherwise=with_ethernet_planes(fabric.otherwise, server_nic, problems))
    nic = fabric.nic or (server_nic if fabric.role == COMPUTE else None)
    leaf = fabric.tier_plans.get("leaf")
    if nic is None or nic.ethernet_gbps is None or leaf is None or leaf.switch.protocol != ETHERNET:
        return fabric
    most, planes = nic.ethernet_gbps, fabric.planes
    asked = fabric.links[SERVER_LEAF.name].rate_gbps or fabric.link_gbps
    fastest = max(group.port_gbps.value for group in leaf.switch.groups)
    rate = min(asked.value if asked else nic.port_gbps.value // max(planes.value // nic.ports.value, 1), fastest)
    if rate <= most.value:
        return fabric
    if isinstance(planes.origin, Assumed) and asked is None:
        return fabric._replace(planes=planes_of_ethernet(nic.port_gbps, most))
    needed = nic.port_gbps.value // most.value
    message = (
        f"a port of {nic.identity.name} carries Ethernet links of {most.value} Gb/s at most, not {rate}; write "
        f"`planes: {needed}` and leave `link:` out, or `link: {most.value}G`"
    )
    problems.append(Problem(first_given(asked or planes) or fabric.mark, "error", message, "rate"))
    return fabric


def plug_of(device: parts.Nic | parts.Appliance | parts.StorageSystem | Attachment) -> Plug | None:
    """Return the plug of a machine with the ports of a device; None where their cage is unknown."""
    if device.cage == parts.ANY or device.ports_per_cage is None:
        return None
    return Plug(device.cage, device.ports_per_cage, device.port_gbps)


def _management_ports(section: PlanSection, role: str, device: str) -> Figure | None:
    key = f"{device}_ports"
    if role != OUT_OF_BAND:
        if section.has(key):
            section.problem(key, f"{key} is for fabrics with the role out_of_band; remove it", "role")
        return None
    ports = section.setting(key)
    return ports if ports.value else None


def _uplink(section: PlanSection, fabrics: PlanSection, topology: Topology, shared: tuple[str, ...]) -> Uplink | None:
    """Return the fabric that the leaves are linked into; of `shared` fabrics, the one that is built."""
    below = section.below("uplink")
    name = below.text("fabric")
    for key in (*CUSTOMERS_KEYS, *OWN_LINK) if name else ("ports",):
        if below.has(key):
            where = f"into the fabric {name}" if name else "to the customer's switch"
            below.problem(key, f"`{key}:` does not apply to uplinks {where}; remove it", "uplink")
    if name is None:
        if topology.uplinked:
            message = f"{topology.name} leaves have no spines; add `uplink: {{fabric: ...}}`"
            section.problem("topology", message, "uplink")
        return None
    if not topology.uplinked:
        linked = " or ".join(topology.name for topology in describe_topologies() if topology.uplinked)
        message = f"only leaves of topology {linked} can be linked to another fabric; remove it"
        below.problem("fabric", message, "uplink")
    if section.origin is not None:
        name = next((entry for entry in fabrics.data if _role(fabrics, entry) == IN_BAND), name)
    names = [entry for entry in fabrics.data if entry != ".".join(str(step) for step in section.path[1:])]
    if name not in names:
        below.problem("fabric", f"the plan has no other fabric {name}; it has {', '.join(names) or 'none'}", "uplink")
    name = shared[0] if name in shared else name
    return Uplink(name, below.setting("ports"), below.mark)


def _role(fabrics: PlanSection, name: str) -> str:
    data = fabrics.data[name]
    return str(data.get("role", name)) if isinstance(data, dict) else name


def _topology(section: PlanSection, name: str) -> Topology:
    """Return the topology of a fabric, which may only have options under that topology's name."""
    topologies = {topology.name: topology for topology in describe_topologies()}
    for option in topologies:
        if option != name and section.has(option):
            message = (
                f"`{option}:` is for that topology, but this fabric is a {name}; remove it, or set `topology: {option}`"
            )
            section.problem(option, message, "topology")
    return topologies[name]


def _options(section: PlanSection, topology: Topology) -> dict[str, Figure | tuple[Figure, ...]]:
    named = section.below(topology.name)
    options: dict[str, Figure | tuple[Figure, ...]] = {}
    for key, schema in (topology.options or {}).get("properties", {}).items():
        value = named.figures(key) if schema["type"] == "array" else named.figure(key)
        if value is not None:
            options[key] = value
    return options


def _compute_leaf(fabrics: PlanSection, bought: Cluster | None) -> parts.Switch | None:
    """Return the leaf switch of the first compute fabric; None if the plan has none."""
    for name in fabrics.data:
        if _role(fabrics, name) == COMPUTE:
            section = fabrics.below(name)
            section = section if _names_leaf(section) else _usual_compute_fabric(fabrics, name, bought) or section
            return section.below("leaf").part("switch", "switch", part_records.switch) or section.part(
                "switch", "switch", part_records.switch
            )
    return None


def _usual_compute_fabric(fabrics: PlanSection, name: str, bought: Cluster | None) -> PlanSection | None:
    """Return the section of the cited default for the compute ports of a cluster's servers, or of a fabric's own NIC.

    Of the defaults that suit them, that holds which says most of the platform. None if there is none.
    """
    facts = _platform(bought, fabrics.below(name).part("nic", "nic", part_records.nic))
    record = _best_default(fabrics.catalog, COMPUTE_DEFAULT, facts)
    return _assumed_section(fabrics, name, record) if record else None


def _best_default(catalog: Catalog, id: str, facts: Mapping[str, str | int]) -> Record | None:
    """Return the default of an id, or one for a platform, whose id begins with it: that which says most of it."""
    ids = (name for name in sorted(catalog.ids("assumption")) if name == id or name.startswith(f"{id}-"))
    records = [catalog.find("assumption", name) for name in ids]
    suitable = [
        record
        for record in records
        if (record.id == id or record.value("suits"))
        and all(facts.get(key, values[0]) in values for key, values in (record.value("suits") or {}).items())
    ]
    return max(
        suitable,
        key=lambda record: [key in facts and key in (record.value("suits") or {}) for key in PLATFORM],
        default=None,
    )


def _platform(bought: Cluster | None, nic: parts.Nic | None) -> dict[str, str | int]:
    """Return what a compute fabric is for, by `PLATFORM`; without rate or protocol where these are unknown."""
    if bought is None:
        return {}
    server, protocols = bought.server, nic.protocols if nic else compute_protocols(bought)
    ports, protocol = nic or bought.server_nic, protocols[0] if protocols else None
    port = nic.port_gbps if nic else own_port_gbps(bought)
    gbps = ports.ethernet_gbps if ports and ports.ethernet_gbps and protocol == ETHERNET else port
    facts: dict[str, str | int] = {
        "server": server.identity.id if server else "",
        "gpu": bought.gpu.identity.id,
        "gpu_vendor": bought.gpu.identity.vendor or "",
        "server_vendor": (server.identity.vendor if server else None) or "",
    }
    if gbps:
        facts["gbps"] = int(gbps.value)
    if protocol:
        facts["protocol"] = protocol
    return facts


def _serves_storage(leaf: parts.Switch, server: parts.Server | None) -> bool:
    """Return whether the compute leaves of a vendor other than NVIDIA also suit a default storage fabric."""
    rate = server.storage.gbps if server and server.storage else None
    fits = rate is None or any(carries_rate(group, rate) for group in leaf.groups)
    return leaf.protocol == ETHERNET and leaf.identity.vendor != NVIDIA and leaf.chassis is None and fits


def _small_switch(catalog: Catalog, leaf: parts.Switch) -> parts.Switch:
    """Return the switch for storage of a few servers from the vendor of the compute leaves, or these themselves."""
    id = catalog.find("assumption", "fabric-small-switches").value("value").get(leaf.identity.vendor)
    return part_records.switch(catalog.find("switch", id)) if id else leaf


def _default_fabric(
    fabrics: PlanSection, name: str, shared: tuple[str, ...], bought: Cluster | None, leaf: parts.Switch | None
) -> PlanSection:
    """Return the section of the cited default for a fabric's role, every figure of it an assumption.

    Out-of-band switches are linked into the fabric with in-band traffic, unless that is of the compute leaves' model.
    Defaults follow the compute fabric's leaves: storage is Ethernet where these are, and a vendor may have its own.
    """
    role, server = _role(fabrics, name), bought.server if bought else None
    kind = CONVERGED if name in shared else role.replace("_", "-")
    in_band = {entry for entry in fabrics.data if _role(fabrics, entry) == IN_BAND}
    of_leaf = in_band.issubset(shared) and leaf is not None and _serves_storage(leaf, server)
    if role == OUT_OF_BAND and in_band and not of_leaf:
        kind += "-linked"
    return _assumed_section(fabrics, name, _default_record(fabrics, kind, bought, leaf))


def _default_record(
    fabrics: PlanSection, kind: str, bought: Cluster | None, leaf: parts.Switch | None = None
) -> Record:
    """Return the default for a kind of fabric and a platform, which may have one of its own.

    Fabrics with in-band traffic have management servers where the software of the GPU servers runs on them.
    """
    if kind in (IN_BAND.replace("_", "-"), CONVERGED) and bought and bought.server:
        kind += "-managed" if bought.server.base_command_manager else ""
    id, ids = f"fabric-{kind}-default", fabrics.catalog.ids("assumption")
    if leaf:
        names = (f"{id}-{leaf.protocol}", f"{id}-{slug(leaf.identity.vendor or '')}")
        id = next((of_leaf for of_leaf in names if of_leaf in ids), id)
    record = _best_default(fabrics.catalog, id, _platform(bought, None))
    return record or fabrics.catalog.find("assumption", id)


def _assumed_section(fabrics: PlanSection, name: str, record: Record) -> PlanSection:
    origin = fabrics.catalog.assumption(record.id).origin
    value, declared = record.value("value"), fabrics.declared.at(name)
    return PlanSection(record.source, ("value",), value, fabrics.catalog, fabrics.problems, declared, origin)


def _tier(section: PlanSection, tier: str, switch: parts.Switch | None) -> TierChoice | None:
    tier_section = section.below(tier)
    model = tier_section.part("switch", "switch", part_records.switch) or switch
    if model is None:
        return None
    if line_cards := tier_section.figure("line_cards"):
        try:
            model = part_records.fitted_with(model, line_cards)
        except ValueError as error:
            tier_section.problem("line_cards", str(error), "chassis")
    fixed = {key: tier_section.figure(key) for key in ("servers", "per_pod", "count", "downlinks", "uplinks")}
    return TierChoice(switch=model, **fixed)


def _link(section: PlanSection, kind: LinkKind, fabric_mark: Mark) -> LinkSpec:
    named = section.data.get("module")
    modules = dict.fromkeys(kind.ends, named) if isinstance(named, str) else dict(named or {})
    for end, part in modules.items():
        if wrong := unknown_part(section.catalog, MODULES, str(part)):
            at, key = (section.below("module"), end) if isinstance(named, dict) else (section, "module")
            at.problem(key, wrong, "unknown-part")
    fibre = section.text("fibre")
    if fibre is not None and (wrong := unknown_part(section.catalog, MODULES, fibre)):
        section.problem("fibre", wrong, "unknown-part")
    return LinkSpec(
        medium=section.setting("medium", "link-medium"),
        modules={end: str(part) for end, part in modules.items()},
        rate_gbps=section.figure("rate"),
        length_m=section.setting("length", "link-length"),
        mark=section.mark if section.data and section.origin is None else fabric_mark,
        prefer=_policies(section),
        fibre=fibre,
        panels=_panels(section),
    )


def _panels(section: PlanSection) -> PanelSpec | None:
    if not section.data.get("panels"):
        return None
    medium, below = str(section.data.get("medium", AUTO)), section.below("panels")
    if medium in (*COPPER, AOC):
        message = f"a {medium} has fixed ends and cannot go over panels; remove `panels:` or `medium:`"
        section.problem("panels", message, "medium")
    if PREFER_COPPER in section.texts("prefer"):
        section.problem("panels", "copper is preferred, but panels do not take copper; remove one of them", "prefer")
    if section.has("length"):
        section.problem("length", "with panels, lengths are derived from `site.layout`; remove `length:`", "layout")
    for key, kind in (("panel", "panel"), ("trunk", "cable"), ("jumper", "cable")):
        if below.has(key) and (wrong := unknown_part(section.catalog, (kind,), str(below.data[key]))):
            below.problem(key, wrong, "unknown-part")
    return PanelSpec(below.mark, below.text("panel"), below.text("trunk"), below.text("jumper"))


def _policies(section: PlanSection) -> tuple[str, ...]:
    """Return the policies for a kind of link, which must not contradict each other or the medium specified."""
    prefer = section.texts("prefer")
    medium = str(section.data.get("medium", AUTO))
    joined = medium == TRANSCEIVER or (medium == AUTO and (section.has("module") or section.has("fibre")))
    if PREFER_COPPER in prefer and OPTICS_ONLY in prefer:
        section.problem("prefer", "copper and optics-only contradict each other; keep one", "prefer")
    elif PREFER_COPPER in prefer and (joined or medium == AOC):
        section.problem("prefer", "modules or AOCs are specified, but copper is preferred; keep one of them", "prefer")
    elif OPTICS_ONLY in prefer and medium in COPPER:
        section.problem("prefer", f"`medium: {medium}` is copper, but `prefer` is optics-only; keep one", "prefer")
    if section.has("fibre") and medium in (*COPPER, AOC):
        section.problem("fibre", f"a {medium} has fixed ends; remove `fibre:`", "medium")
    return prefer
