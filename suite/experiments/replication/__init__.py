"""Replications: makes the runs of a bundle or an entry again on this machine, and seals a record of
what they say of it."""
