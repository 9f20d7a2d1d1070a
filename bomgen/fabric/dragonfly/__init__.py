"""Dragonflies: the search for their dimensions, their formulas and their bisection."""
