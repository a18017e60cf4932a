"""Compares our training loop with each framework's, alternating in one process. Run with the framework's interpreter."""
