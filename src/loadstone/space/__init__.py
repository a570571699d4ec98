"""The set of all memories that store an instance, sampled: how large it is, and how alike its members are."""
