"""The design of a cluster: everything that is built, without money.

The input is the plan, its sizing and the parts of the catalogue; the output is one design with fabrics, interconnects,
NICs, racks and power.
"""
