"""What statistical physics and geometry predict. Imports no other room of the package."""
