"""Runs: from a spec to its record."""
