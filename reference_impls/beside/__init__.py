"""Training beside inference: the two processes of `suite concurrent`, for every implementation of
the checkout."""
