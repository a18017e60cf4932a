"""Mistakes in the example in JAX."""
