"""One file per source of readings; ``suite.measure.registry`` lists them."""
