"""The kernel's count of processes that it killed for lack of memory."""

from pathlib import Path


def kills_for_memory(root: Path = Path("/")) -> int | None:
    """Processes that the kernel has killed for lack of memory since it started (/proc/vmstat,
    oom_kill); None if it does not count them."""
    try:
        lines = (root / "proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def kills_since(before: int | None) -> int | None:
    """How many more processes it has killed than ``before``; None if either number is unknown."""
    now = kills_for_memory()
    return None if now is None or before is None else now - before
