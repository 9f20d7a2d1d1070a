"""The cluster block of a plan."""

from __future__ import annotations

from contextlib import suppress

from bomgen.catalog import part_records, parts
from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.servers import estimate_power
from bomgen.core.diagnostics import Problem
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.types import Cluster


def cluster(section: PlanSection) -> Cluster | None:
    """The cluster block; None when something in it is wrong, which the section notes."""
    gpu = section.part("gpu", "gpu", part_records.gpu)
    server = section.part("server", "server", part_records.server)
    round_up_to = section.data.get("round_up_to")
    rounding = (
        section.below("round_up_to").figure("servers", "count")
        if isinstance(round_up_to, dict)
        else section.word("round_up_to", "cluster-round-up-to")
    )
    figures = {
        "gpus": section.figure("gpus", "count"),
        "servers": section.figure("servers", "count"),
        "racks": section.figure("racks", "count"),
        "spare_servers": section.figure("spare_servers", "count", zero=True),
    }
    if gpu is None and not section.has("gpu") and server is not None and server.gpu:
        with suppress(UnknownPart):
            gpu = part_records.gpu(section.catalog.find("gpu", server.gpu))
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
    server = server and estimate_power(server, gpu)
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
    fits = (record for record in catalog.records_where("server", "gpu", gpu) if record.value("default"))
    return next((part_records.server(record) for record in fits), None)


def _server_nic(section: PlanSection, server: parts.Server | None) -> parts.Nic | None:
    inline_nic = section.data.get("server")
    if isinstance(inline_nic, dict) and isinstance(inline_nic.get("nic"), dict):
        return section.below("server").part("nic", "nic", part_records.nic)
    if server is None or server.nic is None:
        return None
    with suppress(UnknownPart):
        return part_records.nic(section.catalog.find("nic", server.nic))
    section.below("server").problem("nic", f"no nic '{server.nic}'; name one of the catalogue", "unknown-part")
    return None
