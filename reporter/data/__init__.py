"""Bundles, submissions, studies and LINPACK records to tidy frames."""
