"""PyTorch, tuned: an open-division variant of reference_impls.pytorch, and an example of an open
submission."""
