"""Plans the study's points and measures them in PyTorch's environment."""
