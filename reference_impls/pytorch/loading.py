"""Mini-batches through PyTorch's DataLoader, with worker processes."""

from typing import Iterable

from torch.utils.data import DataLoader

from reference_impls.contract import Batch, Loading
from reference_impls.data.pipelines import Batches


def fetch(batches: Batches, loading: Loading, is_pinned: bool = False) -> Iterable[Batch]:
    """Each worker makes whole mini-batches, passed as tensors in shared memory, in order.

    ``is_pinned``: a thread copies them into memory that the kernel does not move, from which a GPU
    copies by itself. Workers do not outlive an epoch, whose reader is opened inside the measured
    region (reference_impls.data.pipelines).
    """
    return DataLoader(
        batches,
        batch_size=None,
        shuffle=False,
        num_workers=loading.workers,
        prefetch_factor=loading.prefetch,
        pin_memory=is_pinned,
    )
