"""`suite report`: how rendering grows with the number of bundles, and what rendering again costs.

Bundles are made up as the tests make them, with another submitter per entry and another seed per
run, and comply with the rules. Every rendering is a process; its CPU time includes its workers',
its memory is that of the largest process. In turns, a small and a large folder are rendered from
nothing; the large one is rendered again unchanged, and again with one more bundle. Rendering again
must not touch a file. With Chromium, the large and the small leaderboard are opened in turns, and a
sort and a filter are timed, layout included.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from benchmarks.runner.benchmark import Benchmark, Ratio, Skipped, alternating, ratio_of
from benchmarks.runner.child import Usage, usage_of
from benchmarks.runner.command_line import run_alone
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from tests.browser import Tab, browser
from tests.builders import Scenario, make_bundle

EXTRA = 99_999
"""The number of the run that is added."""

BUILD = (
    "import sys; from pathlib import Path; from reporter.site import build_site;"
    " build_site([Path(sys.argv[1])], Path(sys.argv[2]), force=True)"
)
ACTIONS = {
    "sort": "document.querySelector('#board th:nth-child(4) button').click()",
    "filter": "document.querySelector('#facets input[type=checkbox]').click()",
    "limit": (
        "const r = document.querySelector('#limits input'); r.value = 100; r.dispatchEvent(new"
        " Event('input', { bubbles: true }))"
    ),
}
TIMED = (
    "() => { const start = performance.now(); %s; document.body.offsetHeight; return"
    " performance.now() - start; }"
)


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    small: Annotated[int, "bundles of the small folder"] = 100
    large: Annotated[int, "bundles of the large folder"] = 400
    runs: Annotated[int, "runs of an entry"] = 1
    pairs: Annotated[int, "renderings of each kind"] = 3
    actions: Annotated[int, "openings of each leaderboard in the browser"] = 9


@dataclass(frozen=True)
class Round:
    """One rendering of each kind."""

    large: Usage
    small: Usage
    again: Usage
    one_more: Usage


def measure(settings: Settings) -> Iterator[Ratio | Skipped]:
    """Rendering, then the leaderboards in the browser."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = folder / "large", folder / "small"
        generate(large, settings.large, settings.runs)
        generate(small, settings.small, settings.runs)
        rounds = [render_round(large, small, pair) for pair in range(settings.pairs)]
        yield from rendering_ratios(settings, rounds)
        try:
            yield from browser_ratios(settings, large, small)
        # the tests' browser skips where there is no Chromium
        except pytest.skip.Exception as reason:
            yield Skipped("sorting and filtering in a browser", str(reason))


def rendering_ratios(settings: Settings, rounds: list[Round]) -> Iterator[Ratio]:
    """Growth in time and memory, and the two ways of rendering again."""
    sides = (f"{settings.large} bundles", f"{settings.small}")
    wall = [
        (each.large.wall_s / settings.large, each.small.wall_s / settings.small) for each in rounds
    ]
    cpu = [
        (each.large.cpu_s / settings.large, each.small.cpu_s / settings.small) for each in rounds
    ]
    yield ratio_of("from nothing, wall time per bundle", *sides, wall)
    yield ratio_of("from nothing, CPU time per bundle", *sides, cpu)
    yield ratio_of(
        "from nothing, largest process",
        *sides,
        [(each.large.peak_mib, each.small.peak_mib) for each in rounds],
        "MiB",
    )
    subject = f"{settings.large} bundles, wall time"
    yield ratio_of(
        subject,
        "again, nothing changed",
        "from nothing",
        [(each.again.wall_s, each.large.wall_s) for each in rounds],
    )
    yield ratio_of(
        subject,
        "again, one bundle more",
        "from nothing",
        [(each.one_more.wall_s, each.large.wall_s) for each in rounds],
    )


def render_round(large: Path, small: Path, pair: int) -> Round:
    """Both folders from nothing; then the large one again, and with one more bundle."""
    for place in (large, small):
        shutil.rmtree(site_of(place), ignore_errors=True)
        shutil.rmtree(home_of(place), ignore_errors=True)
    fresh = {place: render(place) for place in alternating(pair, large, small)}
    before = inodes(site_of(large))
    again = render(large)
    touched = before.items() ^ inodes(site_of(large)).items()
    if touched:
        raise SuiteError(
            f"rendering again touched {len(touched)} files,"
            f" {sorted(name for name, _ in touched)[0]} among them"
        )
    make_run(large, 0, EXTRA)
    one_more = render(large)
    shutil.rmtree(large / f"generated-{EXTRA:05d}")
    return Round(fresh[large], fresh[small], again, one_more)


def site_of(given: Path) -> Path:
    """Where a folder of bundles is rendered to."""
    return given.with_name(f"{given.name}-site")


def home_of(given: Path) -> Path:
    """The home of the suite for a folder's renderings: the report's cache."""
    return given.with_name(f"{given.name}-home")


def render(given: Path) -> Usage:
    """Render a folder of bundles; raises SuiteError when that fails."""
    home_of(given).mkdir(exist_ok=True)
    used = usage_of(
        [sys.executable, "-c", BUILD, given, site_of(given)],
        {**os.environ, "SUITE_HOME": str(home_of(given))},
    )
    if used.exit_code:
        raise SuiteError(
            f"rendering failed with {used.exit_code}; run `suite report {given}` to see why"
        )
    return used


def inodes(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of change of every file: what was written anew has others."""
    return {
        file.relative_to(folder).as_posix(): (file.stat().st_ino, file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file()
    }


def generate(folder: Path, bundles: int, runs: int) -> None:
    """Made-up bundles: another submitter per entry, another seed per run.

    Raises SuiteError if the rules have changed so that they no longer comply.
    """
    folder.mkdir()
    entries = -(-bundles // runs)
    with ProcessPoolExecutor() as workers:
        list(
            workers.map(
                make_run,
                [folder] * bundles,
                [number % entries for number in range(bundles)],
                range(bundles),
                chunksize=8,
            )
        )
    findings = check_bundle(next(folder.iterdir())).findings
    if findings:
        raise SuiteError(f"the made-up bundles do not comply: {findings[0]}")


def make_run(folder: Path, entry: int, number: int) -> None:
    """One run of an entry: step time and power differ from entry to entry by up to 30 % and 60
    %."""
    scenario = Scenario(
        name=f"lenet-pytorch-20270115T080000Z-{number:06d}",
        organization=f"generated-{entry:04d}",
        seed=1000 + number,
        step_s=0.02 * (1 + 0.3 * ((entry * 7919) % 1000) / 1000),
        evaluation_s=0.6,
        power_w=3 + 2 * ((entry * 104729) % 1000) / 1000,
        idle_w=2.0,
        jitter=0.01,
        learning_rate=0.04,
        counted=True,
    )
    make_bundle(folder / f"generated-{number:05d}", scenario)


def browser_ratios(settings: Settings, large: Path, small: Path) -> Iterator[Ratio]:
    """Milliseconds until the leaderboard can be used, and of each action, on the large and the
    small one."""
    pages = {place: leaderboard_of(site_of(place)) for place in (large, small)}
    pairs: dict[str, list[tuple[float, float]]] = {}
    with browser() as tab:
        for pair in range(settings.actions):
            taken_ms = {
                place: open_and_use(tab, pages[place]) for place in alternating(pair, large, small)
            }
            for action, value_ms in taken_ms[large].items():
                pairs.setdefault(action, []).append((value_ms, taken_ms[small][action]))
    for action, values_ms in pairs.items():
        yield ratio_of(
            f"leaderboard in Chromium, {action}",
            f"{settings.large} bundles",
            f"{settings.small}",
            values_ms,
            "ms",
        )


def leaderboard_of(site: Path) -> Path:
    """The largest page of a leaderboard; the page of its figures can be larger, and has no table of
    entries."""
    return max(
        (page for page in (site / "boards").glob("*.html") if not page.stem.endswith("-figures")),
        key=lambda page: page.stat().st_size,
    )


def open_and_use(tab: Tab, page: Path) -> dict[str, float]:
    """Milliseconds until the page's tools answer, and of each action with the layout after it."""
    tab.open(page.as_uri())
    usable_ms = tab.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    return {
        "until usable": usable_ms,
        **{name: tab.run(TIMED % script) for name, script in ACTIONS.items()},
    }


BENCHMARK = Benchmark(
    "How do time and memory of `suite report` grow with the number of bundles, and what does"
    " rendering again cost?",
    measure,
    Settings(),
    Settings(small=6, large=18, pairs=1, actions=2),
    full_s=150,
    quick_s=12,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
