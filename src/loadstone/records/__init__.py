"""What runs leave on disk: records, the store that loses none, a store as one file or as a table."""
