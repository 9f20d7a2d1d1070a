"""How many switches, ports and links a topology takes, and which port is connected to which.

In comes a demand: endpoints, rates, switches, and what the plan fixes. Out comes a `Fabric`: tiers, links by kind, free
ports, bisection, and the enumeration of its links as columns.
"""
