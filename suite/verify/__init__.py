"""Verifies that implementations train the same model: the same numbers from the same weights and data."""
