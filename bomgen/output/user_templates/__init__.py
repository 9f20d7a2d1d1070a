"""Templates of the user, rendered in a restricted process."""
