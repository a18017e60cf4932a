"""Activations kept in bfloat16 or on storage instead of being recomputed: further columns of a plan, which no run follows.

A block's own highest moments are counted in float32 and in memory: it computes in float32, and reads back all that it kept at once.
"""

from dataclasses import dataclass, replace

from suite.memory.chain import Block, Chain
from suite.memory.schedule import simulate
from suite.memory.schedulers import none

CARD_BYTES_PER_S = 10_000_000
"""What an SD card of speed class 10 or UHS class 1 writes at least (SD Association, speed class standards)."""

DISK_BYTES_PER_S = 1_000_000_000
"""An NVMe disk at two lanes of PCIe 3.0, about half of what they carry: an assumption."""


@dataclass(frozen=True)
class Elsewhere:
    """Highest memory of activations and gradients, and bytes that each step writes to storage and reads again."""

    peak_bytes: int
    spilled_bytes: int

    def seconds(self, bytes_per_s: float) -> float:
        """Least seconds of a step that storage takes, reading as fast as writing."""
        return 2 * self.spilled_bytes / bytes_per_s


def in_bfloat16(blocks: Chain) -> Elsewhere:
    """What is kept takes half the bytes; gradients are no longer those of float32."""
    return Elsewhere(_peak(tuple(_with(block, block.input_bytes // 2, block.kept_bytes // 2) for block in blocks)), 0)


def on_storage(blocks: Chain) -> Elsewhere:
    """What is kept is written when its block has run forward and read before it runs backward."""
    spilled = blocks[0].input_bytes + sum(block.kept_bytes for block in blocks[:-1])
    return Elsewhere(_peak(tuple(_with(block, 0, 0) for block in blocks)), spilled)


def _with(block: Block, input_bytes: int, kept_bytes: int) -> Block:
    """The block where this much stays in memory between its forward and its backward pass."""
    return replace(
        block, input_bytes=input_bytes, kept_bytes=kept_bytes, forward_bytes=block.forward_bytes + block.kept_bytes - kept_bytes, options=()
    )


def _peak(blocks: Chain) -> int:
    return simulate(none(len(blocks)), blocks).peak_bytes
