"""Loads what `rules/` and the framework folders declare: workloads, devices, data sets, frameworks, studies, power totals, reference points."""
