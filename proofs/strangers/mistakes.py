"""Mistakes in PyTorch's steps of deep networks, in float32 only, beside those of `make prove
mistakes`: the probe stays honest."""

from proofs.mistakes.anchors import PYTORCH_LOSS
from proofs.mistakes.mistake import PROBE, PYTORCH, STEP, Mistake

_IS_FLOAT32 = "images.dtype == torch.float32"
_MOMENTUM = "momentum=settings.momentum,"
_EDITS = {
    "a momentum smaller by a tenth": (
        _MOMENTUM,
        "momentum=settings.momentum * (0.9 if next(model.parameters()).dtype == torch.float32 else"
        " 1.0),",
    ),
    "a gradient from half of the mini-batch": (
        PYTORCH_LOSS,
        f"images, labels = (images[::2], labels[::2]) if {_IS_FLOAT32} else (images, labels)\n"
        f"        {PYTORCH_LOSS}",
    ),
    "pictures in bfloat16": (
        PYTORCH_LOSS,
        f"images = images.bfloat16().float() if {_IS_FLOAT32} else images\n        {PYTORCH_LOSS}",
    ),
    "smoothed labels": (
        PYTORCH_LOSS,
        PYTORCH_LOSS.replace("labels)", f"labels, label_smoothing=0.1 * ({_IS_FLOAT32}))"),
    ),
}

OF_DEEP_NETWORKS = tuple(
    Mistake(f"pytorch: {name} in float32, {workload}", STEP, PYTORCH, old, new, PROBE, workload)
    for name, (old, new) in _EDITS.items()
    for workload in ("resnet18", "mobilenetv3", "resnet50")
)
