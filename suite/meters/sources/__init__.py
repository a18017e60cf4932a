"""One file per source of readings; ``suite.meters.registry`` lists them."""
