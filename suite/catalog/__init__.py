"""Loads what `rules/` and the framework folders declare: rounds, workloads, devices, data sets,
frameworks, studies, power, reference points."""
