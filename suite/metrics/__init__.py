"""Everything that is calculated from bundles: energy, counters, disturbances, summary, stall analysis, studies, convergence."""
