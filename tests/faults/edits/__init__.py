"""Edits of bundles, submissions and experiments, which faults are made of."""
