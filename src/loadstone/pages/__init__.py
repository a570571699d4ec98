"""Pages for a browser: each is one self-contained file that can be read offline."""
