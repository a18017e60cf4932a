"""Checks the nodes of a cluster before training."""
