"""Traces of external loggers: reading them, fitting their clock to a run, adding their readings to
a bundle."""
