"""`NarrowCompositor`: draws of each widget only the lines that are to be seen anew.

Textual draws every line of every widget for each key, and cuts them to pieces that it does not use.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip


class NarrowCompositor(Compositor):
    """Textual's compositor, which looks at what stands within the part of the screen that has changed."""

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        rows = self.size.region if crop is None else Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            if seen and (crop is None or crop.overlaps(seen)):
                seen = seen.intersection(rows)
                yield region, seen, widget.render_lines(seen.translate(-region.offset))
