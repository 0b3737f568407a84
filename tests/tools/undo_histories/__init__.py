"""Random histories of undo against a plain model: what one or two machines do and take back, in any order.

`python -m tests.tools.undo_histories --help` runs many of them. `undo_model.py` says, from pictures of the memory before and
after each change alone, what an undo may and must do; `undo_player.py` plays a history on real stores and asks the model.
"""
