"""Ways to carry out a sweep: in this process, or with Dask. All that an engine does to a store is add records."""
