"""Mistakes that a change of the implementations could make, each as a small edit of a copy of the
sources, and what notices them."""
