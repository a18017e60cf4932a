"""Mini-batches through PyTorch's DataLoader, with worker processes."""

from typing import Iterable

from torch.utils.data import DataLoader

from reference_impls.contract import Batch, Loading
from reference_impls.data.pipelines import Batches


def fetch(batches: Batches, loading: Loading) -> Iterable[Batch]:
    """Each worker makes whole mini-batches, passed as tensors in shared memory, in order."""
    return DataLoader(batches, batch_size=None, shuffle=False, num_workers=loading.workers, prefetch_factor=loading.prefetch)
