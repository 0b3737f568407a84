"""`serve`: the options and the start of a bridge. Imports no click: a waiting agent started this process."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields, replace

from hermes_memory_bridge.daemon.error_report import report_failure
from hermes_memory_bridge.wire.bridge_process import tell_good_end
from hermes_memory_bridge.wire.paths import BridgePaths

LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class ServeOptions:
    """The options of `serve`, `start` and `restart`. None: the default of the profile."""

    db: str | None = None
    tcp: int | None = None
    heartbeat: float | None = None
    timeout: float | None = None
    hardening_profile: bool = False
    log_level: str | None = None
    linger: float | None = None


OLDER_ANSWER_S = 1.0
"""How long a running bridge may take to tell its options: one that hangs must not delay the start of another."""

VALUE_TYPES = {
    "--db": str,
    "--tcp": int,
    "--heartbeat": float,
    "--timeout": float,
    "--log-level": str,
    "--linger": float,
}


def parse_serve_options(words: list[str]) -> ServeOptions | None:
    """Parse the words after `serve`; None when only the full command line can explain them."""
    options: dict[str, str | float | bool] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--hardening-profile":
            options["hardening_profile"] = True
            continue
        text = value if equals else next(rest, "-")
        if name not in VALUE_TYPES or (text.startswith("-") and not equals):
            return None
        try:
            options[name[2:].replace("-", "_")] = VALUE_TYPES[name](text)
        except ValueError:
            return None
    return ServeOptions(**options)  # type: ignore[arg-type]  # each value was made by the type of its option


def find_older_options(paths: BridgePaths) -> ServeOptions | None:
    """Return the options of a running bridge of an older version; None when there is none, or it cannot be known."""
    from hermes_memory_bridge.daemon.control import ask_bridge
    from hermes_memory_bridge.version import __version__
    from hermes_memory_bridge.wire.version_order import is_older

    running = ask_bridge(paths, "status", OLDER_ANSWER_S)
    if running is None or not is_older(running.get("version"), __version__):
        return None
    if isinstance(running.get("serve"), dict):
        option_names = {option.name for option in fields(ServeOptions)}
        return ServeOptions(**{name: value for name, value in running["serve"].items() if name in option_names})
    from pathlib import Path

    try:  # before 0.2 a bridge did not tell; Linux does
        words = Path(f"/proc/{int(running['pid'])}/cmdline").read_text(encoding="utf-8").rstrip("\0").split("\0")
    except (OSError, ValueError):
        return None
    return parse_serve_options(words[words.index("serve") + 1 :]) if "serve" in words else None


def inherit_options(options: ServeOptions, older: ServeOptions | None) -> ServeOptions:
    """Return the options of a bridge that takes over: what it was not told itself is as in the older one."""
    if older is None:
        return options
    own_options = {name: value for name, value in asdict(options).items() if value}
    merged = ServeOptions(**{**asdict(older), **own_options})
    return replace(merged, linger=None) if older.linger is None else merged  # it stays, if the older one did


def run_daemon_process(options: ServeOptions) -> int:
    import gc

    gc.disable()  # until all is loaded: importing makes much and drops little, and collecting meanwhile costs a fifth
    import os
    from pathlib import Path

    from hermes_memory_bridge.access.rate_limits import STRICT_LIMITS, ClientLimits
    from hermes_memory_bridge.daemon import daemon, logs
    from hermes_memory_bridge.toolkit.connection import LeaseTimes

    paths = BridgePaths.of(options.db)
    paths.make_folder()
    if home := os.environ.get("HERMES_HOME", "").strip():
        os.environ["HERMES_HOME"] = str(Path(home).expanduser().absolute())
    os.chdir(paths.folder)  # the folder of whoever started it is no business of one that serves everybody
    options = inherit_options(options, find_older_options(paths))
    level = (options.log_level or "info").lower()
    if level not in LOG_LEVELS:
        return report_failure(f"--log-level must be one of {', '.join(LOG_LEVELS)}, not {options.log_level!r}")
    strict = options.hardening_profile
    heartbeat_s = options.heartbeat or (5.0 if strict else 10.0)
    timeout_s = options.timeout or (12.0 if strict else 25.0)
    if not 0.1 <= heartbeat_s < timeout_s:
        return report_failure(
            f"--timeout ({timeout_s:g}) must be longer than --heartbeat ({heartbeat_s:g}), and that at least 0.1"
        )
    lease = LeaseTimes(round(heartbeat_s * 1000), round(timeout_s * 1000))
    limits = STRICT_LIMITS if strict else ClientLimits()
    chosen = {name: value for name, value in asdict(options).items() if value and name != "db"}
    settings = daemon.DaemonSettings(linger_s=options.linger, tcp=options.tcp, lease=lease, limits=limits, given=chosen)
    logs.configure_bridge_log(Path(paths.log), level)
    try:
        daemon.serve_store(paths, settings)
    except daemon.AlreadyServed as served:
        sys.stderr.write(f"hermes-memory-bridge: {served}\n")
    tell_good_end()
    return 0
