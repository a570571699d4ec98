"""The studies: one question each, from the runs to the sentence below the picture."""
