"""Counts steps under valgrind and times them without."""
