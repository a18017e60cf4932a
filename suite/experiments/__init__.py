"""Experiments: one run with its preparations, and those that need several runs."""
