"""What a session is given at the moment: after a file was read, a command ran or failed, or a plan was made.

Beside the events that begin windows and the words of a person. May import the rest of `hook_service`; `hook_service.py` calls it.
Read `moment_giving.py` first.
"""
