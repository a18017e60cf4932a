"""The models in Keras, one function each, and MODELS, by the name that workloads use; each takes
the number of classes.

Layers carry the canonical names, torchvision's: the layer ``conv1`` holds ``conv1.weight`` and
``conv1.bias``.
"""

from functools import partial
from typing import Callable, Tuple

import keras
from keras import layers

from reference_impls import mobilenetv3_rows
from reference_impls.tensorflow.layers import Normalization, convolution, depthwise, padded

Block = Callable[[keras.KerasTensor, int, int, str], keras.KerasTensor]


def lenet5(classes: int, narrower: int = 1) -> keras.Model:
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for
    28x28 grey images.

    61,706 parameters for ten classes; float32 images (samples, 28, 28, 1) to logits. Maps and units
    are divided by ``narrower``. Deviations from the paper, all common practice: the input is padded
    by 2 inside the first convolution instead of beforehand; ReLU and max-pooling for tanh and
    trainable sub-sampling; the third convolution sees all maps of the second; a linear output
    instead of radial basis functions. The maps are permuted before they are flattened, so that
    fc1's inputs come in the other frameworks' order.
    """
    first, second, third, fourth = (width // narrower for width in (6, 16, 120, 84))
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(first, 5, padding="same", activation="relu", name="conv1"),
            layers.MaxPooling2D(2),
            layers.Conv2D(second, 5, activation="relu", name="conv2"),
            layers.MaxPooling2D(2),
            layers.Permute((3, 1, 2)),
            layers.Flatten(),
            layers.Dense(third, activation="relu", name="fc1"),
            layers.Dense(fourth, activation="relu", name="fc2"),
            layers.Dense(classes, name="fc3"),
        ]
    )


def lenet5_half(classes: int) -> keras.Model:
    """LeNet-5 with half of the maps and units: 15,738 parameters for ten classes. A student of
    `suite viewpoint`; no workload trains it."""
    return lenet5(classes, narrower=2)


def vgg11(classes: int) -> keras.Model:
    """VGG-11 (Simonyan and Zisserman, ICLR 2015, configuration A) for 32x32 images, without batch
    normalisation.

    One linear layer from the last 512 maps, which are 1x1 here, replaces the three of the paper
    (for 7x7 maps) and their dropout.
    """
    images = x = keras.Input((32, 32, 3))
    place = 0
    for width in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
        if width == "pool":
            x = layers.MaxPooling2D(2)(x)
            place += 1
        else:
            x = layers.ReLU()(convolution(x, width, 3, f"features.{place}", bias=True))
            place += 2
    return keras.Model(images, layers.Dense(classes, name="classifier")(layers.Flatten()(x)))


def resnet(
    block: Block, expansion: int, depths: Tuple[int, ...], small_images: bool, classes: int
) -> keras.Model:
    """A residual network (He et al., CVPR 2016); ``small_images`` have the stem of its section 4.2:
    a 3x3 convolution, no pooling."""
    normalized = Normalization(momentum=0.1, epsilon=1e-5)
    if small_images:
        images = keras.Input((32, 32, 3))
        x = layers.ReLU()(normalized(convolution(images, 64, 3, "conv1"), "bn1"))
    else:
        images = keras.Input((None, None, 3))
        x = layers.ReLU()(normalized(convolution(images, 64, 7, "conv1", stride=2), "bn1"))
        # Padding with zeros equals padding with minus infinity: after a ReLU no value is lower.
        x = layers.MaxPooling2D(3, strides=2)(padded(x, 1))
    for stage, depth in enumerate(depths, start=1):
        for index in range(depth):
            stride = 2 if stage > 1 and index == 0 else 1
            name, width = f"layer{stage}.{index}", 64 * 2 ** (stage - 1)
            shortcut = x
            if stride != 1 or x.shape[-1] != width * expansion:
                shortcut = normalized(
                    convolution(x, width * expansion, 1, f"{name}.downsample.0", stride),
                    f"{name}.downsample.1",
                )
            x = layers.ReLU()(layers.Add()([block(x, width, stride, name), shortcut]))
    return keras.Model(images, layers.Dense(classes, name="fc")(layers.GlobalAveragePooling2D()(x)))


def basic(x: keras.KerasTensor, width: int, stride: int, name: str) -> keras.KerasTensor:
    """Two 3x3 convolutions, without the shortcut."""
    normalized = Normalization(momentum=0.1, epsilon=1e-5)
    x = layers.ReLU()(normalized(convolution(x, width, 3, f"{name}.conv1", stride), f"{name}.bn1"))
    return normalized(convolution(x, width, 3, f"{name}.conv2"), f"{name}.bn2")


def bottleneck(x: keras.KerasTensor, width: int, stride: int, name: str) -> keras.KerasTensor:
    """1x1, 3x3 (which has the stride) and 1x1 to four times the width, without the shortcut."""
    normalized = Normalization(momentum=0.1, epsilon=1e-5)
    x = layers.ReLU()(normalized(convolution(x, width, 1, f"{name}.conv1"), f"{name}.bn1"))
    x = layers.ReLU()(normalized(convolution(x, width, 3, f"{name}.conv2", stride), f"{name}.bn2"))
    return normalized(convolution(x, 4 * width, 1, f"{name}.conv3"), f"{name}.bn3")


def mobilenetv3_large(classes: int) -> keras.Model:
    """MobileNetV3-Large (Howard et al., ICCV 2019) without dropout, because frameworks draw
    different masks."""
    rows = mobilenetv3_rows
    normalized = Normalization(rows.BATCH_NORM_MOMENTUM, rows.BATCH_NORM_EPSILON)
    images = keras.Input((None, None, 3))
    x = layers.Activation("hard_swish")(
        normalized(convolution(images, rows.FIRST, 3, "features.0.0", stride=2), "features.0.1")
    )
    for index, row in enumerate(rows.LARGE, start=1):
        x = inverted_residual(x, row, f"features.{index}")
    last = f"features.{len(rows.LARGE) + 1}"
    x = layers.Activation("hard_swish")(
        normalized(convolution(x, rows.LAST, 1, f"{last}.0"), f"{last}.1")
    )
    x = layers.Dense(rows.HIDDEN, activation="hard_swish", name="classifier.0")(
        layers.GlobalAveragePooling2D()(x)
    )
    return keras.Model(images, layers.Dense(classes, name="classifier.3")(x))


def inverted_residual(
    x: keras.KerasTensor, row: mobilenetv3_rows.Bottleneck, name: str
) -> keras.KerasTensor:
    """Expansion, depthwise convolution, squeeze-and-excite, projection, and a shortcut where shapes
    allow it."""
    normalized = Normalization(
        mobilenetv3_rows.BATCH_NORM_MOMENTUM, mobilenetv3_rows.BATCH_NORM_EPSILON
    )
    activation = "hard_swish" if row.hard_swish else "relu"
    shortcut, place = x, 0
    if row.expanded != x.shape[-1]:
        x = layers.Activation(activation)(
            normalized(convolution(x, row.expanded, 1, f"{name}.block.0.0"), f"{name}.block.0.1")
        )
        place = 1
    x = layers.Activation(activation)(
        normalized(
            depthwise(x, row.kernel, f"{name}.block.{place}.0", row.stride),
            f"{name}.block.{place}.1",
        )
    )
    if row.squeezes:
        place += 1
        share = layers.GlobalAveragePooling2D(keepdims=True)(x)
        share = layers.ReLU()(
            convolution(share, row.squeezed, 1, f"{name}.block.{place}.fc1", bias=True)
        )
        share = layers.Activation("hard_sigmoid")(
            convolution(share, row.expanded, 1, f"{name}.block.{place}.fc2", bias=True)
        )
        x = layers.Multiply()([x, share])
    x = normalized(
        convolution(x, row.out, 1, f"{name}.block.{place + 1}.0"), f"{name}.block.{place + 1}.1"
    )
    return layers.Add()([x, shortcut]) if row.stride == 1 and shortcut.shape[-1] == row.out else x


MODELS = {
    "lenet5": lenet5,
    "mobilenetv3_large": mobilenetv3_large,
    "resnet18": partial(resnet, basic, 1, (2, 2, 2, 2), True),
    "resnet50": partial(resnet, bottleneck, 4, (3, 4, 6, 3), True),
    "resnet50_imagenet": partial(resnet, bottleneck, 4, (3, 4, 6, 3), False),
    "vgg11": vgg11,
    "lenet5_half": lenet5_half,
}
