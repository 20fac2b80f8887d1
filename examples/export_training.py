"""Exports one training step of the digits classifier, loss and gradients, for a loop that needs no Python.

    python export_training.py [OUTDIR]

Needs what train_digits.py needs. It writes into OUTDIR (default: the folder of this script)

    training.pt2         the step: `image` f32[64, 1, 8, 8], `label` i64[64] -> the loss, the logits, a gradient for each
                         parameter, and the new statistics of the normalisation layers; nothing is trained yet
    digits_images.npz    all images and their labels, as u8: the 1347 for training and the 450 held out

and prints how many held-out images are recognised after the training loop of training.cpp, run in Python.
"""

import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch.export.experimental import _export_forward_backward
from train_digits import DigitClassifier, load_images

EPOCHS = 10
BATCH = 64
RATE = 0.1


class TrainingStep(DigitClassifier):
    def forward(self, image, label):
        logits = super().forward(image)["logits"]
        return F.cross_entropy(logits, label), logits.detach()


def export(model, path):
    example = (torch.zeros(BATCH, 1, 8, 8), torch.zeros(BATCH, dtype=torch.int64))
    program = _export_forward_backward(torch.export.export(model, example), joint_loss_index=0)
    for node in program.graph.nodes:  # stack traces name folders of this machine
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def descend(model, images, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(images)).split(BATCH)[: len(images) // BATCH]:
            loss, _ = model(images[chosen], labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = TrainingStep().train()
    export(model, os.path.join(out, "training.pt2"))

    train_images, test_images, train_labels, test_labels = load_images()
    parts = dict(train_images=train_images, train_labels=train_labels, test_images=test_images, test_labels=test_labels)
    np.savez_compressed(
        os.path.join(out, "digits_images.npz"), **{name: part.numpy().astype(np.uint8) for name, part in parts.items()}
    )
    descend(model, train_images, train_labels)
    model.eval()
    _, logits = model(test_images, test_labels)
    print(f"{int((logits.argmax(1) == test_labels).sum())} of {len(test_labels)} held-out digits right")


if __name__ == "__main__":
    main()
