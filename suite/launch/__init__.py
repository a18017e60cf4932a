"""Starts programs: framework environments, placements on hosts, mpirun, child processes."""
