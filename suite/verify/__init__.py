"""Verifies training by repeating it: implementations against the same weights and data, and runs by
their first steps (`suite audit`)."""
