"""Power modes: which ones this machine offers, set and put back, with a journal on disk of what was
before."""
