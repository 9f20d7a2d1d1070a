"""The design of a cluster: everything that is built, without money.

In come the plan, its sizing and the parts of the catalogue; out comes one design with fabrics, interconnects, NICs,
racks and power.
"""
