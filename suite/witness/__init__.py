"""Witnesses: programs elsewhere that sign when a run began and ended, by their own clock."""
