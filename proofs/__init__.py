"""Proofs: campaigns of minutes or hours, one folder each; `make prove` lists them with their last
results."""
