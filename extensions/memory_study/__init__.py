"""Memory over depth, mini-batch and picture: planned, measured, and as a paper states it."""
