"""The models in PyTorch, and MODELS, by the name that workloads use; each takes the number of
classes.

All but LeNet-5 are torchvision's; their docstrings list the differences. Its parameter names and
layout are the canonical ones.
"""

import torch
from torch import nn

from reference_impls.pytorch.vision import import_torchvision


class LeNet5(nn.Module):
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for
    28x28 grey images.

    61,706 parameters for ten classes; maps and units are divided by ``narrower``. Deviations from
    the paper, all common practice: the input is padded by 2 inside the first convolution instead of
    beforehand; ReLU and max-pooling for tanh and trainable sub-sampling; the third convolution sees
    all maps of the second; a linear output instead of radial basis functions.
    """

    def __init__(self, classes: int, narrower: int = 1) -> None:
        super().__init__()
        first, second, third, fourth = (width // narrower for width in (6, 16, 120, 84))
        self.conv1 = nn.Conv2d(1, first, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(first, second, kernel_size=5)
        self.fc1 = nn.Linear(second * 5 * 5, third)
        self.fc2 = nn.Linear(third, fourth)
        self.fc3 = nn.Linear(fourth, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits (samples, classes) of float32 images (samples, 1, 28, 28)."""
        x = nn.functional.max_pool2d(torch.relu(self.conv1(images)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def lenet5_half(classes: int) -> nn.Module:
    """LeNet-5 with half of the maps and units: 15,738 parameters for ten classes. A student of
    `suite viewpoint`; no workload trains it."""
    return LeNet5(classes, narrower=2)


def mobilenetv3_large(classes: int) -> nn.Module:
    """MobileNetV3-Large (Howard et al., ICCV 2019) without dropout, because frameworks draw
    different masks."""
    model = import_torchvision().models.mobilenet_v3_large(num_classes=classes)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            # not by an argument: torchvision 0.11 (JetPack 4) ignores one without a word
            module.p = 0.0
    return model


def resnet18(classes: int) -> nn.Module:
    """ResNet-18 (He et al., CVPR 2016) with the stem for 32x32 images."""
    return _for_small_images(import_torchvision().models.resnet18(num_classes=classes))


def resnet50(classes: int) -> nn.Module:
    """ResNet-50 (He et al., CVPR 2016) with the stem for 32x32 images; a bottleneck's stride is in
    its 3x3 convolution."""
    return _for_small_images(import_torchvision().models.resnet50(num_classes=classes))


def resnet50_imagenet(classes: int) -> nn.Module:
    """ResNet-50 with its original stem, for images of 224x224."""
    return import_torchvision().models.resnet50(num_classes=classes)


def _for_small_images(model: nn.Module) -> nn.Module:
    """The stem of He et al., section 4.2 (CIFAR-10): one 3x3 convolution of stride 1 and no
    pooling."""
    model.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
    model.maxpool = nn.Identity()
    return model


class VGG11(nn.Module):
    """VGG-11 (Simonyan and Zisserman, ICLR 2015, configuration A) for 32x32 images, without batch
    normalisation.

    One linear layer from the last 512 maps, which are 1x1 here, replaces the three of the paper
    (for 7x7 maps) and their dropout.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = import_torchvision().models.vgg11(init_weights=False).features
        self.classifier = nn.Linear(512, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits (samples, classes) of float32 images (samples, 3, 32, 32)."""
        return self.classifier(torch.flatten(self.features(images), 1))


MODELS = {
    "lenet5": LeNet5,
    "mobilenetv3_large": mobilenetv3_large,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "resnet50_imagenet": resnet50_imagenet,
    "vgg11": VGG11,
    "lenet5_half": lenet5_half,
}
