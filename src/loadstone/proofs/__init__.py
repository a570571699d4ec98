"""Verdicts, what they rest on, and their checker."""
