"""Training beside inference: how much each side loses by the other."""
