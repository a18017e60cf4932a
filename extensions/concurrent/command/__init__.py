"""The command `suite concurrent`."""

from suite.extensions.concurrent.command.measure import app as concurrent

__all__ = ["concurrent"]
