"""Builds the documentation site from the Markdown of the repository, the programs' help texts and
the docstrings of the library."""
