"""Meters, and the recorder that runs them in the harness process while an implementation trains."""
