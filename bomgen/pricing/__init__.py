"""The bill of materials and its prices.

The input is a design with price books and terms; the output is bill lines, unit prices, discounts, tax, totals, running
costs, margins and alternatives. Amounts are decimal.
"""
