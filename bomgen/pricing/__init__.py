"""The bill, and what it costs.

In comes a design with price books and terms; out come the lines of the bill, unit prices, discounts, tax, totals,
running costs, margins and alternatives. Money is decimal.
"""
