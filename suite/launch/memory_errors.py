"""Recognises a program that ran out of memory by what it wrote."""

PHRASES = (
    "out of memory",
    "memoryerror",
    "unable to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "resourceexhausted",
    "oom when allocating",
    "bad_alloc",
)
"""Parts of the error messages of PyTorch, TensorFlow, NumPy, CUDA and the C++ library, in lower
case."""


def says_out_of_memory(text: str) -> bool:
    """Whether a program's output has such a message."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in PHRASES)
