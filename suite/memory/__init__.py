"""Memory of training: what a network keeps, whether it fits a budget, and which schedule of
recomputation makes it fit."""
