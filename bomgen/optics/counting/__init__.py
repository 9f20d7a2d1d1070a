"""Counting the modules, cables and adapters of the links of a fabric, rounded up per device."""
