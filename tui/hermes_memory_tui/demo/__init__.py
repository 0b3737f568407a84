"""The demonstration: a memory to look at, a bridge, and agents that use it while somebody looks.

`day.py` is the demo day, `home.py` a whole home folder around it, `agent.py` one simulated agent (a process of its own, which
imports the standard library only), `stage.py` starts and stops them all.
"""
