"""What the search is asked and what it found, as figures: for what no single rule gives."""

from __future__ import annotations

from fractions import Fraction

from bomgen.core.provenance import formula
from bomgen.fabric.clos.search import Numbers, Shape, largest, ports_left_down, require_smallest


@formula("demand")
def in_numbers(
    tiers: int,
    nic_ports: int,
    host_ports: int,
    reserved_ports: int,
    rails: int,
    unit: int,
    down_gbps: int,
    up_gbps: int,
    core_gbps: int,
    oversubscription: Fraction,
    spine_oversubscription: Fraction,
    radix: int,
    up_radix: int,
    cages: int,
    spine_radix: int,
    spine_up_radix: int,
    spine_cages: int,
    core_radix: int,
    leaf_down: int,
    leaf_up: int,
    pod_leaves: int,
    spine_count: int,
    spines_per_pod: int,
    spine_down: int,
    spine_up: int,
    core_count: int,
) -> Numbers:
    """A demand in plain numbers, as the search takes it."""
    return Numbers(
        tiers,
        nic_ports,
        host_ports,
        reserved_ports,
        rails,
        unit,
        down_gbps,
        up_gbps,
        core_gbps,
        oversubscription,
        spine_oversubscription,
        radix,
        up_radix,
        cages,
        spine_radix,
        spine_up_radix,
        spine_cages,
        core_radix,
        leaf_down,
        leaf_up,
        pod_leaves,
        spine_count,
        spines_per_pod,
        spine_down,
        spine_up,
        core_count,
    )


@formula("shape", source="every division of a leaf's ports, and every number of pods, tried for the fewest switches")
def smallest_fabric(demand: Numbers) -> Shape:
    """Ports down and up of a leaf, leaves, pods, spines of a pod, their up-links, and cores of the smallest fabric."""
    return require_smallest(demand)


@formula("endpoints", source="even spread with every up-link to a switch of its own")
def largest_fabric(demand: Numbers) -> int:
    """Endpoints of the largest fabric of as many tiers of the same switches, with what the plan fixes of them."""
    return largest(demand)


@formula("ports")
def up_of(shape: Shape) -> int:
    """Up-links of a leaf in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.up


@formula("switches")
def leaves_of(shape: Shape) -> int:
    """Leaves of the smallest fabric: with as many reserved ports on them as saves switches."""
    return shape.leaves


@formula("pods")
def pods_of(shape: Shape) -> int:
    """Pods of the smallest fabric: more than are needed, where that saves switches."""
    return shape.pods


@formula("switches")
def spines_of(shape: Shape) -> int:
    """Spines of a pod in the smallest fabric, with room for more leaves than there are."""
    return shape.spines


@formula("ports")
def spine_up_of(shape: Shape) -> int:
    """Up-links of a spine in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.spine_up


@formula("ports")
def ports_left_in_cages(up: int, radix: int, up_radix: int, cages: int) -> int:
    """Links down that a switch has ports for beside its links up, which may have another rate."""
    return ports_left_down(up, radix, up_radix, cages)
