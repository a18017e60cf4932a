"""Leaderboards: columns, rows, ranks."""
