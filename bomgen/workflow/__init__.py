"""The path from a plan file to a result: inputs, stages, locks, git revisions, and the library interface.

The input is paths and settings, the output is reports. This room reads the files that a plan names and runs the stages
in order.
"""
