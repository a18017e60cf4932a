"""Tables of profiled modes, models fitted to them, and answers."""
