"""The report: its numbers, its sentences and its pages."""
