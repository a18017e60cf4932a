"""Clocks of the cores, as any meter read them: the kernel's own, or measured ones where it offers
none."""

from typing import TYPE_CHECKING

from suite.catalog.core_clocks import CORE_CLOCK

if TYPE_CHECKING:  # start-up: loads NumPy
    from suite.bundle.channels import Channel, Channels


def core_clocks(channels: "Channels") -> "tuple[Channel, ...]":
    """A channel for each core whose clock was read, Hz."""
    return tuple(channel for channel in channels if channel.name.startswith(CORE_CLOCK))
