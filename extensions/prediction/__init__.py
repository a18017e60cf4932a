"""Time, power and energy of power modes that were never profiled."""
