"""Ways of carrying out the pass; each returns the same Recall."""
