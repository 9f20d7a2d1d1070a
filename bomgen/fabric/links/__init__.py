"""The links between devices, one by one, as columns of numbers."""
