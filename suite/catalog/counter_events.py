"""Names of the counted events in readings, counters.json and figures."""

SOFTWARE_EVENTS = ("task_clock", "page_faults", "major_faults", "context_switches", "cpu_migrations")
HARDWARE_EVENTS = ("cycles", "instructions", "l1d_access", "l1d_refill", "branches", "branch_mispredicts", "memory_access")
