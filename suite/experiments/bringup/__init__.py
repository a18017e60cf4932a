"""Bring-up of a board: what its kernel and its vendor's programs report, its meters' first
readings, a calibration; in one file that is a fixture."""
