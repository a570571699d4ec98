"""What must be stored."""
