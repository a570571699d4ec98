"""Linear families of matrices: subspaces and the projections onto them. NumPy only, because proofs rest on them."""
