"""Instruments: sources of readings of power, load, clocks, temperature, memory, disk and
counters."""
