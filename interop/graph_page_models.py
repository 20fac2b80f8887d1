"""Models that graph_page.py draws, of different kinds; needs torch and torchvision. Weights are random."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin, mask):
        b, s, w = x.shape

        def split(y):
            return y.view(b, s, self.heads, w // self.heads).transpose(1, 2)

        def rotate(y):
            a, c = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-c, a), dim=-1) * sin

        q, k, v = rotate(split(self.q_proj(x))), rotate(split(self.k_proj(x))), split(self.v_proj(x))
        scores = q @ k.transpose(2, 3) * (w // self.heads) ** -0.5 + mask
        y = F.softmax(scores, dim=-1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(b, s, w))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate_proj = nn.Linear(width, 2 * width, bias=False)
        self.up_proj = nn.Linear(width, 2 * width, bias=False)
        self.down_proj = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.input_norm, self.post_norm = RmsNorm(width), RmsNorm(width)
        self.attention, self.mlp = Attention(width, heads), Mlp(width)

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.input_norm(x), cos, sin, mask)
        return x + self.mlp(self.post_norm(x))


class Decoder(nn.Module):
    def __init__(self, layers, width=16, heads=2, words=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.half = width // heads

    def forward(self, ids):
        s = ids.shape[1]
        x = self.embed(ids)
        t = torch.arange(s)
        angle = t[:, None] / 10000 ** (torch.arange(0, self.half, 2) / self.half)
        cos, sin = torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()
        mask = torch.full((s, s), float("-inf")).triu(1)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.head(self.norm(x))


def encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.Sequential(nn.Embedding(64, 32), nn.TransformerEncoder(layer, 12, enable_nested_tensor=False),
                         nn.Linear(32, 2))


def export(folder):
    torch.manual_seed(0)
    models = torchvision.models
    ids, image = torch.randint(0, 64, (1, 8)), torch.randn(1, 3, 64, 64)
    segmenter = models.segmentation.lraspp_mobilenet_v3_large
    for name, module, argument in [
        ("decoder_4", Decoder(4), ids),
        ("resnet50", models.resnet50(), image),
        ("encoder", encoder(), ids),
        ("mobilenet_v3", models.mobilenet_v3_small(), image),
        ("googlenet", models.googlenet(init_weights=False, aux_logits=False), image),
        ("densenet", models.densenet121(), image),
        ("swin", models.swin_t(), image),
        ("segmenter", segmenter(weights=None, weights_backbone=None), image),
        ("lstm", nn.LSTM(8, 16, 2, bidirectional=True), torch.randn(5, 1, 8)),
        ("decoder_330", Decoder(330), ids),  # 16,000 nodes; takes ten minutes
    ]:
        program = torch.export.export(module.eval(), (argument,))
        torch.export.save(program, f"{folder}/{name}.pt2")
        print(name, len(program.graph.nodes), flush=True)
