"""The name of the channels that are a core's clock. Any meter may read them; figures and rules find
them by it."""

CORE_CLOCK = "frequency.core"
"""Followed by the core's number; the unit is Hz."""
