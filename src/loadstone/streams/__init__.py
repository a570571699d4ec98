"""Random associations: one seed is one infinite sequence of them, the same on every device."""
