"""Data sets: their definitions, how they are prepared and verified, and their folders."""
