"""Meters and the recorder that runs them beside a run, never inside the training process."""
