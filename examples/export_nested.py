"""Exports a program with containers for inputs and result: nested.pt2."""

import torch


class Scores(torch.nn.Module):
    def forward(self, sample, weights):
        image, (low, high) = sample["image"], sample["range"]
        clamped = torch.minimum(torch.maximum(image, low), high)
        totals = [clamped.sum(dim=1) * weight for weight in weights]
        return {"totals": totals, "summary": {"smallest": clamped.amin(), "largest": clamped.amax()}}


torch.manual_seed(0)
sample = {"image": torch.randn(2, 3), "range": (torch.tensor(-1.0), torch.tensor(1.0))}
weights = [torch.tensor(1.0), torch.tensor(0.5)]
batch = torch.export.Dim("batch", min=1, max=1024)
shapes = {"sample": {"image": {0: batch}, "range": (None, None)}, "weights": [None, None]}
program = torch.export.export(Scores(), (sample, weights), dynamic_shapes=shapes)
torch.export.save(program, "nested.pt2")
