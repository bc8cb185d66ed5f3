"""A table that draws only the rows in view, keeps its place when they change, and gives room to what matters most."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rookery.cli.overview import Row

HEADER: Final = Style(bold=True, dim=True)
CURSOR: Final = Style(reverse=True)
PLAIN: Final = Style()
STALE: Final = Style(dim=True)


class Column(NamedTuple):
    """What a column shows of a row, and how.

    What is left of the width is shared by `weight`. When it gets narrow, the greatest `rank` goes first.
    """

    label: str
    width: int
    text: Callable[[Row, float], str]
    style: Callable[[Row], str] | None = None
    is_right: bool = True
    weight: int = 0
    rank: int = 0

    @property
    def gap(self) -> int:
        """Cells before it: numbers stand apart by themselves."""
        return 1 if self.is_right else 2


class Table(ScrollView, can_focus=True):
    """Rows of which one is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "move_page(-1)", "page up", show=False),
        Binding("pagedown", "move_page(1)", "page down", show=False),
        Binding("home,g", "move_to(0)", "first", show=False),
        Binding("end,G", "move_to(-1)", "last", show=False),
        Binding("enter", "open", "details", show=False),
    ]

    class Opened(Message):
        """Somebody wants to see more of a row."""

        def __init__(self, table: "Table", row: Row) -> None:
            super().__init__()
            self.table, self.row = table, row

    def __init__(self, title: str, columns: Sequence[Column], key: str, *, placeholder: str, id: str) -> None:
        super().__init__(id=id)
        self._columns, self._key = columns, key
        self._placeholder = placeholder
        self._rows: Sequence[Row] = ()
        self._cursor = 0
        self._now = 0.0
        self._is_stale = False
        self._layout: list[tuple[Column, int]] = []
        self._layout_width = 0
        self.border_title = f" {title} "

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._cursor] if self._rows else None

    def show(self, rows: Sequence[Row], now: float, *, title: str, placeholder: str | None = None) -> None:
        """Show these rows; the cursor stays on the row it was on, or near it."""
        at = self.chosen
        height = self._lines
        self._rows, self._now, self.border_title = rows, now, f" {title} "
        self._placeholder = self._placeholder if placeholder is None else placeholder
        if at is not None and not (self._cursor < len(rows) and rows[self._cursor][self._key] == at[self._key]):
            places = (number for number, row in enumerate(rows) if row[self._key] == at[self._key])
            self._cursor = next(places, self._cursor)
        self._cursor = max(0, min(self._cursor, len(rows) - 1))
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self._keep_in_view()
        self.refresh(layout=self._lines != height)

    def show_age(self, now: float, *, is_stale: bool) -> None:
        """The same rows, later."""
        self._now, self._is_stale = now, is_stale
        self.refresh()

    def action_move(self, step: int) -> None:
        """The cursor goes up or down."""
        self._move_to(self._cursor + step)

    def action_move_page(self, direction: int) -> None:
        """The cursor goes by as many rows as are seen."""
        self._move_to(self._cursor + direction * max(1, self._height - 1))

    def action_move_to(self, row: int) -> None:
        """The cursor goes to the first or the last row."""
        self._move_to(row if row >= 0 else len(self._rows) + row)

    def action_open(self) -> None:
        """Tell that more is wanted of the chosen row."""
        if self.chosen is not None:
            self.post_message(self.Opened(self, self.chosen))

    def on_click(self, event: Click) -> None:
        """Choose a row with the mouse; a second click opens it."""
        row = event.y - 1 + int(self.scroll_y)
        if event.y >= 1 and 0 <= row < len(self._rows):
            self._move_to(row)
            if event.chain == 2:
                self.action_open()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as what there is to show; the style sheet says where that ends."""
        return self._lines

    def on_resize(self, event: Resize) -> None:
        """Keep the cursor in view."""
        self.virtual_size = Size(event.size.width, len(self._rows) + 1)
        self._keep_in_view()

    @property
    def _lines(self) -> int:
        return len(self._rows) + 1 if self._rows else len(self._placeholder.splitlines())

    @property
    def _height(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def _move_to(self, row: int) -> None:
        self._cursor = max(0, min(row, len(self._rows) - 1))
        self._keep_in_view()
        self.refresh()

    def _keep_in_view(self) -> None:
        first = int(self.scroll_y)
        if self._cursor < first:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= first + self._height:
            self.scroll_to(y=self._cursor - self._height + 1, animate=False)

    def render_line(self, y: int) -> Strip:
        """One line: the header stays at the top, whatever the scroll."""
        width = self.size.width
        if not self._rows:
            lines = self._placeholder.splitlines()
            return _line([Segment(f" {lines[y]}" if y < len(lines) else "", STALE)], width)
        if y == 0:
            return _line(self._cells(lambda column: column.label, lambda _: HEADER), width)
        number = int(self.scroll_y) + y - 1
        if number >= len(self._rows):
            return Strip.blank(width, PLAIN)
        row = self._rows[number]
        is_chosen = number == self._cursor and self.has_focus

        def style(column: Column) -> Style:
            return PLAIN if is_chosen or column.style is None else Style.parse(column.style(row))

        strip = _line(self._cells(lambda column: column.text(row, self._now), style), width)
        if is_chosen:
            strip = strip.apply_style(CURSOR)
        return strip.apply_style(STALE) if self._is_stale else strip

    def _cells(self, text: Callable[[Column], str], style: Callable[[Column], Style]) -> list[Segment]:
        width = self.scrollable_content_region.width
        if width != self._layout_width:
            self._layout, self._layout_width = _share(self._columns, width - 2), width
        segments = [Segment(" ", PLAIN)]
        for number, (column, width) in enumerate(self._layout):
            if number:
                segments.append(Segment(" " * column.gap, PLAIN))
            segments.append(Segment(_fit(text(column), width, column.is_right), style(column)))
        return segments


def _line(segments: list[Segment], width: int) -> Strip:
    return Strip(segments).adjust_cell_length(width, PLAIN)


def _fit(text: str, width: int, is_right: bool) -> str:
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    return " " * (width - length) + text if is_right else text + " " * (width - length)


def _share(columns: Sequence[Column], width: int) -> list[tuple[Column, int]]:
    """The columns that there is room for, with their widths. Those that grow share what is left."""
    kept = list(columns)

    def needed() -> int:
        return sum(column.width + column.gap for column in kept) - kept[0].gap

    while needed() > width and any(column.rank for column in kept):
        kept.remove(max(kept, key=lambda column: column.rank))
    spare = width - needed()
    weight = sum(column.weight for column in kept) or 1
    last = max(range(len(kept)), key=lambda number: (kept[number].weight > 0, number))
    shares = [spare * column.weight // weight for column in kept]
    shares[last] += spare - sum(shares)
    return [(column, max(1, column.width + share)) for column, share in zip(kept, shares, strict=True)]


def number(name: str, width: int, show: Callable[[float, int], str]) -> Callable[[Row, float], str]:
    """A count of a row, as wide as the column; nothing for zero, which is no news."""

    def text(row: Row, now: float) -> str:
        value: Any = row.get(name) or 0
        return show(value, width) if value else "·"

    return text
