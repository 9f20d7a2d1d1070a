"""Folded Clos fabrics: the search for the lowest switch count, its formulas, and the leaves of endpoints."""
