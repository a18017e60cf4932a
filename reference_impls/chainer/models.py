"""The models in Chainer, and MODELS, by the name that workloads use; each takes the number of
classes.

Links are named and nested like torchvision's modules, so that their paths are the canonical names.
"""

from functools import partial
from typing import Callable, Optional, Tuple

import chainer
import chainer.functions as F
import chainer.links as L

from reference_impls import mobilenetv3_rows
from reference_impls.chainer.normalisation import BatchNormalization


class Stack(chainer.Chain):
    """Links and functions in sequence; a link is named by its index.

    chainer.Sequential counts links only, and from the third on it names them in the wrong order.
    """

    def __init__(self, *parts: Callable[[chainer.Variable], chainer.Variable]) -> None:
        super().__init__()
        self._parts = parts
        with self.init_scope():
            for place, part in enumerate(parts):
                if isinstance(part, chainer.Link):
                    setattr(self, str(place), part)

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        """The output of the last part."""
        for part in self._parts:
            x = part(x)
        return x


class LeNet5(chainer.Chain):
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for
    28x28 grey images.

    61,706 parameters for ten classes; float32 images (samples, 1, 28, 28) to logits. Deviations
    from the paper, all common practice: the input is padded by 2 inside the first convolution
    instead of beforehand; ReLU and max-pooling for tanh and trainable sub-sampling; the third
    convolution sees all maps of the second; a linear output instead of radial basis functions.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 6, ksize=5, pad=2)
            self.conv2 = L.Convolution2D(6, 16, ksize=5)
            self.fc1 = L.Linear(16 * 5 * 5, 120)
            self.fc2 = L.Linear(120, 84)
            self.fc3 = L.Linear(84, classes)

    def forward(self, images: chainer.Variable) -> chainer.Variable:
        """Logits."""
        x = F.max_pooling_2d(F.relu(self.conv1(images)), 2, stride=2)
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 2, stride=2)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class VGG11(chainer.Chain):
    """VGG-11 (Simonyan and Zisserman, ICLR 2015, configuration A) for 32x32 images, without batch
    normalisation.

    One linear layer from the last 512 maps, which are 1x1 here, replaces the three of the paper
    (for 7x7 maps) and their dropout.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        parts, channels = [], 3
        for width in (
            64,
            "pool",
            128,
            "pool",
            256,
            256,
            "pool",
            512,
            512,
            "pool",
            512,
            512,
            "pool",
        ):
            if width == "pool":
                parts.append(partial(F.max_pooling_2d, ksize=2, stride=2))
            else:
                parts += [L.Convolution2D(channels, width, ksize=3, pad=1), F.relu]
                channels = width
        with self.init_scope():
            self.features = Stack(*parts)
            self.classifier = L.Linear(512, classes)

    def forward(self, images: chainer.Variable) -> chainer.Variable:
        """Logits (samples, classes) of images (samples, 3, 32, 32)."""
        return self.classifier(self.features(images))


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> L.Convolution2D:
    return L.Convolution2D(
        inputs, outputs, ksize=kernel, stride=stride, pad=kernel // 2, nobias=True, groups=groups
    )


def _normalization(
    channels: int, momentum: float = 0.1, epsilon: float = 1e-5
) -> BatchNormalization:
    """``momentum`` is PyTorch's: the weight of the new statistics."""
    return BatchNormalization(channels, decay=1 - momentum, eps=epsilon)


class Basic(chainer.Chain):
    """Two 3x3 convolutions with a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        with self.init_scope():
            self.conv1, self.bn1 = _convolution(inputs, width, 3, stride), _normalization(width)
            self.conv2, self.bn2 = _convolution(width, width, 3), _normalization(width)
            self.downsample = _downsample(inputs, width, stride)

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        """Maps of ``width`` channels."""
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(chainer.Chain):
    """1x1, 3x3 (which has the stride) and 1x1 to four times the width, with a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        with self.init_scope():
            self.conv1, self.bn1 = _convolution(inputs, width, 1), _normalization(width)
            self.conv2, self.bn2 = _convolution(width, width, 3, stride), _normalization(width)
            self.conv3, self.bn3 = _convolution(width, 4 * width, 1), _normalization(4 * width)
            self.downsample = _downsample(inputs, 4 * width, stride)

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        """Maps of four times ``width`` channels."""
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


def _downsample(inputs: int, outputs: int, stride: int) -> Optional[Stack]:
    if stride == 1 and inputs == outputs:
        return None
    return Stack(_convolution(inputs, outputs, 1, stride), _normalization(outputs))


class ResNet(chainer.Chain):
    """A residual network (He et al., CVPR 2016); ``small_images`` have the stem of its section 4.2:
    a 3x3 convolution, no pooling."""

    def __init__(
        self, block: type, depths: Tuple[int, int, int, int], small_images: bool, classes: int
    ) -> None:
        super().__init__()
        self._pools = not small_images
        with self.init_scope():
            self.conv1, self.bn1 = (
                _convolution(3, 64, *((3, 1) if small_images else (7, 2))),
                _normalization(64),
            )
            self.layer1 = _stage(block, 64, 64, depths[0], 1)
            self.layer2 = _stage(block, 64 * block.expansion, 128, depths[1], 2)
            self.layer3 = _stage(block, 128 * block.expansion, 256, depths[2], 2)
            self.layer4 = _stage(block, 256 * block.expansion, 512, depths[3], 2)
            self.fc = L.Linear(512 * block.expansion, classes)

    def forward(self, images: chainer.Variable) -> chainer.Variable:
        """Logits."""
        x = F.relu(self.bn1(self.conv1(images)))
        if self._pools:
            x = F.max_pooling_2d(x, 3, stride=2, pad=1, cover_all=False)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.mean(x, axis=(2, 3)))


def _stage(block: type, inputs: int, width: int, depth: int, stride: int) -> Stack:
    rest = [block(width * block.expansion, width, 1) for _ in range(depth - 1)]
    return Stack(block(inputs, width, stride), *rest)


def hard_sigmoid(x: chainer.Variable) -> chainer.Variable:
    """``relu6(x + 3) / 6``; chainer.functions.hard_sigmoid has another slope."""
    return F.clipped_relu(x + 3.0, z=6.0) / 6.0


def hard_swish(x: chainer.Variable) -> chainer.Variable:
    """``x relu6(x + 3) / 6``."""
    return x * hard_sigmoid(x)


class SqueezeExcite(chainer.Chain):
    """Scales every channel by a factor computed from all channels' means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Convolution2D(channels, squeezed, ksize=1)
            self.fc2 = L.Convolution2D(squeezed, channels, ksize=1)

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        """Maps of the same shape."""
        share = F.mean(x, axis=(2, 3), keepdims=True)
        share = hard_sigmoid(self.fc2(F.relu(self.fc1(share))))
        return x * F.broadcast_to(share, x.shape)


class InvertedResidual(chainer.Chain):
    """Expansion, depthwise convolution, squeeze-and-excite, projection, and a shortcut where shapes
    allow it."""

    def __init__(self, inputs: int, row: mobilenetv3_rows.Bottleneck) -> None:
        super().__init__()
        self._adds = row.stride == 1 and inputs == row.out
        activation = hard_swish if row.hard_swish else F.relu
        parts = (
            []
            if row.expanded == inputs
            else [_mobile(inputs, row.expanded, 1, activation=activation)]
        )
        parts.append(
            _mobile(row.expanded, row.expanded, row.kernel, row.stride, row.expanded, activation)
        )
        if row.squeezes:
            parts.append(SqueezeExcite(row.expanded, row.squeezed))
        parts.append(_mobile(row.expanded, row.out, 1))
        with self.init_scope():
            self.block = Stack(*parts)

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        """Maps of ``row.out`` channels."""
        y = self.block(x)
        return x + y if self._adds else y


def _mobile(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    activation: Optional[Callable] = None,
) -> Stack:
    normalization = _normalization(
        outputs, mobilenetv3_rows.BATCH_NORM_MOMENTUM, mobilenetv3_rows.BATCH_NORM_EPSILON
    )
    parts = [_convolution(inputs, outputs, kernel, stride, groups), normalization]
    return Stack(*parts, *([] if activation is None else [activation]))


class MobileNetV3Large(chainer.Chain):
    """MobileNetV3-Large (Howard et al., ICCV 2019) without dropout, because frameworks draw
    different masks."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        rows = mobilenetv3_rows
        inputs = (rows.FIRST, *(row.out for row in rows.LARGE))
        with self.init_scope():
            self.features = Stack(
                _mobile(3, rows.FIRST, 3, 2, activation=hard_swish),
                *(InvertedResidual(channels, row) for channels, row in zip(inputs, rows.LARGE)),
                _mobile(inputs[-1], rows.LAST, 1, activation=hard_swish),
            )
            no_dropout = F.identity
            self.classifier = Stack(
                L.Linear(rows.LAST, rows.HIDDEN),
                hard_swish,
                no_dropout,
                L.Linear(rows.HIDDEN, classes),
            )

    def forward(self, images: chainer.Variable) -> chainer.Variable:
        """Logits."""
        return self.classifier(F.mean(self.features(images), axis=(2, 3)))


MODELS = {
    "lenet5": LeNet5,
    "mobilenetv3_large": MobileNetV3Large,
    "resnet18": partial(ResNet, Basic, (2, 2, 2, 2), True),
    "resnet50": partial(ResNet, Bottleneck, (3, 4, 6, 3), True),
    "resnet50_imagenet": partial(ResNet, Bottleneck, (3, 4, 6, 3), False),
    "vgg11": VGG11,
}
