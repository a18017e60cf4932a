"""Prices of training systems, ``rules/prices/*.toml``: what each part costs, who said so and when.
One file per device profile.

A training's cost is the share of the system's price that its time takes of three years, as TPC
prices systems over three years of ownership. Electricity is not in it.
"""

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all
from suite.errors import SuiteError
from suite.files.paths import rules_folder

LIFETIME_S = 3 * 365.25 * 86400
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_CURRENCY = re.compile(r"[A-Z]{3}")


class SystemPart(str, enum.Enum):
    """What a system consists of; a part that the board includes or does not need has a quote of 0
    that says so."""

    BOARD = "board"
    SUPPLY = "supply"
    STORAGE = "storage"
    COOLING = "cooling"


@dataclass(frozen=True)
class Quote:
    """One price. ``item`` is what is sold, ``date`` the day of the statement (ISO 8601),
    ``currency`` an ISO 4217 code.

    ``configuration`` distinguishes boards, such as "4 GB"; a quote without one is for every
    configuration.
    """

    part: SystemPart
    item: str
    price: float
    currency: str
    said_by: str
    source: str
    date: str
    configuration: str = ""


@dataclass(frozen=True)
class PriceList:
    """The quotes for a device profile, which has the same name."""

    name: str
    quotes: tuple[Quote, ...]

    @property
    def configurations(self) -> tuple[str, ...]:
        """Those of the boards, in the file's order."""
        return tuple(
            dict.fromkeys(
                quote.configuration for quote in self.quotes if quote.part is SystemPart.BOARD
            )
        )


@dataclass(frozen=True)
class SystemPrice:
    """The price of one configuration with the newest quote of every part. ``price`` is None, with
    the ``reason``, where a part has no quote."""

    configuration: str
    quotes: tuple[Quote, ...]
    price: float | None
    currency: str | None
    reason: str | None

    def cost_of(self, time_s: float) -> float | None:
        """The share of the price that ``time_s`` takes of three years, in the price's currency;
        None without a price."""
        return None if self.price is None else self.price * time_s / LIFETIME_S


def load_prices(root: Path | None = None) -> tuple[PriceList, ...]:
    """All price lists, by name; raises SuiteError for a quote that cannot be one."""
    folder = rules_folder(root) / "prices"
    found = load_all(folder, PriceList)
    for one in found:
        for quote in one.quotes:
            if problem := _problem(quote):
                raise SuiteError(
                    f"{folder / one.name}.toml: the quote for {quote.item!r} {problem}."
                )
    return found


def system_prices(prices: PriceList) -> tuple[SystemPrice, ...]:
    """The price of every configuration that has a board."""
    return tuple(_system(prices.quotes, configuration) for configuration in prices.configurations)


def _system(quotes: Sequence[Quote], configuration: str) -> SystemPrice:
    newest: dict[SystemPart, Quote] = {}
    for quote in (quote for quote in quotes if quote.configuration in ("", configuration)):
        if quote.part not in newest or quote.date > newest[quote.part].date:
            newest[quote.part] = quote
    used = tuple(newest[part] for part in SystemPart if part in newest)
    missing = [part.value for part in SystemPart if part not in newest]
    currencies = sorted({quote.currency for quote in used})
    reason = None
    if missing:
        reason = f"the price of the system's {' and '.join(missing)} is unknown"
    elif len(currencies) > 1:
        reason = f"the system's prices are in {' and '.join(currencies)}"
    price = None if reason else math.fsum(quote.price for quote in used)
    return SystemPrice(configuration, used, price, None if reason else currencies[0], reason)


def _problem(quote: Quote) -> str | None:
    if not (math.isfinite(quote.price) and quote.price >= 0):
        return "needs a price of at least 0"
    if not _DAY.fullmatch(quote.date):
        return "needs a date such as 2024-05-31"
    if not _CURRENCY.fullmatch(quote.currency):
        return "needs a currency such as USD"
    return (
        None
        if quote.said_by and quote.source
        else "needs the keys `said_by` and `source`: who stated the price, and where"
    )
