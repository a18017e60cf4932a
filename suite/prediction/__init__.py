"""Prediction of time, power and energy in modes that were never profiled, from a few that were."""
