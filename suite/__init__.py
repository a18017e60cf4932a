"""The harness of the edge-training benchmark suite: what a person runs."""

__version__ = "0.3.0"
