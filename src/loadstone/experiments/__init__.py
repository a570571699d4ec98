"""Runs: from a spec to what it leaves behind."""
