"""`hermes-memory-hook HOST EVENT [--db F] [--theme T]`: report an event of a host, and answer in the host's own form.

It always exits with 0 and never writes to standard error, unless `HERMES_MEMORY_HOOK_DEBUG` is set: then a line a step. An
agent waits for it, so nothing here, neither a bridge that hangs nor a disk that is full, holds the host up.
"""

from __future__ import annotations

import gc
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from hermes_memory_bridge.hook_program.hook_event import HookEvent

WAITS_S = {"start": 0.6, "prompt": 0.11, "compacting": 0.8, "tool": 0.11, "guard": 0.0}
"""From the beginning, how long the bridge's answer is waited for where it matters to the host; a start then reads the store."""

WAIT_S = 0.3
"""The same for events that are only reported."""

MOST_STRETCH = 6.0
"""On a busy machine a bridge that lives answers late, and what it gives after a tool is not given again."""

SILENT = "--silent"
"""An option of hooks that a person wants for hearing alone."""

DEBUG = "HERMES_MEMORY_HOOK_DEBUG"


def main() -> NoReturn:
    """Report the event and end the process, without the interpreter's own clearing up."""
    began = time.monotonic()
    gc.disable()  # it ends before anything is worth collecting
    is_debugging = bool(os.environ.get(DEBUG))
    try:
        if not is_debugging:  # some hosts show standard error to the person
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 2)
        report_host_event(sys.argv[1:], StepLog(began, is_debugging))
    except BaseException as error:  # whatever it is, the host goes on
        StepLog(began, is_debugging).note(f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


class StepLog:
    """Lines on standard error, one a step, with the milliseconds since the beginning."""

    __slots__ = ("began", "is_on")

    def __init__(self, began: float, is_on: bool) -> None:
        self.began = began
        self.is_on = is_on

    def note(self, step: str) -> None:
        """Write a line, if that was asked for."""
        if self.is_on:
            line = f"hermes-memory-hook: {(time.monotonic() - self.began) * 1000:7.1f} ms: {step}\n"
            try:
                os.write(2, line.encode("utf-8", "replace"))
            except OSError:
                self.is_on = False


def report_host_event(arguments: list[str], log: StepLog) -> None:
    """Report the event that the arguments and standard input say, and print the answer."""
    from hermes_memory_bridge.hook_program.hook_event import HOOK_EVENTS
    from hermes_memory_bridge.hook_program.host_dialects import EVENT_NAME_KEYS, find_speaking_host, format_host_answer
    from hermes_memory_store.hosts.host_data import load_host

    host, name, options = parse_hook_arguments(arguments)
    if "answers" not in load_host(host) or name not in HOOK_EVENTS:
        log.note(f"{host!r} {name!r} is no host and event that are known")
        return
    if os.name == "nt":  # sockets and locks are those of unix
        os.write(1, format_host_answer(host, name, "").encode())
        return
    from hermes_memory_bridge.hook_program import host_payload, without_bridge
    from hermes_memory_bridge.wire.paths import BridgePaths
    from hermes_memory_store.hosts.capture_switch import may_capture

    if name in ("tool", "guard"):  # before any process is made that must not import
        from hermes_memory_bridge.hook_program import tool_acts  # noqa: F401

    at, pids, paths = (
        time.time_ns() // 1_000_000,
        [] if name == "guard" else host_payload.list_hook_ancestors(),
        BridgePaths.of(options.get("--db")),
    )
    host_input, theme = host_payload.HostInput(), options.get("--theme") or os.environ.get("HERMES_MEMORY_THEME", "")
    payload: dict[str, Any] = {}

    def find_event() -> HookEvent:
        payload.update(host_input.read())
        speaker = find_speaking_host(host, payload)
        host_event = host_payload.to_hook_event(
            speaker, name, payload, os.environ, theme=theme.strip(), at=at, pids=pids
        )
        host_event.capture = name != "guard" and (
            may_capture(paths.store, host_event.host, host_event.folder, of_tools=name == "tool").allowed
        )
        host_event.keeps = (
            name == "tool"
            and bool(host_event.act)
            and may_capture(paths.store, "", host_event.folder, of_actions=True).allowed
        )
        return host_event

    stop = without_bridge.HardStop(host, name, log.began, find_event)
    stop.store = paths.store
    event = stop.found = find_event()
    stop.host = event.host
    log.note(f"read {', '.join(payload) or 'nothing'}")
    stop.native = host_payload.find_text(payload, EVENT_NAME_KEYS)
    event.is_silent = SILENT in arguments
    is_unheard = name == "tool" and not event.capture
    if is_unheard:
        event.text = ""  # what it did stands in other fields
        event.call = event.call if event.act == "edit" and not event.is_silent else ""
        is_unheard = not (event.act and (event.keeps or not event.is_silent))
    if is_unheard or (host, event.host) == ("claude-code", "vscode"):  # which reads these hooks beside its own
        stop.answer("")
        stop.is_settled = True
        host_input.drain()
        return
    reason = without_bridge.ask_guards(paths.store, event) if name == "guard" else ""
    if name == "guard":
        stop.answer(reason)
        stop.is_settled = True
        log.note(f"guards: {reason or 'none'}")
        host_input.drain()
        if not reason:
            return
        event.pids = tuple(host_payload.list_hook_ancestors())
    # Here, not above: most calls of tools end before a bridge is asked.
    from hermes_memory_bridge.hook_program.bridge_exchange import ANSWERED, NO_BRIDGE, REFUSED, UNSENT, report_event

    if reason:
        report_event(paths, event.to_wire(), log.began)
        return
    is_start = without_bridge.is_start(event.host, name)
    wait_s = 0.0 if event.is_silent else WAITS_S["start"] if is_start else WAITS_S.get(name, WAIT_S)
    if name == "tool":
        wait_s *= find_stretch()
    outcome, answer, notice = report_event(paths, event.to_wire(), log.began + wait_s)
    log.note(f"{outcome} {'' if outcome == ANSWERED else answer}")
    if outcome == ANSWERED or name == "tool":
        stop.is_settled = outcome not in (NO_BRIDGE, UNSENT) or not without_bridge.needs_record(event)
        stop.answer(answer if outcome == ANSWERED else "", notice)
        if not stop.is_settled:
            without_bridge.leave_record(paths.store, event)
            stop.is_settled = True
        host_input.drain()
        return
    giving = None
    if is_start or outcome in (NO_BRIDGE, REFUSED):
        text, notice, giving = without_bridge.read_own_answer(paths.store, event)
        log.note(f"read {len(text)} characters from the store")
        giving = giving if stop.answer(text, notice) else None
    stop.answer("")
    event.given = giving
    if outcome == NO_BRIDGE:
        try:
            without_bridge.start_absent_bridge(paths)
        except OSError as error:
            log.note(f"no bridge could be started: {error}")
    if without_bridge.needs_record(event):
        log.note(f"the event {'waits' if without_bridge.leave_record(paths.store, event) else 'could not be left'}")
    stop.is_settled = True
    host_input.drain()


def find_stretch() -> float:
    """Return how many times longer than on an idle machine an answer takes: as many as wait for each processor."""
    return min(MOST_STRETCH, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def parse_hook_arguments(arguments: list[str]) -> tuple[str, str, dict[str, str]]:
    """Return the host, the event and the options of a command line; what it does not know is ignored."""
    words: list[str] = []
    options: dict[str, str] = {}
    left = iter(arguments)
    for word in left:
        name, sign, value = word.partition("=")
        if name in ("--db", "--theme"):
            options[name] = value if sign else next(left, "")
        elif not word.startswith("-"):
            words.append(word)
    host, event = (*words, "", "")[:2]
    return host, event, {name: value for name, value in options.items() if value.strip()}


if __name__ == "__main__":
    main()
