"""Conformance of an implementation outside the checkout: begins one as a copy of an example, and
tests one, every point by name."""
