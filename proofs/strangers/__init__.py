"""Mistakes in an implementation outside the checkout."""
