"""Solvers: ways of storing associations in a memory, one file each."""
