"""Looks at the nodes of a cluster before anything is trained on them."""
