"""Executes one run: request, preflight, process groups, recorders, heartbeat, progress, and the
bundle."""
