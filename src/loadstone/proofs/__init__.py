"""Verdicts, the rounding bounds that they rest on, and their checker."""
