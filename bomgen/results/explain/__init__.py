"""How numbers were worked out and why things were chosen, as trees of plain data."""
