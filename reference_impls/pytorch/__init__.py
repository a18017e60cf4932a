"""Reference implementations in PyTorch."""
