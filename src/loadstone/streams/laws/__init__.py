"""Laws of the embeddings, a file each; registry.py has their names."""
