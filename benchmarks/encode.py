"""Prints our encode path against sentence-transformers' default encode, and the CNN head's share of the time.

Both run in this process on the same encoder and the same sentences, in turn, several times; each figure is a median.

    python -m benchmarks.encode --data ../shared/data
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from explorer.analysis.similarity import cosine_of_pairs
from explorer.analysis.sts import correlate
from explorer.data.tables import read_pairs
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.encode import Precision, encode, resolve_precision
from explorer.encoders.registry import Registry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with stsb/test.tsv")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoders", default="bert-mean,bert-cnn,albert-mean,albert-cnn")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{torch.get_num_threads()} thread(s), {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}")
    registry = Registry()
    names = options.encoders.split(",")
    for name in names:
        compare_encode(registry, name, options.data / "stsb" / "test.tsv", options.rounds)
    for name in names:
        if registry.info(name).pooling == "cnn":
            head_share(registry, name)


def compare_encode(registry: Registry, name: str, table: Path, rounds: int) -> None:
    pairs = read_pairs(table)
    texts = [*pairs["sentence1"], *pairs["sentence2"]]
    encoder = registry.load(name)
    runs: dict[str, Callable[[], np.ndarray]] = {
        "sentence-transformers": lambda: encoder.encode(texts, show_progress_bar=False),
        "ours": lambda: encode(encoder, texts),
    }
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {key: [] for key in runs}
    vectors: dict[str, np.ndarray] = {}
    for _ in range(rounds):
        for key, run in runs.items():
            start = time.perf_counter()
            vectors[key] = run()
            seconds[key].append(time.perf_counter() - start)
    ratios = [theirs / ours for theirs, ours in zip(*seconds.values(), strict=True)]
    n = len(pairs)
    spearman = {
        key: correlate(cosine_of_pairs(v[:n], v[n:]), pairs["score"]).spearman or 0 for key, v in vectors.items()
    }
    rate = {key: len(texts) / statistics.median(value) for key, value in seconds.items()}
    print(
        f"{name}: {len(texts):,} sentences, {len(set(texts)):,} distinct; sentence-transformers "
        f"{rate['sentence-transformers']:.0f} sentences/s (float32), ours {rate['ours']:.0f} "
        f"({resolve_precision(Precision.AUTO)}): {statistics.median(ratios):.2f} times as fast "
        f"({min(ratios):.2f} to {max(ratios):.2f}); smallest cosine between the two "
        f"{cosine_of_pairs(*vectors.values()).min():.6f}; Spearman {spearman['sentence-transformers']:.3f} and "
        f"{spearman['ours']:.3f}, apart {abs(spearman['sentence-transformers'] - spearman['ours']):.3f}"
    )


def head_share(registry: Registry, name: str) -> None:
    """Prints the head's time as a share of the backbone's, beside plain Conv2d's, and how far the two results are apart."""
    encoder = registry.load(name)
    for length in (8, 16, 32, 64):
        print(name + ",", *head_at(encoder[0], encoder[1], length))


def head_at(backbone: torch.nn.Module, head: CNNPooling, length: int, batch: int = 32) -> list[str]:
    ids = torch.randint(1000, 20000, (batch, length), generator=torch.Generator().manual_seed(0))
    features = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    with torch.inference_mode():
        states = backbone(dict(features))["token_embeddings"]
        apart = (head(_with(features, states))["sentence_embedding"] - conv2d(head, states)).abs().max()
    steps = (
        lambda: backbone(dict(features)),
        lambda: head(_with(features, states)),
        lambda: conv2d(head, states),
    )
    parts = [f"T = {length}, batch {batch}:"]
    for dtype in (torch.float32, torch.bfloat16):
        base, ours, plain = _median_seconds(steps, dtype)
        parts.append(f"{str(dtype)[6:]} head {ours / base:.2f} of the backbone (plain Conv2d {plain / base:.2f}),")
    return [*parts, f"largest difference to Conv2d {apart:.1e}"]


def conv2d(head: CNNPooling, states: torch.Tensor) -> torch.Tensor:
    """The paper's figure as it would be written plainly, on (B, C, T, H), without a mask."""
    x = states.unsqueeze(1)
    for convolution in head.convolutions:
        x = functional.max_pool2d(x, (2, 1), ceil_mode=True)
        kernel = convolution.kernel_size[0]
        x = torch.tanh(functional.conv2d(x, convolution.weight[..., None], convolution.bias, padding=(kernel // 2, 0)))
    return x.mean(2)[:, 0]


def _with(features: dict[str, torch.Tensor], states: torch.Tensor) -> dict[str, torch.Tensor]:
    return {**features, "token_embeddings": states}


def _median_seconds(steps: tuple[Callable[[], object], ...], dtype: torch.dtype, rounds: int = 15) -> list[float]:
    """Runs the steps in turn, so that a change of the machine's speed meets all of them alike."""
    seconds: list[list[float]] = [[] for _ in steps]
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
        for turn in range(rounds + 2):
            for step, record in zip(steps, seconds, strict=True):
                start = time.perf_counter()
                step()
                if turn >= 2:
                    record.append(time.perf_counter() - start)
    return [statistics.median(record) for record in seconds]


if __name__ == "__main__":
    main()
