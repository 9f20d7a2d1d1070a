"""Folded Clos fabrics: the search for the lowest switch count, the counts that follow, and the leaves of endpoints."""
