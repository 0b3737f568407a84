"""An agent host in a process of its own: the real loader and manager of hermes-agent where they can be imported, else a stand-in.

Standard library only, since it runs under any interpreter. Commands come as JSON lines on standard input; each is answered
with a line: what came of it, and how many milliseconds the hooks took.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HOME = os.environ["HERMES_HOME"]
NAME = "hermes-memory"

real = importlib.util.find_spec("agent") is not None and not os.environ.get("STAND_IN")


class Real:
    def __init__(self):
        from agent.memory_manager import MemoryManager
        from plugins.memory import load_memory_provider

        self.provider = load_memory_provider(NAME)
        self.manager = MemoryManager()
        self.manager.add_provider(self.provider)
        self.store = None

    def memory(self, args):
        from tools.memory_tool import MemoryStore, memory_tool

        if self.store is None:
            self.store = MemoryStore()
            self.store.load_from_disk()
        result = memory_tool(store=self.store, **args)
        return result, lambda: self.manager.notify_memory_tool_write(
            result, args, build_metadata=lambda: {"session_id": "s1", "tool_name": "memory"}
        )


class StandIn:
    """The calling order of hermes-agent 0.19, without it."""

    def __init__(self):
        self.provider = loaded()
        self.manager = self
        self.pool = ThreadPoolExecutor(1)
        self.provider.get_tool_schemas()

    def initialize_all(self, session_id, **kwargs):
        self.provider.initialize(session_id=session_id, hermes_home=HOME, **kwargs)

    def memory(self, args):
        for op in args.get("operations") or [args]:
            self.change(op, args.get("target", "memory"))

        def notify():
            for op in args.get("operations") or [args]:
                metadata = {"session_id": "s1"}
                if op.get("old_text"):
                    metadata["old_text"] = op["old_text"]
                target = str(args.get("target") or "memory")
                self.provider.on_memory_write(op["action"], target, str(op.get("content") or ""), metadata=metadata)

        return json.dumps({"success": True}), notify

    def change(self, op, target):
        path = os.path.join(HOME, "memories", {"memory": "MEMORY.md", "user": "USER.md"}[target])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        entries = []
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            entries = [one for one in file.read().split("\n§\n") if one]
        if op["action"] == "add":
            entries.append(op["content"])
        else:
            (at,) = {n for n, one in enumerate(entries) if op["old_text"] in one}
            entries[at : at + 1] = [op["content"]] if op["action"] == "replace" else []
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("\n§\n".join(entries))
        os.replace(path + ".new", path)

    def on_turn_start(self, turn, message):
        self.provider.on_turn_start(turn, message)

    def prefetch_all(self, query):
        box = []
        thread = threading.Thread(target=lambda: box.append(self.provider.prefetch(query, session_id="")))
        thread.start()
        thread.join(8)
        return box[0]

    def sync_all(self, user, assistant, *, session_id=""):
        self.pool.submit(self.provider.sync_turn, user, assistant, session_id=session_id)

    def queue_prefetch_all(self, query):
        self.pool.submit(self.provider.queue_prefetch, query, session_id="")

    def flush_pending(self, timeout):
        self.pool.submit(lambda: None).result(timeout)

    def handle_tool_call(self, name, args):
        return self.provider.handle_tool_call(name, args)

    def on_session_switch(self, new, **kwargs):
        self.provider.on_session_switch(new, **kwargs)

    def on_session_end(self, messages):
        self.provider.on_session_end(messages)

    def on_pre_compress(self, messages):
        return self.provider.on_pre_compress(messages)

    def on_delegation(self, task, result, **kwargs):
        self.provider.on_delegation(task, result, **kwargs)

    def shutdown_all(self):
        self.pool.shutdown()
        self.provider.shutdown()


def loaded():
    """The provider as hermes-agent's loader makes it: every sibling is executed before the package itself."""
    import importlib.machinery

    folder = os.path.join(HOME, "plugins", NAME)
    parent = importlib.machinery.ModuleSpec("_hermes_user_memory", None, is_package=True)
    parent.submodule_search_locations = []
    sys.modules["_hermes_user_memory"] = importlib.util.module_from_spec(parent)
    name = f"_hermes_user_memory.{NAME}"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    for file in os.listdir(folder):
        inner = f"{name}.{file[:-3]}"
        if file.endswith(".py") and file != "__init__.py" and inner not in sys.modules:
            sub = importlib.util.spec_from_file_location(inner, os.path.join(folder, file))
            made = sys.modules[inner] = importlib.util.module_from_spec(sub)
            sub.loader.exec_module(made)
    spec.loader.exec_module(module)
    collected = []

    class Context:
        def register_memory_provider(self, provider):
            collected.append(provider)

    module.register(Context())
    return collected[0]


warnings = []

OF_THE_PROVIDER = (
    *("is_available", "get_status_config", "name", "post_setup", "backup_paths", "recall_status"),
    *("initialize_for_inspection", "pre_compress_checkpoint_api_version"),
)


def carry_out(host, command):
    """One command; what came of it, and the milliseconds of its hook."""
    name, given = command["do"], command.get("with", {})
    if name == "memory":
        result, notify = host.memory(given)
        begun = time.perf_counter()
        notify()
        return json.loads(result), (time.perf_counter() - begun) * 1000
    if name == "turn":
        manager, said = host.manager, given["user"]
        begun = time.perf_counter()
        manager.on_turn_start(given["turn"], said)
        recalled = manager.prefetch_all(said)
        took = (time.perf_counter() - begun) * 1000
        manager.sync_all(said, given.get("assistant", "heard"), session_id=given.get("session", "s1"))
        manager.queue_prefetch_all(said)
        manager.flush_pending(5)
        return recalled, took
    if name == "warnings":
        return warnings, 0.0
    if name == "initialize_all":
        given["kwargs"]["warning_callback"] = warnings.append
    if name == "checkpoint":  # as hosts of the second version of checkpoints do
        try:
            return host.provider.on_pre_compress(given["messages"], require_checkpoint=True), 0.0
        except RuntimeError as error:
            return f"refused: {error}", 0.0
    if name == "inspect":  # a provider of its own, which never was one of an agent
        other = loaded()
        other.initialize_for_inspection("s0", hermes_home=HOME)
        return [other.system_prompt_block(), len(other.get_tool_schemas()), threading.active_count()], 0.0
    if name == "waiting":
        # The host process has no other threads of interest: what the worker still has to deliver.
        return host.provider._worker.outbox.has_records, 0.0
    target = host.provider if name in OF_THE_PROVIDER else host.manager
    begun = time.perf_counter()
    found = getattr(target, name)
    result = found(*given.get("args", []), **given.get("kwargs", {})) if callable(found) else found
    return result, (time.perf_counter() - begun) * 1000


def main():
    wire = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    host = Real() if real else StandIn()
    for line in sys.stdin:
        try:
            result, took = carry_out(host, json.loads(line))
            answer = {"result": result, "ms": took}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        wire.write(json.dumps(answer, default=str) + "\n")
        wire.flush()


if __name__ == "__main__":
    main()
