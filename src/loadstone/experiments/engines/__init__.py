"""Ways to carry out a sweep: on this machine, or on a cluster. An engine only ever adds records to a store."""
