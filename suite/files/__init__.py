"""Files that the suite reads and writes: paths, digests, JSON, TOML."""
