"""Figures: they read records and theory, and compute nothing long."""
