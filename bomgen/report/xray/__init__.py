"""The x-ray of a bill as data and as a document: its fabrics, its lines, what is wrong with it.

In goes what was found; out come a document for every renderer, and plain data.
"""
