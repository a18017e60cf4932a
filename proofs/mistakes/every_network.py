"""Mistakes in the steps of every network whose timed steps have tolerances, in every framework.

Wide tolerances, which rounding in deep networks with batch normalisation needs, must not let them
through.
"""

from proofs.mistakes.anchors import (
    CHAINER_LOSS,
    CHAINER_RATE,
    CHAINER_UPDATE,
    PYTORCH_RATE,
    PYTORCH_UPDATE,
    TENSORFLOW_RATE,
)
from proofs.mistakes.mistake import CHAINER, PROBE, PYTORCH, STEP, TENSORFLOW, Mistake
from suite.catalog.workloads import load_workloads


def skipping(every: int) -> dict[str, tuple[str, str]]:
    """Of each implementation the text that is there, and one that leaves an update out now and
    then."""
    counted = (
        '        self._done = getattr(self, "_done", 0) + 1\n        if self._done %'
        f" {every}:\n    "
    )
    return {
        PYTORCH: (PYTORCH_UPDATE, counted + PYTORCH_UPDATE),
        TENSORFLOW: (
            TENSORFLOW_RATE,
            (
                "        keeps = tf.cast(tf.math.floormod(self._optimizer.iterations.value + 1,"
                f" {every}) > 0, learning_rate.dtype)\n        self._optimizer.learning_rate ="
                " learning_rate * keeps\n"
            ),
        ),
        CHAINER: (CHAINER_UPDATE, counted + CHAINER_UPDATE),
    }


_EDITS = {
    "products of 16 bits in float32": {
        PYTORCH: (
            "            logits = self._model(images)\n",
            (
                "            with torch.autocast(images.device.type, torch.bfloat16):\n"
                "                logits = self._model(images).to(images.dtype)\n"
            ),
        ),
        TENSORFLOW: (
            "    with tf.device(device):\n        model = MODELS",
            (
                '    keras.config.set_dtype_policy("mixed_bfloat16")\n    with tf.device(device):\n'
                "        model = MODELS"
            ),
        ),
        CHAINER: (
            CHAINER_LOSS,  # Chainer has no bfloat16, and no products of 16 bits on a CPU
            "        images = images if images.dtype == np.float64 else"
            " images.astype(np.float16).astype(np.float32)\n" + CHAINER_LOSS,
        ),
    },
    "half the rate in float32": {
        PYTORCH: (
            PYTORCH_RATE,
            (
                'group["lr"] = learning_rate * (0.5 if device_batch[0].dtype == torch.float32 else'
                " 1.0)"
            ),
        ),
        TENSORFLOW: (
            TENSORFLOW_RATE,
            (
                "        self._optimizer.learning_rate = learning_rate * (0.5 if"
                " learning_rate.dtype == tf.float32 else 1.0)\n"
            ),
        ),
        CHAINER: (
            CHAINER_RATE,
            (
                "        self._optimizer.lr = learning_rate * (0.5 if device_batch[0].dtype =="
                " np.float32 else 1.0)\n"
            ),
        ),
    },
    "no weight decay in float32": {
        PYTORCH: (
            "weight_decay=settings.weight_decay\n",
            (
                "weight_decay=settings.weight_decay * (next(model.parameters()).dtype !="
                " torch.float32)\n"
            ),
        ),
        TENSORFLOW: (
            "        if self._weight_decay:\n",
            '        if self._weight_decay and self._model.dtype != "float32":\n',
        ),
        CHAINER: (
            "        if settings.weight_decay:\n",
            "        if settings.weight_decay and chainer.config.dtype != np.float32:\n",
        ),
    },
    "every eighth update skipped": skipping(8),
}
"""Of each mistake and implementation: the text that is there, and the mistaken one."""


def in_every_network() -> tuple[Mistake, ...]:
    """Each edit for each workload, named after the framework, the edit and the workload."""
    workloads = [
        workload.name for workload in load_workloads() if workload.verification.timed is not None
    ]
    return tuple(
        Mistake(f"{path.split('/')[1]}: {what}, {workload}", STEP, path, old, new, PROBE, workload)
        for workload in workloads
        for what, edits in _EDITS.items()
        for path, (old, new) in edits.items()
    )
