"""Folded Clos fabrics: the search for the smallest, its formulas, and who is on which leaf."""
