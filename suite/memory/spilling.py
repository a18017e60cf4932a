"""Activations on storage: the schedule that recomputes nothing and writes the fewest bytes that a
budget of memory asks for."""

from suite.memory.chain import Chain, gradients_after
from suite.memory.optimal import PlannedSchedule
from suite.memory.schedule import Action, Schedule, ScheduleStep, simulate_schedule, spill_bytes
from suite.memory.schedulers import keep_all

CARD_BYTES_PER_S = 10_000_000
"""What an SD card of speed class 10 or UHS class 1 writes at least (SD Association, speed class
standards)."""

DISK_BYTES_PER_S = 1_000_000_000
"""An NVMe disk at two lanes of PCIe 3.0, about half of what they carry: an assumption."""

SLOTS = 10_000
"""Discrete sizes of memory: each block's is rounded up to one."""


def storage_s(spilled_bytes: int, bytes_per_s: float) -> float:
    """Least seconds of a step that storage takes, reading as fast as writing."""
    return 2 * spilled_bytes / bytes_per_s


def spilled_schedule(blocks: Chain, budget_bytes: int) -> PlannedSchedule | None:
    """The schedule with the fewest bytes on storage that fits the budget; None if it does not fit
    with all activations there.

    While a block runs, all earlier ones that stay in memory are there with it. So the totals of
    blocks 0 to n that may stay are found block by block: bit ``m`` of a set is a total of ``m``
    slots of memory, rounded up, and a block cuts off the totals that leave too little for itself.
    """
    ordinary = PlannedSchedule(
        keep_all(len(blocks)), simulate_schedule(keep_all(len(blocks)), blocks)
    )
    if ordinary.cost.peak_bytes <= budget_bytes:
        return ordinary
    slot = max(1.0, budget_bytes / SLOTS)
    sizes = [-int(-spill_bytes(blocks, number) // slot) for number in range(len(blocks))]
    totals, before = 1, []
    for number, own_bytes in enumerate(_alone(blocks)):
        left = int((budget_bytes - own_bytes) // slot)
        if left < 0:
            return None
        before.append(totals & ((1 << left + 1) - 1))
        totals = before[-1] | before[-1] << sizes[number]
    stays, total = set(), before[-1].bit_length() - 1
    for number in reversed(range(len(blocks) - 1)):
        if total >= sizes[number] and before[number] >> (total - sizes[number]) & 1:
            stays.add(number)
            total -= sizes[number]
    schedule = _schedule(len(blocks), frozenset(range(len(blocks) - 1)) - stays)
    return PlannedSchedule(schedule, simulate_schedule(schedule, blocks))


def _alone(blocks: Chain) -> list[int]:
    """The highest memory while each block runs, forward or backward, with all earlier ones on
    storage."""
    return [
        blocks[0].input_bytes
        + (block.input_bytes if number else 0)
        + max(block.kept_bytes + block.forward_bytes, block.backward_bytes + weight_bytes)
        for number, (block, weight_bytes) in enumerate(
            zip(blocks, gradients_after(blocks), strict=True)
        )
    ]


def _schedule(count: int, moved: frozenset[int]) -> Schedule:
    steps: list[ScheduleStep] = []
    for block in range(count):
        steps += [
            ScheduleStep(Action.KEEP, block),
            *([ScheduleStep(Action.SPILL, block)] if block in moved else []),
        ]
    for block in reversed(range(count)):
        steps += [
            *([ScheduleStep(Action.FETCH, block)] if block in moved else []),
            ScheduleStep(Action.BACKWARD, block),
        ]
    return Schedule(f"{len(moved)} of {count} blocks on storage", tuple(steps))
