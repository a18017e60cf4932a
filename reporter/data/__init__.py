"""Bundles to tidy frames."""
