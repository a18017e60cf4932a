"""Benchmarks of the suite itself: ratios measured side by side in one run. `make bench` runs all
and writes docs/benchmarks.md.

A module here or in ``speed/`` that defines ``BENCHMARK`` is a benchmark; nothing lists it.
``benchmarks/runner/benchmark.py`` has the interface.
"""
