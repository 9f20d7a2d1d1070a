"""Equipment and its power and energy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil

from bomgen.catalog.parts import PowerSupplies
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, formula, product, sum_of
from bomgen.core.units import HOURS_A_DAY

# equipment ----------------------------------------------------------------------------------------------------------
# Equipment other than the servers: machines in racks, and cards in the servers.


@dataclass(frozen=True, slots=True)
class Equipment:
    """Equal machines other than the servers: how many, and the known values of one."""

    name: str
    count: Figure
    power_w: Figure | None
    height_u: Figure | None
    in_server: bool = False
    """Whether they are in servers and take no rack units."""
    of_storage: bool = False
    """Whether they belong to storage, not to the network."""
    weight_kg: Figure | None = None
    """Per machine."""
    supplies: PowerSupplies | None = None


# power --------------------------------------------------------------------------------------------------------------

WATTS_A_KILOWATT = 1000
DAYS_A_YEAR = 365


@formula("W")
def unknown_power() -> int:
    """Power of machines whose power is not known."""
    return 0


UNKNOWN_POWER = unknown_power()


power_of = product("power_of", "W", "count", "each_w")
"""Power of equal machines, all at their maximum."""


@formula("W")
def power_with_cards(power_w: int, cards: int, card_power_w: int) -> int:
    """Power of a server, including the cards that are bought for it."""
    return power_w + cards * card_power_w


cards_of_rack = product("cards_of_rack", "NICs", "cards", "trays")
"""Cards of all trays of a rack-scale system."""
sum_of_power = sum_of("sum_of_power", "W", "power_w", "more_power_w")
"""Power of all machines."""
power_of_facility = product("power_of_facility", "W", "power_w", "pue")
"""Power of the facility: power of the machines times power usage effectiveness (PUE)."""


@formula("kWh")
def energy_of_run(facility_power_w: Fraction, run_days: Fraction) -> Fraction:
    """Energy of the facility over the run, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * run_days * HOURS_A_DAY


@formula("kWh")
def energy_of_a_year(facility_power_w: Fraction) -> Fraction:
    """Energy of the facility per year, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * HOURS_A_DAY * DAYS_A_YEAR


cost_of_energy = product("cost_of_energy", "money", "energy_kwh", "electricity")
"""Cost of energy in the currency of the quote; `electricity` is a price per kWh."""
carbon_of_energy = product(
    "carbon_of_energy", "kg", "energy_kwh", "carbon", source="Touvron et al. 2023, LLaMA, arXiv 2302.13971, section 6"
)
"""CO2 equivalent of energy; `carbon` is in kg per kWh."""


def in_words(power_w: Figure, shared_by: int = 1) -> Message:
    """Return a power for a message, or an equal share of it, rounded up; an estimate with its range."""
    values = (Fraction(value) / shared_by for value in (power_w.value, *(power_w.bounds or ())))
    amount, *ends = (watts_in_words(ceil(watts)) for watts in values)
    return message("estimate", amount=amount, low=ends[0], high=ends[1]) if ends else amount


def watts_in_words(watts: int) -> Message:
    """Return a power for a message with all its digits, so that a power above a limit never reads as the limit."""
    if watts < WATTS_A_KILOWATT:
        return message("watts", watts=watts)
    return message("kilowatts", kilowatts=Decimal(watts).normalize() / WATTS_A_KILOWATT)


def at_end(power_w: Figure, end: int) -> Figure:
    """Return a power at the low (0) or high (1) end of its estimate; an exact one unchanged."""
    return replace(power_w, value=power_w.estimate[end], estimate=None) if power_w.estimate else power_w


def known_power(machines: Iterable[Equipment]) -> Figure | None:
    """Return the total known power of machines; None when none is known."""
    power: Figure | None = None
    for machine in machines:
        if machine.power_w:
            more = power_of(machine.count, machine.power_w)
            power = more if power is None else sum_of_power(power, more)
    return power
