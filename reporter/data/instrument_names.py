"""What an instrument is called: by its kind and by what it covers."""

from functools import lru_cache

from reporter.data.frames import is_known
from suite.catalog.power import Coverage, Tier
from suite.catalog.scoring import Instrument, load_scoring

METER = "meter"
AT = {Coverage.WALL: "at the wall", Coverage.BOARD: "at the board's input"}
OF = {
    Coverage.WALL: "of the whole system",
    Coverage.BOARD: "of the board",
    Coverage.MODULE: "of the module",
    Coverage.CHIPS: "of CPU and GPU",
    Coverage.CHIP: "of one chip",
}
MIXED = "mixed or unknown sensors"


def instrument_words(instrument: Instrument) -> str:
    """ "meter at the wall", "on-board sensor of the module"."""
    is_meter = instrument.tier in (Tier.ANALYSER, Tier.WALL_METER)
    tier = METER if instrument.tier is Tier.WALL_METER else instrument.tier.value
    names = AT if is_meter and instrument.covers in AT else OF
    return f"{tier} {names[instrument.covers]}"


@lru_cache(maxsize=256)  # asked for every entry on several pages
def instrument_named(tier: str | None, covers: str | None) -> str:
    """The instrument of a tier and a coverage in words; what is known of any other."""
    kinds = {(each.tier.value, each.covers.value): each for each in load_scoring().instruments()}
    return (
        instrument_words(kinds[str(tier), str(covers)])
        if (tier, covers) in kinds
        else "unknown sensor"
    )


def sensor_named(tier: object, covers: object) -> str:
    """The same for a figure's axis, of values that can be unknown or differ between runs."""
    return (
        instrument_named(str(tier), str(covers)) if is_known(tier) and is_known(covers) else MIXED
    )
