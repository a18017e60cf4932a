"""Readers that yield NumPy mini-batches from a prepared data set in its canonical on-disk
layout."""
