"""Bring-up: what a board reports, in one file that becomes a fixture."""
