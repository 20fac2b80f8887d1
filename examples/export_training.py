"""Exports one training step of a small classifier, loss and gradients: training.pt2."""

import torch
import torch.nn.functional as F
from torch.export.experimental import _export_forward_backward


class Training(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(2, 32)
        self.classify = torch.nn.Linear(32, 3)

    def forward(self, points, classes):
        logits = self.classify(F.relu(self.hidden(points)))
        return F.cross_entropy(logits, classes), logits.detach()


torch.manual_seed(0)
example = (torch.randn(96, 2), torch.randint(3, (96,)))
program = _export_forward_backward(torch.export.export(Training(), example), joint_loss_index=0)
torch.export.save(program, "training.pt2")
