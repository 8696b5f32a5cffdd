"""Fetches files from the Hugging Face hub: one after another, with progress; a cut connection is taken up where it broke off.

Only called when a person names something on the hub; every failure becomes one sentence. Knows nothing of what files mean.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from explorer.errors import ExplorerError
from explorer.paths import hub_allowed

# Called with bytes done and bytes in all; may raise to stop, and files that came whole are kept for the next try.
Progress = Callable[[int, int], None]
Kind = Literal["model", "dataset"]
_PART = r"[A-Za-z0-9](?:[\w.-]{0,94}[\w-])?"
_REPOSITORY = re.compile(f"{_PART}/{_PART}", re.ASCII)
_REVISION = re.compile(r"[\w][\w./-]{0,99}", re.ASCII)
OFFLINE = (
    "the Hugging Face hub is not asked, since HF_HUB_OFFLINE is set (it is unless --hub is given); unset it and start with "
    "--hub to download, or use a folder on this machine"
)


@dataclass(frozen=True)
class RemoteFile:
    """One file of a repository: its path within, and its size in bytes."""

    path: str
    size: int


@dataclass(frozen=True)
class Repository:
    """What a repository holds.

    Args:
        id: owner/name.
        kind: "model" or "dataset".
        commit: The revision's hash; what is fetched is of this commit, whatever happens meanwhile.
        files: All its files.
    """

    id: str
    kind: Kind
    commit: str
    files: tuple[RemoteFile, ...]


def is_repository_id(text: str) -> bool:
    """Whether a text is written like an id of the hub, owner/name, and like no path."""
    return bool(_REPOSITORY.fullmatch(text)) and "--" not in text and ".." not in text


def check_repository_id(text: object, error: type[ExplorerError]) -> str:
    """Returns the id without white space at its ends.

    Raises:
        ExplorerError: Of the kind given: it is not written like an id.
    """
    asked = text.strip() if isinstance(text, str) else ""
    if not is_repository_id(asked):
        raise error(
            f"{repr(text)[:80]} is not an id of the Hugging Face hub; write owner/name, for instance "
            "sentence-transformers/all-MiniLM-L6-v2."
        )
    return asked


def look_up(repository: str, kind: Kind, error: type[ExplorerError], revision: str | None = None) -> Repository:
    """Returns what a repository holds now.

    Args:
        repository: Its id, checked.
        kind: "model" or "dataset".
        error: The kind of error to raise.
        revision: Branch, tag or commit; None for the main branch.

    Raises:
        ExplorerError: The hub may not be asked, cannot be reached, or has no such repository.
    """
    if revision is not None and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise error(f"{revision[:80]!r} is not a revision; give a branch, a tag or a commit.")
    if not hub_allowed():
        raise error(f"{repository}: {OFFLINE}.")
    from huggingface_hub import HfApi

    with _in_words(repository, kind, error):
        api = HfApi()
        ask: Any = api.model_info if kind == "model" else api.dataset_info
        info = ask(repository, revision=revision, files_metadata=True)
        files = tuple(RemoteFile(file.rfilename, file.size or 0) for file in info.siblings or ())
    return Repository(repository, kind, str(info.sha), files)


def fetch(
    repository: Repository,
    paths: Sequence[str],
    error: type[ExplorerError],
    progress: Progress | None = None,
) -> dict[str, Path]:
    """Downloads files, those excepted that are in the hub's own cache; returns where each one is.

    Args:
        repository: As looked up.
        paths: Of files in it.
        error: The kind of error to raise.
        progress: See Progress; counts these files.

    Raises:
        ExplorerError: A file is missing, the connection was cut, or the disk is full.
    """
    from huggingface_hub import hf_hub_download

    sizes = {file.path: file.size for file in repository.files}
    total, done, found = sum(sizes.get(path, 0) for path in paths), 0, {}
    for path in paths:
        count = _Count(done, total, progress)
        with _in_words(f"{repository.id}/{path}", repository.kind, error):
            found[path] = Path(
                hf_hub_download(
                    repository.id,
                    path,
                    repo_type=repository.kind,
                    revision=repository.commit,
                    tqdm_class=_bar_of(count),
                )
            )
        done += sizes.get(path, 0)
        if progress:
            progress(done, total)
    return found


def in_hub_cache(repository: str, kind: Kind, revision: str | None = None) -> Path | None:
    """Returns the folder in the hub's own cache that holds a repository, perhaps in part; asks no host."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, repo_type=kind, revision=revision, local_files_only=True))
    except IncompleteSnapshotError as error:
        return Path(error.snapshot_path)
    except LocalEntryNotFoundError:
        return None


class _Count:
    """Bytes of one file as they come, told to a person's progress."""

    def __init__(self, before: int, total: int, progress: Progress | None) -> None:
        self._before, self._total, self._progress = before, total, progress

    def tell(self, bytes_of_file: int) -> None:
        if self._progress:
            self._progress(min(self._before + bytes_of_file, self._total), self._total)


def _bar_of(count: _Count) -> Any:
    """Returns a class that huggingface_hub takes for a progress bar; it draws nothing."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]
        def __init__(self, *_: Any, initial: int = 0, **__: Any) -> None:
            super().__init__(disable=True)
            self._bytes = initial or 0

        def update(self, n: float | None = 1) -> bool | None:
            self._bytes += int(n or 0)
            count.tell(self._bytes)
            return None

    return Bar


@contextmanager
def _in_words(what: str, kind: Kind, error: type[ExplorerError]) -> Iterator[None]:
    """Turns the hub's many errors into one sentence of the kind a room raises."""
    import huggingface_hub.errors as hub

    try:
        yield
    except hub.GatedRepoError as reason:
        page = "https://huggingface.co/" + ("datasets/" if kind == "dataset" else "") + "/".join(what.split("/")[:2])
        raise error(f"{what} is gated: accept its terms at {page} and log in with `hf auth login`.") from reason
    except hub.RevisionNotFoundError as reason:
        raise error(f"{what} has no such revision; check the branch, tag or commit.") from reason
    except hub.RepositoryNotFoundError as reason:
        raise error(f"There is no {kind} {what} on the hub, or it is private; check the spelling.") from reason
    except hub.DisabledRepoError as reason:
        raise error(f"{what} has been disabled on the hub; choose another.") from reason
    except hub.OfflineModeIsEnabled as reason:
        raise error(f"{what}: {OFFLINE}.") from reason
    except hub.HfHubHTTPError as reason:
        raise error(_refused(what, reason)) from reason
    except (hub.HTTPError, ConnectionError, hub.LocalEntryNotFoundError) as reason:
        raise error(f"{what}: {_unreachable(reason)}; files that came whole are kept, try again.") from reason
    except OSError as reason:
        raise error(_no_room(what, reason)) from reason


def _refused(what: str, error: Any) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 404:
        return f"{what} is missing on the hub; choose another repository."
    if status == 429:
        return f"{what}: the hub says that too much is asked of it (429); try again in a few minutes."
    return f"{what}: the hub answered with an error ({status or type(error).__name__}); try again later."


def _unreachable(error: BaseException) -> str:
    causes: list[str] = []
    found: BaseException | None = error
    while found is not None and len(causes) < 8:
        causes.append(type(found).__name__)
        found = found.__cause__ or found.__context__
    if any("Protocol" in cause or "Read" in cause for cause in causes):
        return "the connection to the hub was cut"
    if any("Timeout" in cause for cause in causes):
        return "the hub did not answer in time"
    return "the hub cannot be reached (is this machine online?)"


def _no_room(what: str, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{what}: the disk is full; free some space and try again."
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"{what} cannot be written ({error.strerror}); set HF_HOME to a folder that can."
    return f"{what} came damaged ({str(error).splitlines()[0][:160]}); try again."
