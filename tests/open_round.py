"""The round that tests make runs for."""

from suite.catalog.rounds import current_round

OPEN = current_round().name
SLUG = OPEN.replace(".", "-")
"""The round in names of pages."""
