"""The figures as a picture: two groups of horizontal bars in an SVG that reads on light and on dark pages."""

from html import escape

from bench.peers.figures import Row
from bench.peers.systems import ROOKERY

WIDTH = 900
_LABELS = 310
_FIGURES = 80
_BAR, _STEP = 18, 26
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .page { fill: #ffffff }
  .title { font-weight: 600; font-size: 15px }
  .kept { fill: #59636e; font-size: 12px }
  .ours { fill: #b3541e }
  .disk { fill: #3b6fb6 }
  .memory { fill: #a9c1e2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .page { fill: #0d1117 }
    .kept { fill: #9198a1 }
    .ours { fill: #f0883e }
    .disk { fill: #6ca0e8 }
    .memory { fill: #2f4a70 }
  }
"""
_LEGEND = (
    ("ours", "Rookery: on disk before the answer"),
    ("disk", "on disk before the answer"),
    ("memory", "the last moments are lost in a power cut"),
)


def draw(rows: list[Row]) -> str:
    """The whole SVG document; systems without figures are left out."""
    measured = [row for row in rows if row.is_measured]
    body: list[str] = []
    top = 16
    for index, title in enumerate(("Enqueued one by one, jobs a second", "Processed by one worker, jobs a second")):
        top = _group(body, top, title, measured, index)
    left = 16
    for kind, text in _LEGEND:
        body.append(f'<rect class="{kind}" x="{left}" y="{top}" width="12" height="12" rx="2"/>')
        body.append(f'<text class="kept" x="{left + 18}" y="{top + 11}">{text}</text>')
        left += 40 + 7 * len(text)
    height = top + 28
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'role="img" aria-label="Jobs a second by system">',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def _group(body: list[str], top: int, title: str, rows: list[Row], index: int) -> int:
    """Bars of one kind, the fastest first; the place where the next thing may begin."""
    body.append(f'<text class="title" x="16" y="{top + 15}">{title}</text>')
    top += 30
    ordered = sorted(rows, key=lambda row: -row.median[index])
    most = ordered[0].median[index] if ordered else 1.0
    for row in ordered:
        rate = row.median[index]
        width = max(1.0, (WIDTH - _LABELS - _FIGURES) * rate / most)
        name, kept = _label(row)
        body.append(
            f'<text x="{_LABELS - 10}" y="{top + 14}" text-anchor="end">{escape(name)}'
            f'<tspan class="kept" dx="6">{escape(kept)}</tspan></text>'
        )
        body.append(f'<rect class="{_kind(row)}" x="{_LABELS}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="3"/>')
        body.append(f'<text x="{_LABELS + width + 8:.1f}" y="{top + 14}">{rate:,.0f}</text>')
        top += _STEP
    return top + 18


def _label(row: Row) -> tuple[str, str]:
    """The system's name, and what it keeps its jobs in when that is another program."""
    server = row.system.server
    names = [] if row.system.environment == "rookery" or server.name == row.system.name else [server.name]
    return row.system.name, ", ".join([*names, server.syncs])


def _kind(row: Row) -> str:
    if row.system is ROOKERY:
        return "ours"
    return "disk" if row.system.server.is_on_disk else "memory"
