"""What the user asked for: the plan as data, its schema, and the rules that a schema cannot state.

In comes YAML that fits the schema; out comes a `Plan` in which every value is a figure with its place, and every
default a cited assumption.
"""
