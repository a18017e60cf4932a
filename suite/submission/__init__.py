"""Submissions: packaged bundles with a declaration of organization, availability and code."""
