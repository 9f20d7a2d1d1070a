"""What the charts of the report show: numbers of a result in the order in which they are drawn, each with its text."""
