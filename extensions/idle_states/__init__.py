"""The power of an idle machine in four states."""
