"""The difference between two results: plan keys, design, bill, amounts, and an expansion as an order."""
