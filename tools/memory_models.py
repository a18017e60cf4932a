"""Write the networks of ``rules/memory/models``: traced in PyTorch's environment. ``python -m
tools.memory_models``.

Run it after a change of a model, or for a new torchvision; a test compares the stored parameters
with the workloads'.
"""

from reference_impls.data.photographs import SIDE
from suite.catalog.workloads import load_workloads
from suite.memory.network import Network, network_json, networks_folder
from suite.memory.tracing import traced_rows

IMAGE_224 = (3, SIDE, SIDE)


def main() -> None:
    """Trace every model once and write its file."""
    wanted = {
        f"resnet{depth}": (
            f"torchvision:resnet{depth}",
            f"ResNet-{depth} (torchvision, 1000 classes)",
            IMAGE_224,
        )
        for depth in (18, 34, 50, 101, 152)
    }
    for workload in load_workloads():
        own, verification = (
            f"own:{workload.model}:{workload.verification.classes}",
            workload.verification,
        )
        channels, *axes = verification.image_shape
        if workload.preprocessing.augmentation == "resized_crop":
            # the probe's pictures are smaller than the workload's
            axes = [workload.preprocessing.side or SIDE] * 2
        image = (channels, axes[0], axes[1])
        wanted[f"workload-{workload.name}"] = (own, workload.title, image)
    answers = traced_rows([model for model, _, _ in wanted.values()])
    for name, (model, title, image) in wanted.items():
        answer = answers[model]
        source = (
            f"traced by reference_impls.pytorch.trace ({model}), torch {answer['torch']},"
            f" torchvision {answer['torchvision']}"
        )
        (networks_folder() / f"{name}.json").write_text(
            network_json(Network(name, title, source, image, ()), answer["rows"]), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
