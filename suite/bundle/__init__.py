"""The run directory: its layout, log, tables, readings, steps, nodes and seal."""
