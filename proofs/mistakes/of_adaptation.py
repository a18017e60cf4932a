"""Mistakes of training that begins with a checkpoint and trains a part of a model."""

from proofs.mistakes.mistake import (
    ADAPTED,
    CHAINER,
    EVALUATION,
    PART,
    PIPELINE,
    PROBE,
    PYTORCH,
    START,
    TENSORFLOW,
    Mistake,
    of,
)

WORKLOAD = "lenet-adapt"
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


def _parts() -> tuple[Mistake, ...]:
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
                for name, other in _OTHER_PARTS.items()
            ),
            workload=WORKLOAD,
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


OF_ADAPTATION = (
    *_parts(),
    *_statistics(),
    *of(
        PART,
        "reference_impls/pytorch/part.py",
        PROBE,
        (
            "pytorch: gradients of what is frozen are zero, and it decays",
            _PARTS["pytorch"],
            ("trains.is_trained(name) or parameter.register_hook(lambda gradient: 0 * gradient)"),
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
        (
            "pytorch: classes in another order",
            "labels.to(self._device, non_blocking=True)",
            "(9 - labels).to(self._device)",
        ),
        (
            "pytorch: features of the first epoch's mini-batches are kept",
            (
                "        images, labels = torch.as_tensor(batch.images),"
                " torch.as_tensor(batch.labels)\n"
            ),
            (
                "        images, labels = torch.as_tensor(batch.images),"
                " torch.as_tensor(batch.labels)\n"
                '        self.__dict__.setdefault("kept", {}).setdefault(len(images), images)\n'
                "        images = self.kept[len(images)]\n"
            ),
        ),
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
