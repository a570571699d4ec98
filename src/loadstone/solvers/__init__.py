"""Ways of storing: one file each."""
