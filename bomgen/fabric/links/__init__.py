"""Which device is connected to which, link by link, as columns of numbers."""
