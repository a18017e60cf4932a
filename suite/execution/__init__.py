"""A run while it happens: request, preflight, recorders, heartbeat, progress, and the bundle it leaves."""
