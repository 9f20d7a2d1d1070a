"""From a plan file to a result: inputs, stages, locks, revisions, and the library interface.

In come paths and settings; out come reports. It reads the files that a plan names, and runs the stages in their order.
"""
