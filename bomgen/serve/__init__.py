"""The page of `bomgen serve`: the engine behind it, the files below one folder, and the server on this machine.

The engine is plain functions with JSON-like data in and out, which need neither the server nor a process of their own.
"""
