"""Compares with PyTorch if it is installed: torch tensors in and out, every dtype, the corpus."""

from __future__ import annotations

import pathlib

import pytest
from conftest import CORPUS

import pt2

torch = pytest.importorskip("torch")


def test_torch_tensors_come_and_go(examples: pathlib.Path) -> None:
    model = pt2.load(examples / "digits.pt2")
    image = torch.rand(3, 1, 8, 8) * 16
    expected = torch.export.load(examples / "digits.pt2").module()(image)
    found = model(image)
    assert isinstance(found["logits"], torch.Tensor)
    torch.testing.assert_close(found, expected)
    transposed = image.to(memory_format=torch.channels_last)
    torch.testing.assert_close(model(transposed), expected)


def test_tensors_of_subclasses_and_negated_ones(examples: pathlib.Path) -> None:
    class Image(torch.Tensor):
        pass

    model = pt2.load(examples / "digits.pt2")
    image = torch.rand(1, 1, 8, 8)
    found = model(image.as_subclass(Image))["logits"]
    assert isinstance(found, torch.Tensor) and torch.equal(found, model(image)["logits"])
    negated = torch.complex(image, image).conj().imag
    assert negated.is_neg()
    with pytest.raises(pt2.ArgumentError, match="resolve_neg"):
        model(negated)
    assert model(negated.resolve_neg())["logits"].shape == (1, 10)


def test_tensors_that_torch_does_not_export(examples: pathlib.Path) -> None:
    model = pt2.load(examples / "digits.pt2")
    image = torch.rand(1, 1, 8, 8)
    for refused in (image.clone().requires_grad_(), image.to("meta"), image.to_sparse()):
        with pytest.raises(pt2.ArgumentError) as caught:
            model(refused)
        assert caught.value.place == "input 'image'" and isinstance(caught.value.__cause__, BufferError)


def test_every_dtype_crosses_both_ways(corpus: pathlib.Path) -> None:
    for path in sorted(corpus.glob("dtypes_*.pt2")):
        session = pt2.load(path).session()
        state = torch.export.load(path).state_dict
        for name, expected in state.items():
            found = torch.from_dlpack(session[name])
            assert found.dtype == expected.dtype and found.shape == expected.shape
            bits = [each.detach().contiguous().flatten().view(torch.uint8) for each in (found, expected)]
            assert torch.equal(*bits), f"{path.name}: {name}"
            session[name] = expected.detach()


SKIPPED = {"dropout_train"}  # random numbers


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("*.pt2")))
def test_corpus_equals_torch(corpus: pathlib.Path, name: str) -> None:
    if name in SKIPPED:
        pytest.skip("random")
    try:
        program = torch.export.load(corpus / f"{name}.pt2")
    except Exception as error:
        pytest.skip(f"torch does not load it: {type(error).__name__}")
    if program.example_inputs is None:
        pytest.skip("has no example inputs")
    try:
        model = pt2.load(corpus / f"{name}.pt2")
    except pt2.UnsupportedError as error:
        pytest.skip(f"custom operators: {error.message[:40]}")
    args, kwargs = program.example_inputs

    def copied(value: object) -> object:
        tree = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), value)
        return tree

    try:
        expected = program.module()(*copied(args), **copied(kwargs))
    except (SyntaxError, ValueError) as error:
        pytest.skip(f"torch does not run it: {type(error).__name__}")
    found = model(*copied(args), **copied(kwargs))
    left = torch.utils._pytree.tree_leaves(found)
    right = torch.utils._pytree.tree_leaves(expected)
    assert len(left) == len(right)
    for one, other in zip(left, right):
        if isinstance(other, torch.Tensor):
            # If no tensor is passed, results are not torch tensors.
            one = torch.from_dlpack(one)
            assert one.dtype == other.dtype
            torch.testing.assert_close(one, other.detach(), equal_nan=True)
        else:
            assert one == other
