"""What a run leaves: the chained log, the step records, the training states and their digests."""

import hashlib
import json
import os
import time
from pathlib import Path

import numpy as np

HEADER = "epoch,step,rank,samples,start_ns,fetch_stall_s,copy_s,compute_s,communication_s,loss\n"
TYPES = {"start": "INTERVAL_START", "stop": "INTERVAL_END"}


class Log:
    """Continues the log that the harness has begun."""

    def __init__(self, path):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._chain = lines[-1][-67:-3] if lines else "0" * 64
        self._file = path.open("a", encoding="utf-8")
        self._boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def __call__(self, key, value=None, mono_ns=None, **metadata):
        """Append an event that happened at ``mono_ns`` (None: now)."""
        wall_ns, now_ns = time.time_ns(), time.monotonic_ns()
        mono_ns = mono_ns or now_ns
        event = {
            "namespace": "edge",
            "time_ms": (wall_ns - now_ns + mono_ns) // 1_000_000,
            "event_type": TYPES.get(key.rpartition("_")[2], "POINT_IN_TIME"),
            "key": key,
            "value": value,
            "metadata": metadata | {"mono_ns": mono_ns, "rank": 0, "boot": self._boot},
        }
        line = f":::MLLOG {json.dumps(event)}"
        self._chain = hashlib.sha256((self._chain + line).encode()).hexdigest()
        self._file.write(f'{line[:-2]}, "chain": "{self._chain}"}}}}\n')
        self._file.flush()


def write_steps(path, rows):
    """Append an epoch's rows; they are on the storage medium when this returns."""
    header = "" if path.exists() else HEADER
    with path.open("a", encoding="utf-8") as file:
        file.write(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def named(state):
    """The arrays of a training state by kind/name, in the order of digests."""
    return {
        f"{kind}/{name}": np.asarray(array, order="C")
        for kind, arrays in state._asdict().items()
        for name, array in sorted(arrays.items())
    }


def digests(state):
    """SHA-256 of each kind of state."""
    found = {kind: hashlib.sha256() for kind in state._fields}
    for name, array in named(state).items():
        axes = ",".join(map(str, array.shape))
        digest = found[name.partition("/")[0]]
        digest.update(f"{name} {array.dtype.char} {axes}\n".encode() + array.tobytes())
    return {kind: digest.hexdigest() for kind, digest in found.items()}


def keep(folder, state, epoch, steps):
    """Write the training state: whole, or not at all."""
    unfinished = folder / ".unfinished.npz"
    np.savez(unfinished, progress=np.array([epoch, steps]), **named(state))
    unfinished.rename(folder / f"epoch_{epoch}.npz")


def kept(path, state):
    """The state in a file, of the same arrays as ``state``, and its epochs and steps."""
    with np.load(path) as file:
        found = {kind: {} for kind in state._fields}
        for name in named(state):
            kind, _, key = name.partition("/")
            found[kind][key] = file[name]
        return type(state)(**found), *map(int, file["progress"])
