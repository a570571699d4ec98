"""What the report says, and its pages."""
