"""Faults that prove the rules, and the edits of bundles and submissions that make them."""
