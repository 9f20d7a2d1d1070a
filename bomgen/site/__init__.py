"""The site of a cluster: racks, floor, power, weight and heat.

The input is the machines of a design and the site of the plan; the output is racks and their machines, PDUs and feeds,
power, energy, weight, heat and the floor plan.
"""
