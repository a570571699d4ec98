"""Problems: the associations that are to be stored."""
