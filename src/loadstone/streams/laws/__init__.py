"""Laws of the embeddings by their names. A new one is a file and a line here."""
