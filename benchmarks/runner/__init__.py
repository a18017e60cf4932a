"""The interface of a benchmark, and what finds, runs and reports benchmarks."""
