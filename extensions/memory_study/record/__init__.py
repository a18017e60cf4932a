"""The study's file, and the published tables."""
