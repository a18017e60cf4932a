"""Our training loop beside each framework's own, in one process, in turns. Run with a framework's own interpreter."""
