"""Power and energy: what machines draw at their maximum, and what it costs over a run and per year."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil

from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, formula
from bomgen.core.units import HOURS_A_DAY
from bomgen.site.equipment import Equipment

WATTS_A_KILOWATT = 1000
DAYS_A_YEAR = 365


@formula("W")
def unknown_power() -> int:
    """Power of machines whose power is not known."""
    return 0


UNKNOWN_POWER = unknown_power()


@formula("W")
def power_of(count: int, each_w: int) -> int:
    """Power of equal machines, all at their maximum."""
    return count * each_w


@formula("W")
def power_with_cards(power_w: int, cards: int, card_power_w: int) -> int:
    """Power of a server with the cards that are bought for it."""
    return power_w + cards * card_power_w


@formula("NICs")
def cards_of_rack(cards: int, trays: int) -> int:
    """Cards of all trays of a rack-scale system."""
    return cards * trays


@formula("W")
def sum_of_power(power_w: int, more_power_w: int) -> int:
    """Power of all machines."""
    return power_w + more_power_w


@formula("W")
def power_of_facility(power_w: int, pue: Fraction) -> Fraction:
    """Power of the facility: power of the machines times power usage effectiveness (PUE)."""
    return power_w * pue


@formula("kWh")
def energy_of_run(facility_power_w: Fraction, run_days: Fraction) -> Fraction:
    """Energy of the facility over the run, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * run_days * HOURS_A_DAY


@formula("kWh")
def energy_of_a_year(facility_power_w: Fraction) -> Fraction:
    """Energy of the facility per year, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * HOURS_A_DAY * DAYS_A_YEAR


@formula("money")
def cost_of_energy(energy_kwh: Fraction, electricity: Fraction) -> Fraction:
    """Cost of energy in the currency of the quote; `electricity` is a price per kWh."""
    return energy_kwh * electricity


@formula("kg", source="Touvron et al. 2023, LLaMA, arXiv 2302.13971, section 6")
def carbon_of_energy(energy_kwh: Fraction, carbon: Fraction) -> Fraction:
    """CO2 equivalent of energy; `carbon` is in kg per kWh."""
    return energy_kwh * carbon


def in_words(power_w: Figure, shared_by: int = 1) -> Message:
    """Return a power for a message, or an equal share of it, rounded up; an estimate with its range."""
    watts, *ends = (ceil(Fraction(each) / shared_by) for each in (power_w.value, *(power_w.bounds or ())))
    amount = message("watts", watts=watts)
    return message("estimate", amount=amount, low=ends[0], high=ends[1]) if ends else amount


def at_end(power_w: Figure, end: int) -> Figure:
    """Return a power at the low (0) or high (1) end of its estimate; an exact one unchanged."""
    return replace(power_w, value=power_w.estimate[end], estimate=None) if power_w.estimate else power_w


def known_power(machines: Iterable[Equipment]) -> Figure | None:
    """The total power of machines as far as it is known; None when it is known of none."""
    power: Figure | None = None
    for machine in machines:
        if machine.power_w:
            more = power_of(machine.count, machine.power_w)
            power = more if power is None else sum_of_power(power, more)
    return power
