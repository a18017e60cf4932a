"""Measures both sides, each alone and beside the other, and tunes their settings."""
