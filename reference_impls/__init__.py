"""What is measured: one reference implementation per framework, always started as ``python -m``
from the root."""
