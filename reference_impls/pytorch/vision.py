"""torchvision, also where its compiled operators are missing: the models need none of them."""

from types import ModuleType

import torch


def import_torchvision() -> ModuleType:
    """torchvision; beside a PyTorch that it was not compiled for, it misses two operators for which
    it would register shapes."""
    try:
        import torchvision  # its registration fails beside another PyTorch
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        library = torch.library.Library("torchvision", "DEF")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
        import torchvision  # its registration fails beside another PyTorch
    return torchvision


_KEPT = []  # type: list  # an operator vanishes with the library that defined it
