"""What a check of the box found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One claim, and whether it held."""

    claim: str
    held: bool
