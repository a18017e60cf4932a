"""Activations kept in bfloat16: a further column of a plan, which no run follows.

A block's own highest moments are counted in float32: it computes in float32, and takes back all
that it kept at once.
"""

from dataclasses import replace

from suite.memory.chain import Block, Chain
from suite.memory.schedule import simulate_schedule
from suite.memory.schedulers import keep_all


def peak_in_bfloat16(blocks: Chain) -> int:
    """Highest memory where what is kept takes half the bytes; gradients are no longer those of
    float32."""
    return simulate_schedule(
        keep_all(len(blocks)), tuple(_halved(block) for block in blocks)
    ).peak_bytes


def _halved(block: Block) -> Block:
    kept = block.kept_bytes // 2
    return replace(
        block,
        input_bytes=block.input_bytes // 2,
        kept_bytes=kept,
        forward_bytes=block.forward_bytes + block.kept_bytes - kept,
        options=(),
    )
