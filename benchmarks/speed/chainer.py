"""Chainer: its own Trainer compared with our loop; theirs / ours, so more than 1 means that ours is
faster.

The worker is benchmarks/workers/chainer_loop.py, in Chainer's environment.
"""

from benchmarks.runner.command_line import run_alone
from benchmarks.speed.loops import Case, loop_benchmark

TRAINER = "Chainer's Trainer over arrays"
CASES = (
    Case("lenet", "LeNet-5; ours from MNIST's files", TRAINER, 16, 150, data="mnist"),
    Case("resnet18", "ResNet-18, a mini-batch in memory", TRAINER, 32, 1, pairs=7),
    Case("resnet50", "ResNet-50, a mini-batch in memory", TRAINER, 16, 1, pairs=7),
    Case("vgg11", "VGG-11, a mini-batch in memory", TRAINER, 32, 3),
    Case("mobilenetv3", "MobileNetV3-Large, a mini-batch in memory", TRAINER, 8, 2),
)
BENCHMARK = loop_benchmark(
    "chainer",
    "How fast is our Chainer loop compared with Chainer's Trainer?",
    CASES,
    full_s=240,
    quick_s=20,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
