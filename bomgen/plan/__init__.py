"""The plan as data, its schema, and the rules that a schema cannot state.

The input is YAML that fits the schema; the output is a `Plan` in which every value is a figure with its place, and
every default a cited assumption.
"""
