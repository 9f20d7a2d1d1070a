"""Files: one module a format.

In comes a report or a document; out come the bytes of files, which are put in place all together or not at all.
"""
