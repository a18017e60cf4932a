"""Audits a bundle: trains its first steps again and compares the losses."""
