"""Names of the counted events, as readings, counters.json and figures use them."""

SOFTWARE_EVENTS = ("task_clock", "page_faults", "major_faults", "context_switches", "cpu_migrations")
HARDWARE_EVENTS = ("cycles", "instructions", "l1d_access", "l1d_refill", "branches", "branch_mispredicts", "memory_access")
