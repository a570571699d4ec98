"""Memories: what associations are stored in."""
