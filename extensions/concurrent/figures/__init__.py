"""Charts of an experiment, and panels of the paper."""
