"""PyTorch, tuned: an open-division variant of reference_impls.pytorch, and the example of what an open submission looks like."""
