"""Which reader serves which data set."""

from reference_impls.contract import ContractError, Pipeline, Request
from reference_impls.data.mnist import MnistPipeline

READERS = {"mnist": MnistPipeline, "digits": MnistPipeline}  # type: Dict[str, Callable[..., Pipeline]]


def open_pipeline(request: Request, channels_last: bool = False) -> Pipeline:
    """The NumPy pipeline of the request's data set; touches no data yet."""
    if request.data.name not in READERS:
        raise ContractError("no reader for the data set {!r}; known: {}.".format(request.data.name, ", ".join(sorted(READERS))))
    return READERS[request.data.name](request, channels_last=channels_last)
