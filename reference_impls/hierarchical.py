"""Sums over ranks of several nodes in three parts: at one rank of every node, between these ranks, and back to the others of each node.

A node's gradients cross the link once, however many of its ranks train: along a ring of all ranks of two nodes with two ranks each half as much more
goes through every link. Python 3.6 grammar; mpi4py.
"""

from typing import Any, List, Sequence


class NodeSums:
    """Sums over all ranks, of which several may be under way; every rank starts the same ones in the same order."""

    def __init__(self, communicator: Any, nodes: Sequence[str]) -> None:
        from mpi4py import MPI  # optional: runs on one rank have no MPI

        self.in_place = MPI.IN_PLACE
        self.node = communicator.Split(nodes.index(nodes[communicator.rank]), communicator.rank)
        self.node_again = self.node.Dup()  # for what comes back, which begins at different times between the sums at other ranks
        leaders = communicator.Split(0 if self.node.rank == 0 else MPI.UNDEFINED, communicator.rank)
        self.leaders = None if leaders == MPI.COMM_NULL else leaders
        self._under_way: List[NodeSum] = []

    def start(self, values: Any, send: Any = None) -> "NodeSum":
        """Start the sum of ``values``, or of ``send`` in their place, into ``values``."""
        started = NodeSum(self, values, send)
        self._under_way.append(started)
        return started

    def advance(self) -> None:
        """Begin the next part of every sum whose part has ended, but never before that part of the sum started earlier: ranks agree on the order."""
        ahead = NodeSum.PARTS
        for each in self._under_way:
            while each.part < ahead and each.request.Test():
                each.begin_next()
            ahead = each.part
        self._under_way = [each for each in self._under_way if each.part < NodeSum.PARTS]


class NodeSum:
    """One sum under way; :meth:`Test` as that of an MPI request. ``part`` counts the parts that have ended."""

    PARTS = 3

    def __init__(self, sums: NodeSums, values: Any, send: Any) -> None:
        self._sums, self._values, self.part = sums, values, 0
        own = values if send is None else send
        if sums.leaders is None:
            self.request = sums.node.Ireduce(own, None, root=0)
        else:
            self.request = sums.node.Ireduce(sums.in_place if send is None else send, values, root=0)

    def begin_next(self) -> None:
        """Begin the part after the one that has ended."""
        self.part += 1
        if self.part == 1 and self._sums.leaders is not None:
            self.request = self._sums.leaders.Iallreduce(self._sums.in_place, self._values)
        elif self.part == 2:
            self.request = self._sums.node_again.Ibcast(self._values, root=0)

    def Test(self) -> bool:
        """Whether the sum is in ``values``; lets all sums under way go on."""
        self._sums.advance()
        return self.part == self.PARTS
