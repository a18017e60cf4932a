"""Names of the counted events in readings, counters.json and figures."""

SOFTWARE_EVENTS = (
    "task_clock",
    "page_faults",
    "major_faults",
    "context_switches",
    "cpu_migrations",
)
HARDWARE_EVENTS = (
    "cycles",
    "instructions",
    "l1d_access",
    "l1d_refill",
    "l1d_loads",
    "l1d_load_misses",
    "branches",
    "branch_mispredicts",
    "memory_access",
)
"""One name per meaning: ``l1d_access`` counts loads and stores (ARM), ``l1d_loads`` loads only (the
kernel's generic event, x86)."""
AT = "@"
"""Before the kernel's name of the counting unit, where a processor has several kinds of cores:
``cycles@armv8_cortex_a55``."""
