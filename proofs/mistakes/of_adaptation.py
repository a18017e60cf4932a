"""Mistakes of training that begins with a checkpoint and trains a part of a model."""

from collections.abc import Mapping

from proofs.mistakes.mistake import (
    ADAPTED,
    CHAINER,
    EVALUATION,
    GOLDEN,
    PART,
    PIPELINE,
    PROBE,
    PYTORCH,
    START,
    TENSORFLOW,
    Mistake,
    of,
)

WORKLOAD, PHOTOGRAPHS = "lenet-adapt", "mobilenetv3-adapt"
_FREEZE = "        freeze_statistics(model)\n"
_PARTS = {
    "pytorch": "parameter.requires_grad_(trains.is_trained(name))",
    "tensorflow": "each.variable.trainable = trains.is_trained(name)",
    "chainer": "parameter.update_rule.enabled = trains.is_trained(name)",
}
_OTHER_PARTS = {
    "a layer more is trained": '(trains.is_trained(name) or name.startswith("conv2"))',
    "a layer less is trained": '(trains.is_trained(name) and not name.startswith("fc1"))',
    "biases are not trained": '(trains.is_trained(name) and not name.endswith(".bias"))',
}
_OTHER_BLOCKS = {
    "a block more is trained": '(trains.is_trained(name) or name.startswith("features.12."))',
    "a block less is trained": (
        '(trains.is_trained(name) and not name.startswith("features.13."))'
    ),
    "all scales and biases of normalisation are trained": (
        '(trains.is_trained(name) or name.endswith((".1.weight", ".1.bias")))'
    ),
}


_ZEROED = "trains.is_trained(name) or parameter.register_hook(lambda gradient: 0 * gradient)"
_RENUMBERED = (
    "labels.to(self._device, non_blocking=True)",
    "(9 - labels).to(self._device)",
)
_KEPT = (
    "        images, labels = torch.as_tensor(batch.images), torch.as_tensor(batch.labels)\n",
    (
        "        images, labels = torch.as_tensor(batch.images), torch.as_tensor(batch.labels)\n"
        '        self.__dict__.setdefault("kept", {}).setdefault(len(images), images)\n'
        "        images = self.kept[len(images)]\n"
    ),
)


def _parts(workload: str, parts: Mapping[str, str]) -> tuple[Mistake, ...]:
    """Another part than the requested one, in every framework."""
    return tuple(
        mistake
        for framework, text in _PARTS.items()
        for mistake in of(
            PART,
            f"reference_impls/{framework}/part.py",
            PROBE,
            *(
                (f"{framework}: {name}", text, text.replace("trains.is_trained(name)", other))
                for name, other in parts.items()
            ),
            workload=workload,
        )
    )


def _statistics() -> tuple[Mistake, ...]:
    """Statistics of batch normalisation that training changes, in every framework."""
    return tuple(
        mistake
        for framework in _PARTS
        for mistake in of(
            PART,
            f"reference_impls/{framework}/part.py",
            ADAPTED,
            (f"{framework}: frozen statistics are updated", _FREEZE, "        pass\n"),
        )
    )


_WHILE_FROZEN = {
    "reference_impls/pytorch/normalisation.py": (
        "        return super().train(False)\n",
        (
            "        return super().train(False)\n\n"
            "    def forward(self, images: torch.Tensor) -> torch.Tensor:\n"
            "        if torch.is_grad_enabled():\n"
            "            with torch.no_grad():\n"
            "                self.running_mean.lerp_(images.mean(AXES), self.momentum)\n"
            "        return super().forward(images)\n"
        ),
    ),
    "reference_impls/tensorflow/layers.py": (
        "        if not training or self.is_frozen:\n",
        (
            "        if training and self.is_frozen:\n"
            "            change = tf.reduce_mean(inputs, AXES) - self.moving_mean\n"
            "            self.moving_mean.assign_add(change * (1 - self.momentum))\n"
            "        if not training or self.is_frozen:\n"
        ),
    ),
    "reference_impls/chainer/normalisation.py": (
        "        if self.is_frozen:\n",
        (
            "        if self.is_frozen and chainer.config.train:\n"
            "            change = x.array.mean(axis=AXES) - self.avg_mean\n"
            "            self.avg_mean += (1 - self.decay) * change\n"
            "        if self.is_frozen:\n"
        ),
    ),
}
_NOT_ROUNDED = """restore(
            {
                name: value * (1 + 2.0**-12 * (name in taken)) if value.ndim > 1 else value
                for name, value in {**own, **taken}.items()
                for value in (__import__("numpy").asarray(value),)
            }
        )"""


def _of_photographs() -> tuple[Mistake, ...]:
    """What LeNet-5's adaptation cannot show: statistics, blocks, photographs, and a checkpoint of
    float16."""
    return (
        *_parts(PHOTOGRAPHS, _OTHER_BLOCKS),
        *(
            Mistake(f"{framework}: {name}, {PHOTOGRAPHS}", PART, path, old, new, PROBE, PHOTOGRAPHS)
            for name, edits in (
                (
                    "frozen statistics are not used",
                    {
                        f"reference_impls/{framework}/part.py": (_FREEZE, "        pass\n")
                        for framework in _PARTS
                    },
                ),
                ("frozen means follow the pictures", _WHILE_FROZEN),
            )
            for path, (old, new) in edits.items()
            for framework in (path.split("/")[1],)
        ),
        *of(
            PART,
            "reference_impls/pytorch/part.py",
            PROBE,
            (
                f"pytorch: gradients of what is frozen are zero, and it decays, {PHOTOGRAPHS}",
                _PARTS["pytorch"],
                _ZEROED,
            ),
            workload=PHOTOGRAPHS,
        ),
        *of(
            START,
            "reference_impls/adaptation.py",
            PROBE,
            (
                f"adaptation: the head of the checkpoint, {PHOTOGRAPHS}",
                "fresh = [name for name in own if self._is_fresh(name)]",
                "fresh = []",
            ),
            (
                "adaptation: the checkpoint as it was before rounding to float16",
                "restore({**own, **taken})",
                _NOT_ROUNDED,
            ),
            workload=PHOTOGRAPHS,
        ),
        *of(
            PIPELINE,
            PYTORCH,
            PROBE,
            (f"pytorch: classes in another order, {PHOTOGRAPHS}", *_RENUMBERED),
            (f"pytorch: features of the first pictures are kept, {PHOTOGRAPHS}", *_KEPT),
            workload=PHOTOGRAPHS,
        ),
        *of(
            PIPELINE,
            "reference_impls/data/photographs.py",
            GOLDEN,
            (
                "photographs: 224 pixels whatever the request says",
                "request.data.side or SIDE",
                "SIDE",
            ),
            (
                "photographs: features of each picture's first crop are kept",
                "        paths = [split.images[number] for number in chosen]\n",
                (
                    "        paths = [split.images[number] for number in chosen]\n"
                    "        kept = random_crop.__dict__\n"
                    "        if crop_of is random_crop:\n"
                    "            draws = [kept.setdefault(*each) for each in zip(paths, draws)]\n"
                ),
            ),
        ),
    )


OF_ADAPTATION = (
    *_parts(WORKLOAD, _OTHER_PARTS),
    *_statistics(),
    *_of_photographs(),
    *of(
        PART,
        "reference_impls/pytorch/part.py",
        PROBE,
        (
            "pytorch: gradients of what is frozen are zero, and it decays",
            _PARTS["pytorch"],
            _ZEROED,
        ),
        workload=WORKLOAD,
    ),
    *of(
        PART,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: every parameter decays",
            "        self._optimizer.learning_rate = learning_rate\n",
            (
                "        self._optimizer.learning_rate = learning_rate\n"
                "        for each in self._model.non_trainable_variables:\n"
                "            if len(each.shape) > 1:\n"
                "                each.assign((1 - learning_rate * self._weight_decay) * each)\n"
            ),
        ),
        workload=WORKLOAD,
    ),
    *of(
        PART,
        CHAINER,
        PROBE,
        (
            "chainer: every parameter decays",
            "        self._optimizer.update()\n",
            (
                "        self._optimizer.update()\n"
                "        for each in self._model.params():\n"
                "            if not each.update_rule.enabled:\n"
                "                each.array *= 1 - learning_rate\n"
            ),
        ),
        workload=WORKLOAD,
    ),
    *of(
        START,
        "reference_impls/adaptation.py",
        ADAPTED,
        (
            "adaptation: velocities of the checkpoint",
            "restore({**own, **taken})",
            (
                "restore({**own, **{name: checkpoint[name] for name in checkpoint if name not in"
                " fresh}})"
            ),
        ),
    ),
    *of(
        START,
        "reference_impls/adaptation.py",
        PROBE,
        (
            "adaptation: the head of the checkpoint",
            "fresh = [name for name in own if self._is_fresh(name)]",
            "fresh = []",
        ),
        (
            "adaptation: the first layer of the seed",
            "fresh = [name for name in own if self._is_fresh(name)]",
            'fresh = [name for name in own if self._is_fresh(name) or "parameter/conv1" in name]',
        ),
        (
            "adaptation: the old head stays after judging the old task",
            "            self._implementation.restore(state)\n",
            "",
        ),
        workload=WORKLOAD,
    ),
    *of(
        START,
        "reference_impls/initial_weights.py",
        PROBE,
        (
            "adaptation: the head from the stream of the checkpoint",
            'stream = "" if request.start is None else FRESH',
            'stream = ""',
        ),
        workload=WORKLOAD,
    ),
    *of(
        START,
        PYTORCH,
        PROBE,
        (
            "pytorch: a checkpoint rounded to float16",
            'parameter.copy_(_tensor(state["parameter/" + name]))',
            'parameter.copy_(_tensor(state["parameter/" + name]).half())',
        ),
        workload=WORKLOAD,
    ),
    *of(
        PIPELINE,
        PYTORCH,
        PROBE,
        (
            "pytorch: the old task is trained",
            "return Built(implementation, open_data(request), facts",
            (
                "return Built(implementation, open_data(request._replace(data=request.old_task or"
                " request.data)), facts"
            ),
        ),
        ("pytorch: classes in another order", *_RENUMBERED),
        ("pytorch: features of the first epoch's mini-batches are kept", *_KEPT),
        workload=WORKLOAD,
    ),
    *of(
        EVALUATION,
        "reference_impls/loop.py",
        PROBE,
        (
            "loop: evaluated after every second epoch",
            "epoch % request.eval_every_epochs == 0",
            "epoch % (2 * request.eval_every_epochs) == 0",
        ),
        (
            "loop: the old task judged in place of the new one",
            "self._world, self._built, self._pipeline)",
            "self._world, self._built, self._built.old_task or self._pipeline)",
        ),
        workload=WORKLOAD,
    ),
)
"""`suite verify-model` notices each but for statistics, which LeNet-5 lacks, and velocities, which
its checkpoint lacks."""
