"""What changed between two results: keys of the plan, the design, the bill, money, and an expansion as an order."""
