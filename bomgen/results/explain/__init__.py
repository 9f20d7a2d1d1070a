"""Derivations of numbers and reasons for choices, as trees of plain data."""
