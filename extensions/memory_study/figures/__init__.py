"""Charts of a study, and panels of the paper."""
