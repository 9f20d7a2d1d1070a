"""Binding of a checked source to a plan, block by block: ids to parts, quantities to figures, gaps to assumptions."""
