"""Plans side by side: a column for each plan, a row for each number."""
