"""A second outsider's list: lies that edit copies of real runs, and honest variations that were
really made."""
