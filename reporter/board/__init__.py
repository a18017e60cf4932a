"""Leaderboards: columns, rows and ranks, from frames."""
