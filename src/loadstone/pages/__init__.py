"""Pages for a browser: each one file, complete in itself, for reading without a network."""
