"""Output files: one module per format.

The input is a report or a document; the output is the bytes of files, which are written all together or not at all.
"""
