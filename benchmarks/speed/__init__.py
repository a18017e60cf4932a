"""The speed of the reference implementations, compared with each framework's own training loop."""
