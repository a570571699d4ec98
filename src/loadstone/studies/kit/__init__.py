"""Predictions beside measurements: statistics of records, without figures."""
