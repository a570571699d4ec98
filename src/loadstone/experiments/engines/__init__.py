"""Ways to carry out a sweep: in this process, or by Dask. An engine only ever adds records to a store."""
