"""Runs that are ended at any moment, and closings that are cut off at any file operation."""
