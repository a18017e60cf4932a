"""Data sets: their definitions, how they are prepared and verified, and where they lie."""
