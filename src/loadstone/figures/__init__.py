"""Figures: each reads rows, evidence and theory, and draws within seconds."""
