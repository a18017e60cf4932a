"""What a run writes: events of log.txt, chained by SHA-256, and rows of steps.csv."""

import hashlib
import json
import os
import time
from pathlib import Path

import numpy as np

CHAIN = ', "chain": "'
TYPES = {"_start": "INTERVAL_START", "_stop": "INTERVAL_END"}


class Log:
    """Continues the log that the harness has begun in the folder."""

    def __init__(self, folder):
        path = Path(folder) / "log.txt"
        self._chain = "0" * 64
        if path.exists():
            self._chain = (
                path.read_text(encoding="utf-8").splitlines()[-1].rpartition(CHAIN)[2][:64]
            )
        self._stream = path.open("a", encoding="utf-8")
        self._boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def event(self, key, value=None, at_ns=None, **metadata):
        """Append an event, at the monotonic time ``at_ns`` (None: now)."""
        now = time.monotonic_ns()
        taken = now if at_ns is None else at_ns
        event = {
            "namespace": "edge",
            "time_ms": int(time.time() * 1000) - (now - taken) // 1000000,
            "event_type": (
                TYPES.get(key[key.rfind("_") :], "POINT_IN_TIME") if "_" in key else "POINT_IN_TIME"
            ),
            "key": key,
            "value": value,
            "metadata": dict(metadata, mono_ns=taken, rank=0, boot=self._boot),
        }
        line = ":::MLLOG " + json.dumps(event)
        self._chain = hashlib.sha256((self._chain + line).encode("utf-8")).hexdigest()
        self._stream.write(line[: -len("}}")] + CHAIN + self._chain + '"}}\n')
        self._stream.flush()

    def close(self):
        """Sync and close."""
        os.fsync(self._stream.fileno())
        self._stream.close()


class Steps:
    """The step records of a new run."""

    def __init__(self, folder):
        self._stream = (Path(folder) / "steps.csv").open("x", encoding="utf-8")
        self._stream.write(
            "epoch,step,rank,samples,start_ns,fetch_stall_s,copy_s,compute_s,communication_s,loss\n"
        )

    def write(self, rows):
        """Append an epoch's rows; they are on the storage medium when this returns."""
        self._stream.write("".join(",".join(map(repr, row)) + "\n" for row in rows))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self):
        """Close."""
        self._stream.close()


def training_state(model):
    """The arrays that training continues from, by kind and name; LeNet-5 keeps no statistics."""
    kinds = {"parameter": model.parameters, "velocity": model.velocities}
    return {f"{kind}/{name}": value for kind in kinds for name, value in kinds[kind].items()}


def keep_state(model, folder, epoch, step):
    """Write the training state: whole, or not at all."""
    unfinished = folder / ".unfinished.npz"
    np.savez(unfinished, progress=np.array([epoch, step]), **training_state(model))
    unfinished.rename(folder / f"epoch_{epoch}.npz")


def state_digests(model):
    """SHA-256 of a training state's kinds: a line with name, format and axes before each
    array."""
    digests = {kind: hashlib.sha256() for kind in ("parameter", "velocity", "statistic")}
    for name, value in sorted(training_state(model).items()):
        view = memoryview(value)
        axes = ",".join(map(str, view.shape))
        digest = digests[name.partition("/")[0]]
        digest.update(f"{name} {view.format} {axes}\n".encode("ascii"))
        digest.update(view)
    return {kind: digest.hexdigest() for kind, digest in digests.items()}


def peak_memory_bytes():
    """Largest resident memory of this process so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
