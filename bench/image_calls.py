"""Calls of operators on images, for operators_bench.py."""
import torch
import torch.nn.functional as F
from torch import nn

from call_inputs import BFLOAT16, FLOAT64, HALVES, grid, indices, layer, name_of, random


def resize(mode, size, antialias=False):
    return lambda x: F.interpolate(x, size=(size, size), mode=mode, antialias=antialias)


def images():
    image = random(1, 32, 64, 64)
    photo = torch.rand(1, 3, 480, 640)
    yield "grid_sample bilinear", F.grid_sample, image, grid(64, 64)
    yield "grid_sample nearest", lambda x, g: F.grid_sample(x, g, mode="nearest"), image, grid(64, 64)
    yield "grid_sample bicubic", lambda x, g: F.grid_sample(x, g, mode="bicubic"), image, grid(64, 64)
    yield "grid_sample border", lambda x, g: F.grid_sample(x, g, padding_mode="border"), photo, grid(224, 224)
    yield "grid_sample volume", F.grid_sample, random(1, 8, 16, 32, 32), grid(16, 32, 32)
    yield "affine_grid", lambda m: F.affine_grid(m, (4, 3, 64, 64)), random(4, 2, 3)
    yield "interpolate nearest", resize("nearest", 128), image
    yield "interpolate bilinear", resize("bilinear", 128), image
    yield "interpolate bicubic", resize("bicubic", 128), image
    yield "interpolate photo", resize("bilinear", 224), photo
    yield "interpolate antialias", resize("bilinear", 224, True), photo
    yield "interpolate bicubic antialias", resize("bicubic", 224, True), photo
    yield "interpolate linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), random(1, 64, 1000)
    yield "interpolate trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), random(1, 8, 16, 32, 32)
    yield "interpolate bilinear bfloat16", resize("bilinear", 128), image.bfloat16()
    yield "interpolate nearest bfloat16", resize("nearest", 128), image.bfloat16()
    yield "max_pool2d", nn.MaxPool2d(3, 2, 1), random(1, 64, 112, 112)
    yield "max_pool2d of 2", nn.MaxPool2d(2), random(1, 64, 112, 112)
    yield "max_pool2d bfloat16", nn.MaxPool2d(3, 2, 1), random(1, 64, 112, 112, dtype=BFLOAT16)
    yield "max_pool2d with indices", lambda x: F.max_pool2d(x, 2, return_indices=True), random(1, 64, 112, 112)
    yield "avg_pool2d", nn.AvgPool2d(2), random(1, 64, 112, 112)
    yield "avg_pool2d bfloat16", nn.AvgPool2d(2), random(1, 64, 112, 112, dtype=BFLOAT16)
    yield "adaptive_avg_pool2d", nn.AdaptiveAvgPool2d(1), random(1, 512, 7, 7)
    yield "adaptive_avg_pool2d of 7", nn.AdaptiveAvgPool2d(7), random(1, 256, 30, 30)
    yield "adaptive_max_pool2d", nn.AdaptiveMaxPool2d(7), random(1, 256, 28, 28)
    yield "max_pool1d", nn.MaxPool1d(2), random(8, 64, 1000)
    yield "max_pool3d", nn.MaxPool3d(2), random(1, 16, 32, 32, 32)
    yield "avg_pool3d", nn.AvgPool3d(2), random(1, 16, 32, 32, 32)
    yield "pixel_shuffle", nn.PixelShuffle(2), random(1, 64, 64, 64)
    yield "pad reflect", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), random(1, 3, 224, 224)
    yield "pad constant", lambda x: F.pad(x, (1, 1, 1, 1)), image
    yield "unfold 3x3", nn.Unfold(3, padding=1), image
    yield "fold 3x3", nn.Fold((64, 64), 3, padding=1), random(1, 288, 4096)
    yield "flip", lambda x: x.flip(-1), photo
    yield "roll", lambda x: x.roll((3, 3), (1, 2)), random(1, 56, 56, 96)


def convolutions():
    yield "conv2d 3x3", *layer(nn.Conv2d(64, 64, 3, padding=1), 1, 64, 56, 56)
    yield "conv2d 3x3 stride 2", *layer(nn.Conv2d(64, 128, 3, 2, 1), 1, 64, 56, 56)
    yield "conv2d 1x1", *layer(nn.Conv2d(256, 64, 1), 1, 256, 56, 56)
    yield "conv2d 7x7 stem", *layer(nn.Conv2d(3, 64, 7, 2, 3), 1, 3, 224, 224)
    yield "conv2d patches", *layer(nn.Conv2d(3, 768, 16, 16), 1, 3, 224, 224)
    yield "conv2d depthwise", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=128), 1, 128, 28, 28)
    yield "conv2d depthwise 7x7", *layer(nn.Conv2d(96, 96, 7, padding=3, groups=96), 1, 96, 56, 56)
    yield "conv2d grouped", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=32), 1, 128, 56, 56)
    yield "conv2d dilated", *layer(nn.Conv2d(64, 64, 3, padding=4, dilation=4), 1, 64, 56, 56)
    yield "conv2d dilated over the border", *layer(nn.Conv2d(256, 64, 3, padding=12, dilation=12), 1, 256, 16, 16)
    yield "conv2d few channels", *layer(nn.Conv2d(8, 8, 3, padding=1), 1, 8, 64, 64)
    yield "conv2d one result", *layer(nn.Conv2d(64, 1, 3, padding=1), 1, 64, 56, 56)
    yield "conv2d batch 8", *layer(nn.Conv2d(64, 64, 3, padding=1), 8, 64, 28, 28)
    yield "conv2d of weights computed", lambda x, w: F.conv2d(x, w, padding=1), random(1, 64, 28, 28), random(64, 64, 3, 3)
    yield "conv2d reflect", *layer(nn.Conv2d(32, 32, 3, padding=1, padding_mode="reflect"), 1, 32, 64, 64)
    yield "conv_transpose2d", *layer(nn.ConvTranspose2d(128, 64, 4, 2, 1), 1, 128, 28, 28)
    yield "conv_transpose2d of 2", *layer(nn.ConvTranspose2d(128, 64, 2, 2), 1, 128, 28, 28)
    yield "conv_transpose2d depthwise", *layer(nn.ConvTranspose2d(64, 64, 4, 2, 1, groups=64), 1, 64, 28, 28)
    yield "conv_transpose1d", *layer(nn.ConvTranspose1d(128, 64, 16, 8, 4), 1, 128, 200)
    yield "conv_transpose3d", *layer(nn.ConvTranspose3d(32, 16, 2, 2), 1, 32, 8, 16, 16)
    yield "conv1d", *layer(nn.Conv1d(128, 128, 3, padding=1), 1, 128, 500)
    yield "conv1d stem", *layer(nn.Conv1d(1, 64, 10, 5), 1, 1, 16000)
    yield "conv1d dilated", *layer(nn.Conv1d(64, 64, 3, padding=8, dilation=8), 1, 64, 1000)
    yield "conv1d depthwise", *layer(nn.Conv1d(256, 256, 31, padding=15, groups=256), 1, 256, 200)
    yield "conv1d causal depthwise", *layer(nn.Conv1d(1024, 1024, 4, padding=3, groups=1024), 1, 1024, 128)
    yield "conv3d", *layer(nn.Conv3d(16, 32, 3, padding=1), 1, 16, 16, 28, 28)
    yield "conv3d depthwise", *layer(nn.Conv3d(32, 32, 3, padding=1, groups=32), 1, 32, 8, 28, 28)
    yield "conv3d stem", *layer(nn.Conv3d(3, 32, 3, (1, 2, 2), 1), 1, 3, 8, 112, 112)
    for dtype in HALVES:
        name = name_of(dtype)
        yield f"conv2d 3x3 {name}", *layer(nn.Conv2d(64, 64, 3, padding=1), 1, 64, 56, 56, dtype=dtype)
        yield f"conv2d 1x1 {name}", *layer(nn.Conv2d(256, 64, 1), 1, 256, 56, 56, dtype=dtype)
        yield f"conv2d depthwise {name}", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=128), 1, 128, 28, 28, dtype=dtype)
        yield f"conv1d {name}", *layer(nn.Conv1d(128, 128, 3, padding=1), 1, 128, 500, dtype=dtype)
        yield f"conv_transpose2d {name}", *layer(nn.ConvTranspose2d(128, 64, 4, 2, 1), 1, 128, 28, 28, dtype=dtype)
    yield "conv2d 3x3 float64", *layer(nn.Conv2d(32, 32, 3, padding=1), 1, 32, 28, 28, dtype=FLOAT64)


def resizing():
    """Pooling in one dimension, images of uint8 and float64."""
    signal, image = random(8, 64, 1000), random(1, 32, 64, 64)
    yield "max_pool1d of 3", nn.MaxPool1d(3, 2, 1), signal
    yield "max_pool1d with indices", lambda x: F.max_pool1d(x, 2, return_indices=True), signal
    yield "avg_pool1d", nn.AvgPool1d(4), signal
    yield "adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(10), signal
    yield "adaptive_max_pool1d", nn.AdaptiveMaxPool1d(1), signal
    yield "lp_pool2d", lambda x: F.lp_pool2d(x, 2, 2), image
    yield "max_pool2d float64", nn.MaxPool2d(2), random(1, 64, 56, 56, dtype=FLOAT64)
    yield "avg_pool2d float64", nn.AvgPool2d(2), random(1, 64, 56, 56, dtype=FLOAT64)
    yield "avg_pool2d of 3", nn.AvgPool2d(3, 1, 1), image
    yield "max_pool2d of 5", nn.MaxPool2d(5, 1, 2), random(1, 128, 20, 20)
    yield ("fractional_max_pool2d", lambda x, r: F.fractional_max_pool2d(x, 2, output_size=(32, 32), _random_samples=r),
           image, torch.rand(1, 32, 2))
    yield "max_unpool2d", lambda x, i: F.max_unpool2d(x, i, 2), *F.max_pool2d(random(1, 32, 64, 64), 2, return_indices=True)
    yield "adaptive_avg_pool3d", nn.AdaptiveAvgPool3d(1), random(1, 256, 4, 7, 7)
    photo = indices(256, 1, 3, 480, 640).to(torch.uint8)
    yield "resize uint8", lambda x: F.interpolate(x, size=(224, 224), mode="bilinear", antialias=True), photo
    yield "resize uint8 plain", lambda x: F.interpolate(x, size=(224, 224), mode="bilinear"), photo
    yield "resize uint8 nearest", lambda x: F.interpolate(x, size=(224, 224), mode="nearest"), photo
    yield "uint8 to unit", lambda x: x.float() / 255, photo
    yield "preprocess", lambda x: (F.interpolate(x, size=(224, 224), mode="bilinear", antialias=True).float() / 255
                                   - torch.tensor([0.4, 0.5, 0.5])[:, None, None]) / torch.tensor([0.2, 0.2, 0.3])[:, None, None], photo
    yield "preprocess channels last", lambda x: x.permute(0, 3, 1, 2).float().div(255), indices(256, 1, 224, 224, 3).to(torch.uint8)
    yield "to uint8", lambda x: (x * 255).clamp(0, 255).round().to(torch.uint8), torch.rand(3, 224, 224)
    yield "grid_sample float64", F.grid_sample, image.double(), grid(64, 64).double()
    yield "interpolate area", resize("area", 32), image
    yield "interpolate nearest-exact", resize("nearest-exact", 96), image
    yield "interpolate bilinear corners", lambda x: F.interpolate(x, size=(128, 128), mode="bilinear", align_corners=True), image
    yield "interpolate bilinear float64", resize("bilinear", 128), image.double()
    yield "grey", lambda x: (x * torch.tensor([0.3, 0.6, 0.1])[:, None, None]).sum(1), torch.rand(1, 3, 480, 640)
    yield "fold of frames", nn.Fold((1, 4000), (1, 400), stride=(1, 100)), random(1, 400, 37)
    yield "unfold of kernel", nn.Unfold(4, stride=4), random(1, 3, 224, 224)


def vision():
    import torchvision

    boxes = torch.rand(1000, 4) * 50
    boxes[:, 2:] += boxes[:, :2]
    regions = torch.cat((torch.zeros(64, 1), boxes[:64]), 1)
    yield "roi_align", lambda x, r: torchvision.ops.roi_align(x, r, 7, 1.0, 2), random(1, 64, 64, 64), regions
    yield "roi_pool", lambda x, r: torchvision.ops.roi_pool(x, r, 7), random(1, 64, 64, 64), regions
    yield "nms", lambda b, s: torchvision.ops.nms(b, s, 0.5), boxes, torch.rand(1000)
    yield "box_iou", torchvision.ops.box_iou, boxes[:300], boxes[300:600]
    yield ("deform_conv2d", lambda x, o, w: torchvision.ops.deform_conv2d(x, o, w, padding=1), random(1, 32, 28, 28),
           random(1, 18, 28, 28), random(32, 32, 3, 3))


KINDS = images, convolutions, resizing, vision
