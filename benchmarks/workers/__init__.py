"""Programs that benchmarks start in a framework's environment or under mpirun. They import nothing
of the harness."""
