"""Tiny real encoders made on the spot, the data folder and the browser; the tests need no network."""

from __future__ import annotations

import os

# Before the first import of transformers or gradio, which read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from sentence_transformers import SentenceTransformer

pytest_plugins = ["loopback_hub"]
ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "data"
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WORDS = (
    "a the an of in on at is are was to and with two three man woman boy girl child dog cat bird horse guitar piano "
    "bread soup apple river mountain street house car train boat ball red blue green small big old young fast slow "
    "plays eats runs sleeps walks sings reads cuts sees rides plan market rain snow sun someone nobody not . , ? !"
).split()
PIECES = ("##s", "##ing", "##ed", "##er", "##ly")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With EXPLORER_FORBID_SKIPS=1 a skipped test fails the whole run, as continuous integration wants it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("EXPLORER_FORBID_SKIPS") == "1" and reporter and reporter.stats.get("skipped"):
        reporter.write_line("\nTests were skipped, which EXPLORER_FORBID_SKIPS=1 counts as a failure.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def absent(what: str, switch: str) -> None:
    """Skips the test for lack of `what`, or fails it where the environment variable `switch` is 1."""
    if os.environ.get(switch) == "1":
        pytest.fail(f"{what}, and {switch}=1 asks for it", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps the tests out of the person's own cache, here and in the processes the tests start."""
    os.environ["EXPLORER_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with stsb/, sick/, snli/ and sts/: EXPLORER_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("EXPLORER_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "stsb" / "dev.tsv").is_file():
        absent(f"no data folder at {folder}", "EXPLORER_REQUIRE_DATA")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: EXPLORER_CHROMIUM, else /usr/bin/chromium."""
    executable = Path(os.environ.get("EXPLORER_CHROMIUM") or "/usr/bin/chromium")
    if not executable.is_file():
        absent(f"no Chromium at {executable}", "EXPLORER_REQUIRE_BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the folder of a random BERT or ALBERT (H 16, 2 layers) with a small WordPiece vocabulary."""
    folders: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp(f"tiny-{family}")
            _save_backbone(folders[family], family)
        return folders[family]

    return make


@pytest.fixture(scope="session")
def tiny_encoder(tiny_backbone: Callable[[str], Path]) -> Callable[[str, str], SentenceTransformer]:
    """Returns a new encoder on a tiny backbone: tiny_encoder("albert", "cnn")."""

    def make(family: str, pooling: str) -> SentenceTransformer:
        from explorer.encoders.build import build_encoder

        encoder = build_encoder(tiny_backbone(family), pooling, max_length=32, seed=1)
        return encoder.eval()

    return make


def _save_backbone(folder: Path, family: str) -> None:
    import torch
    from transformers import AlbertConfig, AlbertModel, BertConfig, BertModel, BertTokenizer

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES]
    names += [letter for letter in letters if letter not in names] + [f"##{letter}" for letter in letters]
    names = list(dict.fromkeys(names))
    vocabulary = {name: number for number, name in enumerate(names)}
    size = {
        "vocab_size": len(vocabulary),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "hidden_act": "gelu",
        "pad_token_id": 0,
        "initializer_range": 0.3,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        if family == "bert":
            model: torch.nn.Module = BertModel(BertConfig(**size))
        else:
            albert = {"embedding_size": 8, "bos_token_id": None, "eos_token_id": None}
            model = AlbertModel(AlbertConfig(**size, **albert))
    model.save_pretrained(folder)
    BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=64).save_pretrained(folder)
