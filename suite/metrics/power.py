"""``power.json``: the power rules for a bundle's energies, and the total that they select among its channels."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from suite.bundle.channels import Channels
from suite.bundle.layout import POWER, SCHEMA
from suite.bundle.reader import Bundle
from suite.catalog.power import PowerRule, PowerTotal, load_power_rules, rules_for, totals
from suite.errors import FileError, SuiteError
from suite.files.json_file import write_json
from suite.files.toml_file import from_plain


@dataclass(frozen=True)
class _PowerFile:
    schema: int
    rules: tuple[PowerRule, ...]


def write_power_rules(path: Path, sources: Iterable[str]) -> None:
    """Write the rulebook's rules for these meters to ``power.json`` in the bundle at ``path``."""
    write_json(path / POWER, {"schema": SCHEMA, "rules": [asdict(rule) for rule in rules_for(load_power_rules(), sources)]})


def power_rules(bundle: Bundle) -> tuple[PowerRule, ...]:
    """The rules that the bundle carries; the rulebook's for bundles of schema 1, which carry none.

    Raises FileError when the file is malformed.
    """
    path = bundle.path / POWER
    if not path.exists():
        return load_power_rules()
    values = bundle.json(POWER)
    try:
        return from_plain(values, _PowerFile, "").rules
    except SuiteError as error:
        raise FileError(path, f"does not hold power rules ({str(error)[:200]})") from error


def power_total(channels: Channels, rules: Sequence[PowerRule]) -> PowerTotal | None:
    """The total to report: the first rule whose channels were all read; None without any."""
    return next(iter(totals(rules, ((channel.source, channel.name) for channel in channels))), None)


def names_of(total: PowerTotal | None) -> tuple[tuple[str, str], ...]:
    """Source and name of each channel of a total; empty without one."""
    return () if total is None else tuple((total.source, name) for name in total.channels)


def describe_total(total: PowerTotal) -> str:
    """Instrument, rule, coverage and tier, as text."""
    return f"{total.source}: {total.rule.name} ({total.rule.coverage.value}, {total.rule.tier.value})"
