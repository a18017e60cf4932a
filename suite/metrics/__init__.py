"""Calculations on bundles: energy, counters, disturbances, summary, stall analysis, studies,
convergence."""
