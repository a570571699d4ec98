"""Predicted beside measured, figure by figure."""
