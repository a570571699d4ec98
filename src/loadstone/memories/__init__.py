"""How it is stored."""
