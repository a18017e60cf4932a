"""docs/measuring.md and docs/meters.md say what the code does."""

import re
from pathlib import Path

import pytest

from suite.catalog.power import Coverage, Tier, load_power_rules
from suite.files.paths import repository_root
from suite.meters.registry import meter_classes
from suite.meters.settings import load_settings

PAGE, METERS = (
    (repository_root() / "docs" / name).read_text(encoding="utf-8")
    for name in ("measuring.md", "meters.md")
)


@pytest.mark.parametrize("meter", meter_classes(), ids=lambda meter: meter.name)
def test_every_meter_is_listed_with_its_period_and_its_channels(meter) -> None:
    (row,) = re.findall(
        rf"^\| `{meter.name}` \|(.*)\|$",
        METERS.partition("<!-- generated: meters -->")[2].partition("<!-- end -->")[0],
        re.MULTILINE,
    )
    period, reads, channels = map(str.strip, row.split("|"))
    assert (period, reads) == (f"{meter.period_s:g} s", meter.description)
    assert re.match(r"(Channels?\b(?! that)|One channel\b)", meter.__doc__), (
        f"begin the docstring of {meter.__name__} with its channels"
    )
    assert "`" in channels or channels.startswith("One channel")


@pytest.mark.parametrize(
    "rule",
    [rule for rule in load_power_rules() if not rule.name.startswith(("meter-csv", "attached"))],
    ids=lambda rule: rule.name,
)
def test_every_power_rule_is_listed_with_what_it_is_worth(rule) -> None:
    rows = [
        line
        for line in PAGE.splitlines()
        if line.startswith("|") and rule.name in line.split("|")[1]
    ]
    assert any(f"| {rule.coverage.value} | {rule.tier.value} |" in row for row in rows)


def test_the_example_of_meters_toml_is_read(tree) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    settings = load_settings(tree({"etc/edge-training-suite/meters.toml": example}))
    assert settings.meter_csv is not None
    assert (settings.meter_csv.coverage, settings.meter_csv.tier) == (Coverage.BOARD, Tier.ANALYSER)
    assert settings.shelly is not None
    assert settings.um25c is not None


def test_the_files_it_names_exist() -> None:
    named = re.findall(r"`((?:suite|tests|benchmarks)/[\w/]+(?:\.py|/))`", PAGE + METERS)
    assert named
    assert [name for name in named if not Path(repository_root(), name).exists()] == []
