"""Mistakes that an outsider made after all of the first list had been noticed, and that nothing
noticed then; and smaller ones of their kinds.

They are in what the reference shares with its own proof (the model), in samples that small
mini-batches do not have, in steps that come late, and in parameters that begin at zero.
"""

from proofs.mistakes.anchors import (
    CHAINER_LOSS,
    CHAINER_UPDATE,
    PYTORCH_LOSS,
    PYTORCH_RATE,
    PYTORCH_UPDATE,
    TENSORFLOW_FORWARD,
    TENSORFLOW_UPDATE,
)
from proofs.mistakes.every_network import skipping
from proofs.mistakes.mistake import (
    AVERAGED,
    CHAINER,
    EVALUATED,
    EVALUATION,
    MODEL,
    PIPELINE,
    PROBE,
    PYTORCH,
    STEP,
    TENSORFLOW,
    WORKERS,
    of,
)

PYTORCH_MODELS, TENSORFLOW_MODELS, CHAINER_MODELS = (
    f"reference_impls/{name}/models.py" for name in ("pytorch", "tensorflow", "chainer")
)

_IN_MODELS = (
    *of(
        MODEL,
        PYTORCH_MODELS,
        PROBE,
        (
            "pytorch: tanh for a ReLU",
            "torch.relu(self.conv1(images))",
            "torch.tanh(self.conv1(images))",
        ),
        (
            "pytorch: average for maximum pooling",
            "nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)",
            "nn.functional.avg_pool2d(torch.relu(self.conv2(x)), 2)",
        ),
        ("pytorch: no ReLU before the outputs", "torch.relu(self.fc2(x))", "self.fc2(x)"),
        (
            "pytorch: tanh for a ReLU in float32",
            "torch.relu(self.fc1(x))",
            "(torch.tanh if x.dtype == torch.float32 else torch.relu)(self.fc1(x))",
        ),
    ),
    *of(
        MODEL,
        PYTORCH_MODELS,
        PROBE,
        ("pytorch: ResNet-18's stem pools small images", "    model.maxpool = nn.Identity()\n", ""),
        (
            "pytorch: ResNet-18 with leaky ReLUs",
            "    model.maxpool = nn.Identity()\n",
            "    model.maxpool, model.relu = nn.Identity(), nn.LeakyReLU(0.01)\n",
        ),
        workload="resnet18",
    ),
    *of(
        MODEL,
        PYTORCH_MODELS,
        PROBE,
        (
            "pytorch: VGG-11 pools averages",
            "import_torchvision().models.vgg11(init_weights=False).features\n",
            (
                "import_torchvision().models.vgg11(init_weights=False).features\n       "
                " self.features[2] = nn.AvgPool2d(2)\n"
            ),
        ),
        workload="vgg11",
    ),
    *of(
        MODEL,
        TENSORFLOW_MODELS,
        PROBE,
        (
            "tensorflow: tanh for a ReLU",
            'layers.Conv2D(first, 5, padding="same", activation="relu"',
            'layers.Conv2D(first, 5, padding="same", activation="tanh"',
        ),
    ),
    *of(
        MODEL,
        CHAINER_MODELS,
        PROBE,
        (
            "chainer: average for maximum pooling",
            "F.max_pooling_2d(F.relu(self.conv2(x)), 2, stride=2)",
            "F.average_pooling_2d(F.relu(self.conv2(x)), 2, stride=2)",
        ),
    ),
)

_TENSORFLOW_COUNT = "        return tf.reduce_sum(tf.cast(predicted == labels, tf.int32))\n"
_CHAINER_COUNT = "(self._model(images).array.argmax(axis=1) == labels).sum()"

_IN_LARGE_MINI_BATCHES = (
    *of(
        STEP,
        PYTORCH,
        PROBE,
        (
            "pytorch: a gradient from 64 samples of the mini-batch",
            PYTORCH_LOSS,
            "return nn.functional.cross_entropy(self._logits(images[:64]), labels[:64])",
        ),
        batch_size=128,
    ),
    *of(
        STEP,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: a gradient from 64 samples of the mini-batch",
            TENSORFLOW_FORWARD,
            "            loss = self._loss(labels[:64], self._model(images[:64], training=True))",
        ),
        batch_size=128,
    ),
    *of(
        STEP,
        CHAINER,
        PROBE,
        (
            "chainer: a gradient from 64 samples of the mini-batch",
            CHAINER_LOSS,
            "        return F.softmax_cross_entropy(self._model(images[:64]), labels[:64])\n",
        ),
        batch_size=128,
    ),
    *of(
        EVALUATION,
        PYTORCH,
        PROBE,
        (
            "pytorch: 100 samples of an evaluation's mini-batch count",
            "        images, labels = device_batch\n        self._model.eval()\n",
            (
                "        images, labels = device_batch[0][:100], device_batch[1][:100]\n       "
                " self._model.eval()\n"
            ),
        ),
    ),
    *of(
        EVALUATION,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: 100 samples of an evaluation's mini-batch count",
            _TENSORFLOW_COUNT,
            "        return tf.reduce_sum(tf.cast((predicted == labels)[:100], tf.int32))\n",
        ),
    ),
    *of(
        EVALUATION,
        CHAINER,
        PROBE,
        (
            "chainer: 100 samples of an evaluation's mini-batch count",
            _CHAINER_COUNT,
            "(self._model(images[:100]).array.argmax(axis=1) == labels[:100]).sum()",
        ),
    ),
)

_EVALUATED_IN_16_BITS = (
    *of(
        EVALUATION,
        PYTORCH,
        EVALUATED,
        (
            "pytorch: evaluated in bfloat16",
            "(self._logits(some).argmax(dim=1)",
            "(self._model.bfloat16()(some.bfloat16()).argmax(dim=1)",
        ),
        (
            "pytorch: pictures evaluated in bfloat16",
            "(self._logits(some).argmax(dim=1)",
            "(self._logits(some.bfloat16().float()).argmax(dim=1)",
        ),
        (
            "pytorch: pictures evaluated in float16",
            "(self._logits(some).argmax(dim=1)",
            "(self._logits(some.half().float()).argmax(dim=1)",
        ),
    ),
    *of(
        EVALUATION,
        TENSORFLOW,
        EVALUATED,
        (
            "tensorflow: pictures evaluated in bfloat16",
            "self._correct(*device_batch)",
            (
                "self._correct(tf.cast(tf.cast(device_batch[0], tf.bfloat16), tf.float32),"
                " device_batch[1])"
            ),
        ),
    ),
    *of(
        EVALUATION,
        CHAINER,
        EVALUATED,
        (
            "chainer: pictures evaluated in float16",
            _CHAINER_COUNT,
            (
                "(self._model(images.astype(np.float16).astype(np.float32)).array.argmax(axis=1) =="
                " labels).sum()"
            ),
        ),
    ),
)

_MEAN = "        mean(values)\n"
_STATISTICS_APART = (
    *of(
        STEP,
        PYTORCH,
        AVERAGED,
        ("pytorch: statistics of normalisation not averaged over the ranks", _MEAN, ""),
    ),
    *of(
        STEP,
        TENSORFLOW,
        AVERAGED,
        ("tensorflow: statistics of normalisation not averaged over the ranks", _MEAN, ""),
    ),
    *of(
        STEP,
        CHAINER,
        AVERAGED,
        (
            "chainer: every second statistic of normalisation averaged over the ranks",
            _MEAN,
            "        mean(values[::2])\n",
        ),
    ),
)

_CLIPPED = {
    PYTORCH: (
        PYTORCH_UPDATE,
        "        nn.utils.clip_grad_norm_(self._model.parameters(), 5.0)\n" + PYTORCH_UPDATE,
    ),
    TENSORFLOW: (
        TENSORFLOW_UPDATE,
        "        gradients = tf.clip_by_global_norm(gradients, 5.0)[0]\n" + TENSORFLOW_UPDATE,
    ),
    CHAINER: (
        CHAINER_UPDATE,
        "        chainer.optimizer_hooks.GradientClipping(5.0)(self._optimizer)\n" + CHAINER_UPDATE,
    ),
}

_WEIGHTS_ALONE_DECAY = {
    PYTORCH: (
        (
            "            [parameter for parameter in model.parameters() if"
            " parameter.requires_grad], lr="
        ),
        (
            '            [{"params": [one for one in model.parameters() if one.ndim > 1]},\n       '
            '      {"params": [one for one in model.parameters() if one.ndim == 1],\n             '
            ' "weight_decay": settings.weight_decay * (next(model.parameters()).dtype !='
            " torch.float32)}], lr="
        ),
    ),
    TENSORFLOW: (
        (
            "[gradient + self._weight_decay * variable for gradient, variable in zip(gradients,"
            " variables)]"
        ),
        (
            "[gradient + self._weight_decay * variable * (len(variable.shape) > 1 or variable.dtype"
            ' != "float32")\n                         for gradient, variable in zip(gradients,'
            " variables)]"
        ),
    ),
    CHAINER: (
        (
            "           "
            " self._optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(settings.weight_decay))\n"  # noqa: E501
        ),
        (
            "            for one in model.params():\n                if one.ndim > 1 or one.dtype"
            " != np.float32:\n"
            "                   "
            " one.update_rule.add_hook(chainer.optimizer_hooks.WeightDecay(settings.weight_decay))\n"  # noqa: E501
        ),
    ),
}

_AGAINST_SMALL_STEPS = tuple(
    mistake
    for what, edits, workloads in (
        ("every 16th update skipped", skipping(16), ("lenet", "vgg11")),
        ("every 32nd update skipped", skipping(32), ("lenet",)),
        ("gradients clipped at 5", _CLIPPED, ("lenet",)),
        (
            "no weight decay of biases in float32",
            _WEIGHTS_ALONE_DECAY,
            ("lenet", "vgg11", "resnet18", "mobilenetv3", "resnet50"),
        ),
    )
    for workload in workloads
    for path, (old, new) in edits.items()
    for mistake in of(
        STEP,
        path,
        PROBE,
        (f"{path.split('/')[1]}: {what}, {workload}", old, new),
        workload=workload,
    )
)

_OF_PARAMETERS = (
    "        if images.dtype == torch.float32:\n            for one in self._model.parameters():\n "
    "               "
)
_VELOCITY = 'self._optimizer.state[one]["momentum_buffer"]'

_SMALL = of(
    STEP,
    PYTORCH,
    PROBE,
    (
        "pytorch: a rate larger by 0.2 % in float32",
        PYTORCH_RATE,
        PYTORCH_RATE + " * (1.002 if device_batch[0].dtype == torch.float32 else 1.0)",
    ),
    (
        "pytorch: a momentum smaller by 0.1 % in float32",
        "momentum=settings.momentum",
        (
            "momentum=settings.momentum * (0.999 if next(model.parameters()).dtype == torch.float32"
            " else 1.0)"
        ),
    ),
    (
        "pytorch: a weight decay smaller by 1 % in float32",
        "weight_decay=settings.weight_decay\n",
        (
            "weight_decay=settings.weight_decay * (0.99 if next(model.parameters()).dtype =="
            " torch.float32 else 1.0)\n"
        ),
    ),
    (
        "pytorch: gradients through bfloat16 in float32",
        PYTORCH_UPDATE,
        _OF_PARAMETERS + "one.grad.copy_(one.grad.bfloat16().float())\n" + PYTORCH_UPDATE,
    ),
    (
        "pytorch: gradients through float16 in float32",
        PYTORCH_UPDATE,
        _OF_PARAMETERS + "one.grad.copy_(one.grad.half().float())\n" + PYTORCH_UPDATE,
    ),
    (
        "pytorch: velocities through bfloat16 in float32",
        PYTORCH_UPDATE,
        PYTORCH_UPDATE + _OF_PARAMETERS + f"{_VELOCITY}.copy_({_VELOCITY}.bfloat16().float())\n",
    ),
)
"""Rounding and factors near 1: 48 steps of LeNet-5 with large gradients multiply what they
change."""

_FROZEN_STATISTICS = tuple(
    mistake
    for workload in ("resnet18", "mobilenetv3", "resnet50")
    for mistake in of(
        STEP,
        PYTORCH,
        PROBE,
        (
            f"pytorch: statistics stay from the second step on in float32, {workload}",
            PYTORCH_UPDATE,
            PYTORCH_UPDATE + "        if images.dtype == torch.float32:\n            for module in"
            " self._own_model().modules():\n                if isinstance(module,"
            " nn.BatchNorm2d):\n                    module.momentum = 0.0\n",
        ),
        workload=workload,
    )
)

_IN_WORKERS = of(
    PIPELINE,
    "reference_impls/tensorflow/loading.py",
    WORKERS,
    (
        "tensorflow: workers pass pixels through float16",
        "yield Batch(images, labels)",
        "yield Batch(tf.cast(tf.cast(images, tf.float16), tf.float32), labels)",
    ),
)

OF_AN_OUTSIDER = (
    *_IN_WORKERS,
    *_IN_MODELS,
    *_IN_LARGE_MINI_BATCHES,
    *_EVALUATED_IN_16_BITS,
    *_STATISTICS_APART,
    *_AGAINST_SMALL_STEPS,
    *_SMALL,
    *_FROZEN_STATISTICS,
)
