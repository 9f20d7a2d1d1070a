"""The result as data: numbers, checks, warnings, explanations, differences, and the document in chapters.

In come plan, design, wiring and quote; out come the `Report`, what bom.json holds, and documents that any output
writes.
"""
