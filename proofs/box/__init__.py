"""A board in a box: an emulated arm64 Debian in which the suite runs, and a kernel whose power
sensor and counters show known values."""
