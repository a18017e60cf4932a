"""PyTorch: a plain training loop, and torchvision's data sets, compared with ours; theirs / ours,
so more than 1 means that ours is faster.

The worker is benchmarks/workers/pytorch_loop.py, in PyTorch's environment.
"""

from benchmarks.runner.command_line import run_alone
from benchmarks.speed.loops import Case, loop_benchmark

PLAIN = "the plain loop of PyTorch's tutorials"
REFERENCE, BF16 = "the reference, float32", "pytorch_bf16"
CASES = (
    Case(
        "lenet",
        "LeNet-5 from MNIST's files",
        "DataLoader over torchvision's MNIST",
        16,
        300,
        data="mnist",
    ),
    Case("resnet18", "ResNet-18, a mini-batch in memory", PLAIN, 32, 3),
    Case("resnet50", "ResNet-50, a mini-batch in memory", PLAIN, 16, 2),
    Case("vgg11", "VGG-11, a mini-batch in memory", PLAIN, 32, 5),
    Case("mobilenetv3", "MobileNetV3-Large, a mini-batch in memory", PLAIN, 8, 5),
    Case(
        "photographs",
        "JPEG files to 224x224, no training",
        "torchvision's ImageFolder",
        16,
        6,
        threads=2,
        data="imagefolder",
        samples=400,
    ),
    Case("resnet18-bf16", "ResNet-18, a mini-batch in memory", REFERENCE, 32, 3, ours=BF16),
    Case(
        "mobilenetv3-bf16", "MobileNetV3-Large, a mini-batch in memory", REFERENCE, 8, 5, ours=BF16
    ),
)
BENCHMARK = loop_benchmark(
    "pytorch",
    "How fast is our PyTorch loop compared with PyTorch's usual ways?",
    CASES,
    full_s=240,
    quick_s=50,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
