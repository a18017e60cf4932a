"""This machine: /proc and /sys, identity, storage, network interfaces, page cache."""
