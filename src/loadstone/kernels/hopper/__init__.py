"""Fused kernels for Hopper GPUs."""
