"""Templates of the user's own, rendered in a process that may do nothing else."""
