"""Schedules: which blocks run when, and what is kept meanwhile. Simulated here, executed by
reference_impls.pytorch.recompute."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from suite.errors import SuiteError
from suite.memory.chain import Block, Chain, LeftOut, gradients_after


class Action(str, Enum):
    """What one step does with a block.

    KEEP runs it forward and keeps everything for its backward pass. CHECKPOINT runs it and keeps
    its input only. SKIP runs it and keeps nothing. BACKWARD runs it backward, which frees what it
    kept and its input. RESTORE goes back to the block's checkpointed input. SPILL, right after a
    KEEP, moves what the block kept to storage, with its input and without its output; FETCH, right
    before its BACKWARD, reads it back.
    """

    KEEP = "keep"
    CHECKPOINT = "checkpoint"
    SKIP = "skip"
    BACKWARD = "backward"
    RESTORE = "restore"
    SPILL = "spill"
    FETCH = "fetch"


@dataclass(frozen=True)
class ScheduleStep:
    """An action on block number ``block``. A KEEP may leave outputs out that the backward pass
    computes again: those of these operations."""

    action: Action
    block: int
    left_out: tuple[int, ...] = ()

    @property
    def as_list(self) -> list[Any]:
        """The step as requests and reference_impls.pytorch.recompute have it."""
        return [self.action.value, self.block, *([list(self.left_out)] if self.left_out else [])]


@dataclass(frozen=True)
class Schedule:
    """A named sequence of steps that ends with the backward pass of block 0."""

    name: str
    steps: tuple[ScheduleStep, ...]

    @property
    def forwards(self) -> int:
        """Forward runs of blocks."""
        return sum(
            step.action in (Action.KEEP, Action.CHECKPOINT, Action.SKIP) for step in self.steps
        )


@dataclass(frozen=True)
class Cost:
    """A schedule on a chain: highest bytes of activations and gradients at once, and time in the
    chain's unit, without that of storage.

    ``recompute_factor`` is the time divided by that without recomputation. ``spilled_bytes`` are
    written to storage in a step, and read again.
    """

    peak_bytes: int
    time: float
    recompute_factor: float
    spilled_bytes: int = 0


def spill_bytes(blocks: Chain, number: int) -> int:
    """What a SPILL of a block moves: what it kept, with its input, which the block before it kept,
    and without its output. A mini-batch stays."""
    block = blocks[number]
    return block.kept_bytes - block.output_bytes + (block.input_bytes if number else 0)


def simulate_schedule(schedule: Schedule, blocks: Chain) -> Cost:
    """What the schedule needs; a weight's gradient is counted from its block's backward pass on.

    Raises SuiteError for a schedule that reads what it did not keep, or that leaves a block without
    its backward pass.
    """
    state = _State(schedule, blocks)
    for step in schedule.steps:
        state.take(step)
    if state.done != 0:
        raise SuiteError(
            f"The schedule {schedule.name} ends before the backward pass of block {state.done - 1}"
        )
    plain = sum(block.forward_time + block.backward_time for block in blocks)
    return Cost(state.peak, state.time, state.time / plain, state.spilled_bytes)


@dataclass
class _State:
    """What is held while a schedule runs. ``current`` is the block whose input is at hand,
    ``loose_bytes`` its size if nothing else holds it; ``done`` is the last block that ran backward;
    ``spilled`` has the bytes of each block that are on storage."""

    schedule: Schedule
    blocks: Chain
    inputs: dict[int, int] = field(default_factory=dict)
    kept: dict[int, Block | LeftOut] = field(default_factory=dict)
    spilled: dict[int, int] = field(default_factory=dict)
    spilled_bytes: int = 0
    current: int = 0
    loose_bytes: int = 0
    peak: int = 0
    time: float = 0.0

    def __post_init__(self) -> None:
        self.done = len(self.blocks)
        self.weights = [*gradients_after(self.blocks), 0]
        self.inputs[0] = self.blocks[0].input_bytes

    def take(self, step: ScheduleStep) -> None:
        """Execute one step."""
        number, block = step.block, self.blocks[step.block]
        is_spilled, is_next = number in self.spilled, number == self.done - 1
        if step.action is Action.RESTORE:
            self._demand(number in self.inputs, step)
            self.current, self.loose_bytes = number, 0
        elif step.action is Action.BACKWARD:
            self._demand(number in self.kept and not is_spilled and is_next, step)
            self._backward(number, block)
        elif step.action is Action.SPILL:
            kept_whole = self.kept.get(number) is block and not is_spilled
            self._demand(kept_whole and number == self.current - 1 < len(self.blocks) - 1, step)
            self.spilled[number] = spill_bytes(self.blocks, number)
            self.spilled_bytes += self.spilled[number]
        elif step.action is Action.FETCH:
            self._demand(is_spilled and is_next, step)
            del self.spilled[number]
        else:
            self._demand(number == self.current, step)
            self._forward(step, block)

    def _held(self) -> int:
        return (
            sum(self.inputs.values())
            + sum(way.kept_bytes for way in self.kept.values())
            - sum(self.spilled.values())
        )

    def _forward(self, step: ScheduleStep, block: Block) -> None:
        keeps, way = step.action is Action.KEEP, self._block_as_kept(step, block)
        gradient = self.blocks[self.done - 1].output_bytes if self.done < len(self.blocks) else 0
        needed = way.kept_bytes + way.forward_bytes if keeps else block.forward_alone_bytes
        self.peak = max(
            self.peak, self._held() + self.loose_bytes + gradient + self.weights[self.done] + needed
        )
        self.time += block.forward_time
        if step.action is not Action.SKIP:
            self.inputs.setdefault(step.block, self.loose_bytes)
        if keeps:
            self.kept[step.block] = way
        self.current, self.loose_bytes = step.block + 1, 0 if keeps else block.output_bytes

    def _backward(self, number: int, block: Block) -> None:
        way = self.kept.pop(number)
        self.peak = max(self.peak, self._held() + way.backward_bytes + self.weights[number])
        self.inputs.pop(number, None)
        self.done, self.current, self.loose_bytes = number, -1, 0
        self.time += block.backward_time + (way.time if isinstance(way, LeftOut) else 0)

    def _block_as_kept(self, step: ScheduleStep, block: Block) -> Block | LeftOut:
        """How the block is kept. Raises SuiteError for one that the chain does not have."""
        if not step.left_out:
            return block
        found = next(
            (option for option in block.options if option.positions == step.left_out), None
        )
        if found is None:
            raise SuiteError(
                f"The schedule {self.schedule.name} drops outputs of {block.name} that the backward"
                f" pass of {block.name} cannot recompute"
            )
        return found

    def _demand(self, holds: bool, step: ScheduleStep) -> None:
        if not holds:
            raise SuiteError(
                f"The schedule {self.schedule.name} runs the step {step.action.value} {step.block}"
                " without the data that this step reads"
            )
