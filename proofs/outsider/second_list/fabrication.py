"""Makes the numbers of a run from nothing: losses, accuracies, times, log and readings, on the form
of a real bundle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from proofs.outsider.edits import PARTS
from proofs.outsider.second_list.forged_copy import ForgedCopy

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Script:
    """What is made up. ``times``: constant, normal or memory; ``losses``: smooth or noisy;
    ``readings``: none, constant or follow; ``true_losses``: as many of the true run's losses are
    kept.
    """

    accuracies: tuple[float, ...] = (0.9741, 0.9823, 0.9858, 0.9871, 0.9889, 0.9904)
    compute_s: float = 0.0105
    times: str = "memory"
    losses: str = "noisy"
    readings: str = "follow"
    true_losses: int = 0
    seed: int = 1


def fabricate(copy: ForgedCopy, script: Script) -> None:
    """Replace every measured number of a bundle of one rank."""
    random = np.random.default_rng(script.seed)
    epochs, batch = len(script.accuracies), copy.request["global_batch_size"]
    train = copy.request["data"]["train_samples"]
    steps = -(-train // batch)
    true = copy.steps["loss"].to_numpy()[: script.true_losses].copy()
    start = copy.window()[0]
    parts = _times(random, script, epochs * steps)
    samples = np.tile([batch] * (steps - 1) + [train - batch * (steps - 1)], epochs)
    parts *= (0.2 + 0.8 * samples / batch)[:, None]
    losses = _losses(random, script, epochs, steps)
    losses[: len(true)] = true[: len(losses)]
    evaluation = copy.request["data"]["eval_samples"] / batch * script.compute_s / 3
    starts = _log(copy, random, script, parts, steps, evaluation, start)
    copy.steps = pd.DataFrame(
        {
            "epoch": np.repeat(np.arange(1, epochs + 1), steps),
            "step": np.arange(1, epochs * steps + 1),
            "rank": 0,
            "samples": samples,
            "start_ns": starts,
            **{part: parts[:, number] for number, part in enumerate(PARTS)},
            "loss": losses.astype(np.float32).astype(np.float64),
        }
    )
    _readings(copy, random, script)


def _times(random: np.random.Generator, script: Script, count: int) -> Array:
    means = np.array([script.compute_s * 0.02, script.compute_s * 0.003, script.compute_s, 0.0])
    if script.times == "constant":
        return np.tile(means, (count, 1))
    if script.times == "normal":
        return np.abs(means * random.normal(1, 0.05, (count, 4)))
    walk = np.zeros((count, 4))
    for step in range(1, count):
        walk[step] = 0.95 * walk[step - 1] + random.normal(0, 0.02, 4)
    slow = np.where(random.random((count, 1)) < 0.01, random.uniform(1.5, 4, (count, 1)), 1)
    return np.asarray(means * np.exp(walk + random.normal(0, 0.06, (count, 4))) * slow)


def _losses(random: np.random.Generator, script: Script, epochs: int, steps: int) -> Array:
    at = np.arange(epochs * steps) / steps
    course = 2.25 * np.exp(-at * 14) + 0.32 * np.exp(-at * 1.6) + 0.065 * np.exp(-at / 4)
    if script.losses == "smooth":
        return course
    return np.asarray(
        course * np.exp(random.normal(0, 0.05 + 0.5 * np.clip(at * 3, 0, 1), len(at)))
    )


def _log(
    copy: ForgedCopy,
    random: np.random.Generator,
    script: Script,
    parts: Array,
    steps: int,
    evaluation: float,
    start: int,
) -> list[int]:
    log = copy.logs[0]
    keys = [event["key"] for event in log]
    first, last = keys.index("epoch_start"), keys.index("run_stop")
    samples = {
        key: log[keys.index(key)]
        for key in (
            "epoch_start",
            "epoch_stop",
            "state_digests",
            "eval_start",
            "eval_accuracy",
            "eval_stop",
        )
    }
    wall = log[first]["time_ms"] - log[first]["metadata"]["mono_ns"] / 1e6
    now, starts, events = start + 9000, [], []  # type: int, list[int], list[Any]

    def add(key: str, value: Any, **metadata: Any) -> None:
        nonlocal now
        now += int(random.integers(9_000, 40_000))
        own = {**metadata, "mono_ns": now, "rank": 0, "boot": samples[key]["metadata"]["boot"]}
        events.append(
            {
                **samples[key],
                "key": key,
                "value": value,
                "time_ms": int(wall + now / 1e6),
                "metadata": own,
            }
        )

    for epoch, accuracy in enumerate(script.accuracies, 1):
        add("epoch_start", None, epoch_num=epoch)
        for row in parts[(epoch - 1) * steps : epoch * steps]:
            now += int(random.integers(2_000, 9_000))
            starts.append(now)
            now += int(row.sum() * 1e9)
        add("epoch_stop", None, epoch_num=epoch, steps=steps)
        digests = {name: random.bytes(32).hex() for name in ("parameter", "velocity")}
        now += int(random.integers(900_000, 1_800_000))
        add(
            "state_digests",
            {**digests, "statistic": samples["state_digests"]["value"]["statistic"]},
            epoch_num=epoch,
        )
        add("eval_start", None, epoch_num=epoch)
        now += int(evaluation * random.uniform(0.97, 1.1) * 1e9)
        correct = round(accuracy * copy.request["data"]["eval_samples"])
        add(
            "eval_accuracy",
            correct / copy.request["data"]["eval_samples"],
            epoch_num=epoch,
            correct=correct,
        )
        add("eval_stop", None, epoch_num=epoch)
    tail = log[last:]
    for event in tail:
        now += 30_000
        event["metadata"]["mono_ns"], event["time_ms"] = now, int(wall + now / 1e6)
    tail[0]["metadata"]["status"] = (
        "success" if script.accuracies[-1] >= copy.request["target_accuracy"] else "aborted"
    )
    log[first:] = events + tail
    return starts


def _readings(copy: ForgedCopy, random: np.random.Generator, script: Script) -> None:
    begin, stop = int(copy.readings["t_ns"].min()), copy.window()[1] + 400_000_000
    if script.readings == "none":
        copy.readings = copy.readings.iloc[:0]
    frames = []
    for source, own in copy.readings.groupby("source", sort=False):
        period = float(copy.meter(str(source))["achieved_period_s"])
        times = np.arange(begin, stop, int(period * 1e9)) + random.integers(
            -60_000, 60_000, len(np.arange(begin, stop, int(period * 1e9)))
        )
        for channel, group in own.groupby("channel", sort=False):
            values = group["value"].to_numpy()
            made = np.full(len(times), values.mean())
            if script.readings == "follow":
                made = np.interp(
                    np.linspace(0, 1, len(times)),
                    np.linspace(0, 1, len(values)),
                    np.sort(values) if source in _COUNTING else values,
                )
                if channel in ("process_tree", "task_clock.count"):
                    scale = 1.0 if channel == "process_tree" else 1e9
                    made = np.round(
                        values[0]
                        + (times - times[0]) / 1e9 * scale * 0.985 * random.uniform(0.99, 1.0),
                        2 if scale == 1 else 0,
                    )
                elif source in _COUNTING:
                    made = np.round(made, 2)
                    made = made if channel == "busy" else np.round(made)
            frames.append(
                pd.DataFrame(
                    {
                        "t_ns": times,
                        "source": source,
                        "channel": channel,
                        "value": made,
                        "unit": group["unit"].iloc[0],
                    }
                )
            )
    if frames:
        copy.readings = (
            pd.concat(frames)
            .sort_values("t_ns", kind="stable")
            .astype(copy.readings.dtypes.to_dict())
            .reset_index(drop=True)
        )
    copy.restate_meters()


_COUNTING = ("disk", "network", "counters")
