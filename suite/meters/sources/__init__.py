"""One module per meter; ``suite.meters.registry`` finds them."""
