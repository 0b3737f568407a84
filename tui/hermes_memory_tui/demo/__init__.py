"""The demo: a temporary memory, a bridge, simulated agents that use it, and a second machine that shares a theme.

`demo_day.py` is the data of one day, `demo_home.py` a home folder around it; `simulated_agent.py` is one agent, a process
of its own that imports the standard library only, and `demo_jobs.py` its work; `second_machine.py` is the other machine.
Imports the store, the bridge, `app` and `system`; `cli` imports it. Read `demo_environment.py` first: it starts and stops
them all.
"""
