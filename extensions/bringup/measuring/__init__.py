"""Gathers what kernel, vendor's programs and meters say, and a calibration."""
