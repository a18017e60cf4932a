"""Plugs in the local network that answer questions with JSON: asked in a thread of their own."""

import json
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.meters.background import Background
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading
from suite.meters.settings import MeterSettings, load_settings, not_named

TIMEOUT_S = 2.0
MAX_ANSWER_BYTES = 2**16


class HttpMeter:
    """A plug asked on every period; a kind of plug says where (:meth:`address`) and what its answer means (:meth:`parse`).

    A reading's time is the middle between question and answer. A plug out of reach for a moment leaves a gap.
    """

    name: str
    period_s = 1.0
    description: str
    table: str  # what to write into meters.toml to name such a plug

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._background = Background(self.name, self._produce, self.period_s)
        self._where = ""

    def address(self, settings: MeterSettings) -> str | None:
        """What is asked, without ``http://``; None when no such plug is named."""
        raise NotImplementedError

    def parse(self, answer: Any) -> Mapping[str, tuple[float, str]]:
        """Channels with value and unit; raises LookupError, TypeError or ValueError for another kind of answer."""
        raise NotImplementedError

    def availability(self) -> MeterAvailability:
        """Whether a plug is named, and answers."""
        where = self.address(load_settings(self._root))
        if where is None:
            return not_named(self.name, self.table)
        try:
            self.parse(_ask(where))
        except (OSError, ValueError, TypeError, LookupError) as error:
            what = f"http://{where} does not answer as a {self.name} that measures power does ({type(error).__name__}: {error})"
            return MeterAvailability(False, what, "check that it is switched on, in this network, and a model with a meter")
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Begin to ask."""
        self._where = str(self.address(load_settings(self._root)))
        self._background.start()

    def read(self) -> list[Reading]:
        """What was answered since the last call."""
        return self._background.take()

    def close(self) -> None:
        """Stop asking."""
        self._background.stop()

    def helper_cost_s(self) -> float:
        """CPU time of the thread that asks."""
        return self._background.cost_s

    def _produce(self) -> list[Reading]:
        before_ns = time.monotonic_ns()
        answer = _ask(self._where)
        t_ns = (before_ns + time.monotonic_ns()) // 2
        return [Reading(t_ns, self.name, channel, value, unit) for channel, (value, unit) in self.parse(answer).items()]


def _ask(where: str) -> Any:
    """The JSON that is answered; no proxy is used, because the plug is in this network."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{where}", timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read(MAX_ANSWER_BYTES))
