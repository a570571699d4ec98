"""What studies share: statistics of records, comparisons with predictions, and how they are drawn."""
