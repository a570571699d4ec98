"""What is measured on a memory."""
