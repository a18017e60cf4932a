"""Experiments that need several runs."""
