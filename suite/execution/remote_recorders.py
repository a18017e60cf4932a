"""The recorders on the remote nodes of a run, and what nodes.json says of its nodes. A node that
cannot be measured has no readings, or fewer, and nodes.json gives the reason."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from reference_impls.machine_identity import machine_identity
from reference_impls.node import link_towards
from suite.bundle.node_records import NodeRecord
from suite.execution.node_recorder import ATTACHED, RUNNING, STOP
from suite.execution.remote_recorder import (
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    RemoteRecorder,
    wait_for,
)
from suite.execution.request import RunRequest
from suite.files.paths import checkout
from suite.launch.placement import Placement, is_this_machine
from suite.launch.slurm import SRUN
from suite.machine.page_cache import prepare_page_cache
from suite.machine.process_tree import is_running

PAGE_CACHE_TIMEOUT_S = 900.0


class RemoteRecorders:
    """One recorder per remote node, alive inside the context. :meth:`prepare`, :meth:`tick` often,
    :meth:`stop`, then :meth:`records`."""

    def __init__(self, request: RunRequest, interpreter: Path, path: Path) -> None:
        several = request.ranks > 1
        self._placement = request.placement if several else Placement()
        self._settings: dict[str, Any] = {
            "data": request.training.data.directory,
            "files": request.data_files,
            "page_cache": request.page_cache.value,
            "device": request.device.name,
            "with_identity": request.with_identity,
            "left_out": request.left_out,
            "silence_s": request.placement.silence_s,
            "baseload_s": request.baseload_s,
        }
        # Only a checkout brings the recorder's module to a framework's interpreter.
        self._interpreters = (Path(sys.executable), *((interpreter,) if checkout() else ()))
        self._path = path
        self._recorders: dict[int, RemoteRecorder] = {}
        self._notices: list[str] = []
        self._given_up: set[int] = set()

    def __enter__(self) -> "RemoteRecorders":
        """Nothing is started yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect every recorder."""
        for recorder in self._recorders.values():
            recorder.disconnect()

    def prepare(self) -> "list[bool | None]":
        """Start a recorder on every remote node; wait until the baseload is measured and the page
        cache is emptied or filled.

        This node's page cache comes last. Returns for each node whether its page cache is cold;
        None where that is unknown.
        """
        for place, host in enumerate(self._placement.hosts[1:], start=1):
            recorder = RemoteRecorder(
                host,
                place,
                self._path,
                self._placement.agent,
                self._interpreters,
                {**self._settings, "peer": self._placement.hosts[0]},
            )
            self._recorders[place] = recorder
            if is_this_machine(host):
                recorder.fail("this host is the first host's machine, under another name")
        self._wait_for(
            "machine", START_TIMEOUT_S, f"its recorder did not answer within {START_TIMEOUT_S:g} s"
        )
        self._wait_for(
            "page_cache",
            self._settings["baseload_s"] + PAGE_CACHE_TIMEOUT_S,
            f"its page cache was not emptied or filled within {PAGE_CACHE_TIMEOUT_S:g} s",
        )
        caches = (each.facts.get("page_cache") or {} for each in self._recorders.values())
        are_cold = [cache.get("is_cold") for cache in caches]
        own = self._settings
        self._cache = prepare_page_cache(Path(own["data"]), own["page_cache"], own["files"])
        return [*are_cold, self._cache.is_cold]

    def tick(self, pids: Mapping[int, int]) -> None:
        """Exchange messages with every recorder: heartbeats, the training process to record
        (``pids``, by rank), and readings.

        A node's recording begins when all its ranks have started: they wait until its meters are
        attached to them.
        """
        for place, recorder in self._recorders.items():
            ranks = self._ranks(place)
            recorder.tick(pids[ranks[0]] if pids.keys() >= set(ranks) else None)
            if recorder.problem is None:
                continue
            if recorder.restart():
                self._notices.append(
                    f"The recorder on {recorder.host} was lost ({recorder.lost}); it was started"
                    " again"
                )
            elif place not in self._given_up and "meters" not in recorder.facts:
                self._given_up.add(place)
                self._notices.append(
                    f"{recorder.host} is not measured from now on ({recorder.problem})"
                )

    def take_notices(self) -> list[str]:
        """Sentences for the person at the terminal, each returned once: recorders that were
        lost."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def launcher(self) -> str:
        """The program that starts and watches the ranks."""
        return SRUN if self._placement.agent == SRUN else "mpirun"

    def is_running(self, rank: int, pid: int) -> bool | None:
        """Whether a rank's process exists on its node; asks a remote node, and is None until the
        answer is there."""
        recorder = self._recorder_of_rank(rank)
        if recorder is None:
            return is_running(Path("/"), pid)
        answer = (recorder.facts.get(RUNNING) or {}).get(str(pid))
        recorder.send(f"{RUNNING} {pid}")
        return answer if isinstance(answer, bool) else None

    def memory_kills(self, rank: int, local_kills: int | None) -> int | None:
        """Processes that the kernel of a rank's node killed for lack of memory during the run, on
        this node ``local_kills``; None if unknown."""
        recorder = self._recorder_of_rank(rank)
        kills = local_kills if recorder is None else recorder.facts.get("memory_kills")
        return kills if isinstance(kills, int) else None

    def first_unreached(self) -> tuple[str, str] | None:
        """The first host whose recorder never answered, and why; None when all did."""
        recorders = self._recorders.values()
        return next(
            (
                (each.host, each.problem)
                for each in recorders
                if each.problem and "machine" not in each.facts
            ),
            None,
        )

    def attached_ranks(self) -> tuple[int, ...]:
        """The ranks of the nodes whose meters are attached, or cannot be: the harness's own, and
        those whose recorder said so or failed."""
        waiting = {place for place, each in self._recorders.items() if each.lacks(ATTACHED)}
        places = {0, *self._recorders} - waiting
        return tuple(rank for place in sorted(places) for rank in self._ranks(place))

    def stop(self) -> None:
        """Stop every recorder and wait up to five seconds for its last readings."""
        for recorder in self._recorders.values():
            recorder.send(STOP)
        self._wait_for(
            "meters",
            STOP_TIMEOUT_S,
            "its recorder did not stop when the run ended; its last readings may be lost",
        )

    def records(self, machines_of_ranks: Mapping[int, str]) -> tuple[NodeRecord, ...]:
        """The content of nodes.json in the hostfile's order, the harness's node first; empty for a
        run on this machine alone.

        ``machines_of_ranks`` are identities by rank. They are labelled as rank 0 labels them in its
        log, so that ranks on another host than was planned contradict it.
        """
        if not self._recorders:
            return ()
        here, facts = machine_identity(), [each.facts for each in self._recorders.values()]
        of_ranks = (machines_of_ranks[rank] for rank in sorted(machines_of_ranks))
        nodes = _labels("node", (*of_ranks, here, *(each.get("machine") for each in facts)))
        links = [
            link_towards(self._placement.hosts[1]),
            *(each.get("link") for each in facts),
        ]
        # in place of each address a label, the same for the same address
        addresses = _labels("address", (link and link.get("address") for link in links))
        own, *others = (
            link and {**link, "address": addresses.get(link.get("address"))} for link in links
        )
        first = (nodes[here], self._ranks(0), None, own, asdict(self._cache), None, ())
        remote = zip(self._recorders.items(), others, strict=True)
        return (
            NodeRecord("node0", *first),
            *(
                NodeRecord(
                    f"node{place}",
                    nodes.get(each.facts.get("machine")),
                    self._ranks(place),
                    each.problem
                    or (
                        each.lost
                        and f"its recorder was lost during the run ({each.lost}) and started again"
                    ),
                    link,
                    each.facts.get("page_cache"),
                    each.facts.get("system"),
                    tuple(each.facts.get("meters") or ()),
                )
                for (place, each), link in remote
            ),
        )

    def _wait_for(self, fact: str, timeout_s: float, problem: str) -> None:
        wait_for(fact, self._recorders.values(), timeout_s, problem, partial(self.tick, {}))

    def _recorder_of_rank(self, rank: int) -> RemoteRecorder | None:
        return self._recorders.get(rank // self._placement.ranks_per_node)

    def _ranks(self, place: int) -> tuple[int, ...]:
        """mpirun fills one host after the other."""
        each = self._placement.ranks_per_node
        return tuple(range(place * each, (place + 1) * each))


def _labels(word: str, names: Iterable[object]) -> dict[object, str]:
    """Numbered labels for the names, in their order; what is no name has none."""
    known = dict.fromkeys(name for name in names if isinstance(name, str))
    return {name: f"{word}{number}" for number, name in enumerate(known)}
