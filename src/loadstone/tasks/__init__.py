"""What a run does: one file for each task."""
