"""What is more than one run."""
