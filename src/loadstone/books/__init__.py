"""A person's own facts: read, screened, stored, asked. A book is a memory together with its words."""
