"""How many modules, cables and adapters the links of a fabric take: every device rounds up for itself."""
