"""How much of a machine others may take before a run counts as disturbed: shares of all cores over
the run."""

MAX_FOREIGN_SHARE = 0.05
"""By other programs; an idle board's services take 0.1 to 1 %."""
MAX_STOLEN_SHARE = 0.05
"""By the hypervisor."""
