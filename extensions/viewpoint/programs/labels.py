"""Which tracks are kept: those whose last frame the teacher is sure of, as long as they fit.
Standard library only, Python 3.6 grammar."""

from typing import Iterable, List, NamedTuple


class Judged(NamedTuple):
    """A track after the teacher saw its last frame."""

    truth: int
    label: int
    confidence: float
    size_bytes: int


class Storage:
    """The folder's limit: a track is kept whole or not at all; none is removed for a later one."""

    def __init__(self, sure: float, limit_bytes: int) -> None:
        self._sure, self._free_bytes = sure, limit_bytes

    def keeps(self, track: Judged) -> bool:
        """Whether the teacher labels the track and the storage takes it; tracks are asked for in
        their order."""
        if track.confidence < self._sure or track.size_bytes > self._free_bytes:
            return False
        self._free_bytes -= track.size_bytes
        return True


def kept(tracks: Iterable[Judged], sure: float, limit_bytes: int) -> List[bool]:
    """Which of the tracks are kept."""
    storage = Storage(sure, limit_bytes)
    return [storage.keeps(track) for track in tracks]
