"""Submissions: bundles in their places, with who submits them and how what ran can be had."""
