"""What theory predicts beside what was measured: statistics of records, without a picture."""
