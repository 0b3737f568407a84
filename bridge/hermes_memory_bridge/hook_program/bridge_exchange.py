"""Send one event to the bridge of a store, and read its answer."""

from __future__ import annotations

import time

from hermes_memory_bridge.wire.line import connect_line, read_line
from hermes_memory_bridge.wire.messages import GREETING, encode_message
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.peers import ForeignSocket
from hermes_memory_store.compact_json import parse_whole_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SEND_S = 0.05
"""What connecting and sending may take each where there is no time for an answer any more: the event is reported all the same."""

ANSWERED = "answered"
NO_BRIDGE = "no bridge"
"""Nobody listens: one is to be started."""

REFUSED = "refused"
"""The bridge takes no such line, as one of an earlier version."""

UNANSWERED = "unanswered"
"""Somebody listens, and the answer did not come in time: what the bridge made of the line is unknown."""

UNSENT = "unsent"
"""Somebody listens, and did not take the line in time."""

FOREIGN = "foreign"
"""The socket is not this user's own; nothing was sent."""


def report_event(paths: BridgePaths, event: dict[str, Any], deadline: float) -> tuple[str, str, str]:
    """Report an event to the bridge; return the outcome, what the model is to be given or what went wrong, and what the person
    is to see.

    :param deadline: when to stop waiting, by `time.monotonic`
    """
    try:
        bridge = connect_line(paths.line, max(SEND_S, deadline - time.monotonic()))
    except ForeignSocket as error:
        return FOREIGN, str(error), ""
    except (FileNotFoundError, NotADirectoryError, ConnectionError) as error:
        return NO_BRIDGE, str(error), ""
    except OSError as error:
        return UNSENT, str(error), ""
    outcome = UNSENT
    try:
        bridge.sendall(encode_message({**GREETING, "command": "hook", "arguments": event}))
        outcome = UNANSWERED
        line = read_line(bridge, deadline)
    except OSError as error:
        return outcome, str(error) or type(error).__name__, ""
    finally:
        bridge.close()
    answer = parse_whole_object(line.decode("utf-8", "replace"))
    if answer is None or "error" in answer:
        return REFUSED, repr(line[:300]), ""
    text, notice = (value if isinstance(value := answer.get(key), str) else "" for key in ("text", "notice"))
    return ANSWERED, text, notice
