"""Fabrics: the switch count, ports and links of a topology, and which port is connected to which.

The input is a demand: endpoints, rates, switches, and the values fixed by the plan. The output is a `Fabric`: tiers,
links by kind, free ports, bisection, and the enumeration of its links as columns.
"""
