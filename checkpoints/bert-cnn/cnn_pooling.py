"""The CNN sentence layer of arXiv 2101.10642 (figure 2), masked: padding never changes a sentence's vector.

It holds the one forward pass that makes both the embedding and the activations the explorer shows; no hooks, no second
copy. It knows nothing of tokenizers or backbones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import torch
from sentence_transformers.base.modules import Module
from torch import Tensor, nn

CHANNELS = (1, 32, 64, 128, 128, 1)
KERNEL_SIZES = (1, 5, 3, 3, 1)
# A run of sentences whose activations stay in the processor's cache; more at once is up to twice as slow.
_TOKENS_AT_ONCE = 256


@dataclass(frozen=True)
class CNNActivations:
    """What one forward pass of CNNPooling computed.

    Args:
        layers: Five tensors (B, C_l, T_l, H) float in [-1, 1]: the tanh outputs, zero where masked; C_l is 32, 64, 128,
            128, 1 and T_l = ceil(T_{l-1} / 2) with T_0 = T.
        masks: Five tensors (B, T_l) bool, true where a position saw at least one real token.
        embedding: (B, H) float, the mean of the last layer over its unmasked positions.
    """

    layers: tuple[Tensor, ...]
    masks: tuple[Tensor, ...]
    embedding: Tensor


class CNNPooling(Module):
    """Five blocks of max pooling, a convolution along the tokens, and tanh; then the mean over what is left of T.

    The last hidden states are read as a one-channel image (B, 1, T, H). Every convolution has a kernel of k tokens by
    one hidden dimension, so no filter mixes hidden dimensions and the embedding keeps the backbone's width H. The paper
    does not state the pooling window, stride, padding or mask; here: window 2, stride 2 along T, ceil mode; padding
    k // 2; masked positions are -inf for a maximum, zero for a convolution, and left out of the mean. With the default
    channels: 84,481 parameters.

    Args:
        embedding_dimension: H, the backbone's hidden size.
        channels: Channels of the input and of each block's output.
        kernel_sizes: Odd kernel length of each block, in positions.

    Source: Choi, Kim, Joe, Gwon 2021, arXiv 2101.10642, figure 2.
    """

    config_keys = ["embedding_dimension", "channels", "kernel_sizes"]

    def __init__(
        self,
        embedding_dimension: int,
        channels: list[int] | tuple[int, ...] = CHANNELS,
        kernel_sizes: list[int] | tuple[int, ...] = KERNEL_SIZES,
    ) -> None:
        super().__init__()
        if len(channels) != len(kernel_sizes) + 1 or any(k % 2 == 0 for k in kernel_sizes):
            raise ValueError(f"Need one odd kernel size a block; got channels {channels}, kernel sizes {kernel_sizes}.")
        self.embedding_dimension = embedding_dimension
        self.channels = list(channels)
        self.kernel_sizes = list(kernel_sizes)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(inner, outer, k, padding=k // 2)
            for (inner, outer), k in zip(pairwise(channels), kernel_sizes, strict=True)
        )
        for name, parameter in self.convolutions.named_parameters():
            (nn.init.xavier_uniform_ if name.endswith("weight") else nn.init.zeros_)(parameter)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Adds sentence_embedding (B, H) to the features, from token_embeddings (B, T, H) and attention_mask (B, T)."""
        tokens = features["token_embeddings"]
        mask = features["attention_mask"].bool()
        # Sentences of like length go together, and padding that a group does not need is cut off.
        lengths = (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(1).clamp_min(1)
        lengths, order = lengths.sort()
        size = max(1, _TOKENS_AT_ONCE // tokens.shape[1])
        parts = []
        for rows, group in zip(order.split(size), lengths.split(size), strict=True):
            longest = int(group[-1])
            parts.append(self._run(tokens[rows, :longest], mask[rows, :longest]).embedding)
        features["sentence_embedding"] = torch.cat(parts)[order.argsort()]
        return features

    def activations(self, token_embeddings: Tensor, attention_mask: Tensor) -> CNNActivations:
        """Returns every layer's activations from the same pass that makes the embedding.

        Args:
            token_embeddings: (B, T, H) float, T at least 1.
            attention_mask: (B, T) int or bool, 1 on real tokens.
        """
        return self._run(token_embeddings, attention_mask, keep=True)

    def resume(self, layer: int, convolved: Tensor) -> Tensor:
        """Returns the embedding (B, H) float that follows from one layer's convolution, without running what is before it.

        Args:
            layer: The layer the values belong to, 1 to the number of blocks.
            convolved: (T_l, B, H, C_l) float, contiguous: that layer's output before tanh, sentences of one length.
        """
        return self._blocks(convolved, None, layer).embedding

    def _run(self, tokens: Tensor, attention_mask: Tensor, keep: bool = False) -> CNNActivations:
        device = tokens.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tokens.dtype
        # Positions first and channels last: each tap of a convolution is then one matrix product over contiguous rows,
        # two to four times as fast on a CPU as Conv2d over (B, C, T, H).
        z = tokens.to(dtype).transpose(0, 1).unsqueeze(-1).contiguous()  # (T, B, H, 1)
        mask = None if bool(attention_mask.all()) else attention_mask.bool().T
        with torch.autocast(device, enabled=False):
            result = self._blocks(z, mask, 0, keep)
        return CNNActivations(result.layers, result.masks, result.embedding.to(tokens.dtype))

    def _blocks(self, z: Tensor, mask: Tensor | None, done: int, keep: bool = False) -> CNNActivations:
        """Runs the blocks after the first `done`, from their last convolution (T, B, H, C) (the tokens when 0)."""
        layers, masks = [], []
        for index, convolution in enumerate(list(self.convolutions)[done:], start=done):
            z, mask = max_pool(z, mask)
            # tanh never decreases, so the tanh of a maximum is the maximum of the tanhs, at half the work.
            z = z if index == 0 else torch.tanh(z)
            if mask is not None:
                z = z.masked_fill(~mask[..., None, None], 0.0)
            weight, bias = convolution.parameters()
            z = convolve(z, weight.to(z.dtype), bias.to(z.dtype))
            if keep:
                layers.append(_shown(torch.tanh(z), mask))
                masks.append(mask.T if mask is not None else z.new_ones(z.shape[1::-1], dtype=torch.bool))
        return CNNActivations(tuple(layers), tuple(masks), _mean(torch.tanh(z[..., 0]), mask))

    def get_embedding_dimension(self) -> int:
        """Returns H, the width of the sentence embedding."""
        return self.embedding_dimension

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Writes config.json and model.safetensors into `output_path`."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        init_defaults: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Builds the module from the folder written by `save`."""
        hub: dict[str, Any] = {
            "subfolder": subfolder,
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        module = cls(**{**(init_defaults or {}), **cls.load_config(model_name_or_path, **hub)})
        return cls.load_torch_weights(model_name_or_path, model=module, **hub)


def max_pool(z: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Window 2, stride 2, ceil mode along the first axis; a window without a real token stays masked."""
    if mask is not None:
        z = z.masked_fill(~mask[..., None, None], float("-inf"))
        mask = _pairs(mask, torch.logical_or)
    return _pairs(z, torch.maximum), mask


def _pairs(x: Tensor, combine: Any) -> Tensor:
    even = len(x) - len(x) % 2
    pooled = combine(x[:even:2], x[1:even:2])
    return pooled if even == len(x) else torch.cat([pooled, x[even:]])


def convolve(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolution along the first axis with 'same' zero padding: one matrix product a tap, none over padding.

    Args:
        x: (T, B, H, C_in).
        weight: (C_out, C_in, k), as in nn.Conv1d.
        bias: (C_out,).

    Returns:
        (T, B, H, C_out), equal to Conv2d with a (k, 1) kernel.
    """
    length, batch, hidden, inner = x.shape
    rows = batch * hidden
    outer, _, kernel = weight.shape
    centre = kernel // 2
    flat = x.view(length * rows, inner)
    if inner == 1 and kernel == 1:
        return x * weight[:, 0, 0] + bias
    out = torch.addmm(bias, flat, weight[:, :, centre].T)
    for tap in range(kernel):
        shift = tap - centre
        if shift == 0 or abs(shift) >= length:
            continue
        first, last = max(0, -shift), length - max(0, shift)
        source = flat[(first + shift) * rows : (last + shift) * rows]
        out[first * rows : last * rows].addmm_(source, weight[:, :, tap].T)
    return out.view(length, batch, hidden, outer)


def _shown(activation: Tensor, mask: Tensor | None) -> Tensor:
    """(T, B, H, C) to (B, C, T, H), zero where masked."""
    if mask is not None:
        activation = activation.masked_fill(~mask[..., None, None], 0.0)
    return activation.permute(1, 3, 0, 2)


def _mean(activation: Tensor, mask: Tensor | None) -> Tensor:
    """(T, B, H) to (B, H): the mean over unmasked positions, zero for a sentence without any; summed in float32."""
    activation = activation.float()
    if mask is None:
        return activation.mean(0)
    keep = mask.unsqueeze(-1)
    return (activation * keep).sum(0) / keep.sum(0).clamp_min(1)
