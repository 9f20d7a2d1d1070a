"""The kinds of cards in a chassis, and the ports of its line cards."""

from __future__ import annotations

from bomgen.core.provenance import formula, product

LINE_CARDS = "line_cards"
FABRIC_CARDS = "fabric_cards"
SUPERVISORS = "supervisors"
POWER_SUPPLIES = "power_supplies"
CARDS = {
    LINE_CARDS: "line-cards",
    FABRIC_CARDS: "fabric-cards",
    SUPERVISORS: "supervisors",
    POWER_SUPPLIES: "power-supplies",
}
"""The messages that name cards, by their kind."""


ports_of_cards = product("ports_of_cards", "ports", "line_cards", "ports_per_card")
"""Ports of all line cards in a chassis."""


@formula("ports")
def ports_of_fewer(ports_at_rate: int, fitted_ports: int, all_ports: int) -> int:
    """Ports at a rate when not all slots have a line card."""
    return ports_at_rate * fitted_ports // all_ports
