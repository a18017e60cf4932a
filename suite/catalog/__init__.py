"""Loads what `rules/` and the framework folders declare: workloads, devices, data sets, frameworks, rounds, studies, power totals, reference points."""
