"""Simulated power meters, one table each: `python meters.py FOLDER` writes until it is ended.

All follow the load; they differ in period, resolution, unit, clock and faults. ``clean`` follows
the CPU time of the implementation alone, the others that of the whole machine.
"""

import datetime
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


def machine_s() -> tuple[int, int]:
    """Busy and all ticks of the machine."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def implementation_s() -> float:
    """CPU seconds of the implementations that run now."""
    total = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"reference_impls" in (process / "cmdline").read_bytes():
                fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / 100
        except OSError:
            pass
    return total


def moments(period_s: float) -> Iterator[float]:
    """Seconds since the start, one a period."""
    begun = time.monotonic()
    number = 0
    while True:
        number += 1
        time.sleep(max(0.0, begun + number * period_s - time.monotonic()))
        yield number * period_s


def lines(number: int, since_s: float, machine_w: float, clean_w: float) -> dict[str, str]:
    """What each meter writes at a quarter of a second."""
    now = time.time()
    text = {"clean": f"{now:.4f},{clean_w:.4f}"}
    if number % 2 == 0:
        half = number // 2
        iso = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
        text["main"] = f"{iso.isoformat(timespec='milliseconds')},{machine_w * 1000:.1f}"
        text["local"] = (
            f"{iso.astimezone(INDIA).isoformat(timespec='milliseconds')},5.1{random.randint(0, 9)},{machine_w / 5.1:.3f}"  # noqa: E501
        )
        text["own"] = f"{since_s:.2f},{machine_w:.3f}"
        text["glitch"] = f"{now:.3f},{machine_w if half % 40 else -0.001:.3f}"
        if half // 2 % 30 > 6:
            text["gap"] = f"{now:.3f},{machine_w:.3f}"
        if half % 2 == 0:
            text["watt"] = f"{now:.0f},{machine_w:.0f}"
        if half % 4 == 0:
            text["slow"] = f"{now:.3f},{machine_w:.2f}"
    return text


def main(folder: Path) -> None:
    """Write all tables."""
    heads = {
        "main": "Time,Power (mW)",
        "local": "Zeit,U,I",
        "watt": "t,P",
        "slow": "time,W",
        "gap": "Time,Power",
        "own": "sec,W",
        "glitch": "Time,Power",
        "clean": "Time,W",
    }
    files = {name: (folder / f"{name}.csv").open("w", encoding="utf-8") for name in heads}
    for name, file in files.items():
        file.write(heads[name] + "\n")
    (busy, total), own, load, share = machine_s(), implementation_s(), 0.0, 0.0
    for number, since_s in enumerate(moments(0.25), 1):
        (busy_now, total_now), own_now = machine_s(), implementation_s()
        load = 0.7 * load + 0.3 * (busy_now - busy) / max(total_now - total, 1)
        share = 0.5 * share + 0.5 * min(max(own_now - own, 0.0) / 0.25, 2.0)
        busy, total, own = busy_now, total_now, own_now
        for name, text in lines(
            number,
            since_s,
            3.1 + 4.4 * load + random.gauss(0, 0.045),
            3.1 + 3.3 * share + random.gauss(0, 0.03),
        ).items():
            files[name].write(text + "\n")
            files[name].flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
