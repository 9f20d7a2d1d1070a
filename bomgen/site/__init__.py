"""Where a cluster stands: racks, floor, power, weight and heat.

In come the machines of a design and the site of the plan; out come racks and who stands in them, PDUs and feeds, power,
energy, weight, heat and the floor plan.
"""
