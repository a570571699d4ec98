"""What is read off a memory."""
