"""Training steps counted by valgrind's cachegrind, and timed without it."""
