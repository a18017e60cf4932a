"""The lies, one module per class."""
