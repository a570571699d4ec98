"""The engines that run a sweep: in this process, or with Dask. An engine only adds records to a store."""
