"""Find the first commits of repositories without a remote in the background: by these they are known where they were copied."""

from __future__ import annotations

import asyncio
import logging

from hermes_memory_bridge.runtime.project_reader import run_in_daemon_thread
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.errors import StoreError
from hermes_memory_store.projects.repository_choice import find_root_commit

log = logging.getLogger(__name__)


async def find_wanted_root_commits(worker: StoreWorker) -> None:
    """Find the first commits that are wanted, one after the other; run until cancelled."""
    while True:
        common, commit = await worker.projects.without_root.get()
        try:
            await search_root_commit(worker, common, commit)
        except StoreError as error:
            log.error("a first commit could not be noted: %s", error.message)


async def search_root_commit(worker: StoreWorker, common: str, commit: str) -> None:
    """Find the first commit of a repository, unless its project is known by more than paths, and note it.

    :raises StoreError: it could not be noted
    """
    if not await worker.read(lambda store: store.projects.lacks_root(common)):
        return
    root = await run_in_daemon_thread(lambda: find_root_commit(common, commit))
    if root is not None:
        await worker.write(lambda store: store.projects.note_root(common, root))
        await asyncio.to_thread(worker.forget_projects)  # projects may have joined: readers know them by old names
