"""What opens above the panels: details, a question, the keys."""

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS: Final = (
    ("↑ ↓  j k", "choose a row"),
    ("pgup pgdn", "go a page up or down"),
    ("g G", "go to the first or last row"),
    ("tab", "go to the next panel"),
    ("enter", "details of the row"),
    ("p", "pause or resume the queue"),
    ("r", "run the failed job again"),
    ("s", "sort queues by name, pending, dead or jobs/min"),
    ("/", "show only rows with these words, esc ends that"),
    ("?", "these keys"),
    ("q", "leave"),
)


class Popup(ModalScreen[None]):
    """A box with text that can be scrolled and closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,question_mark", "dismiss", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,space", "scroll(10)", "page down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
    ]

    def __init__(self, title: str, text: Text, hint: str = "esc closes") -> None:
        super().__init__()
        self._title, self._text, self._hint = title, text, hint

    def compose(self) -> ComposeResult:
        """The box."""
        with VerticalScroll(classes="box") as box:
            box.border_title, box.border_subtitle = self._title, self._hint
            box.can_focus = False
            yield Static(self._text)

    def show(self, text: Text) -> None:
        """Other text, when it has come."""
        self._text = text
        if self.is_mounted:
            self.query_one(Static).update(text)

    def action_scroll(self, lines: int) -> None:
        """Move the text."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class JobPopup(Popup):
    """A failed job, which may be run again from here."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "retry", "run again", show=False)]

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id, Text("Asking the server…", style="dim"), "r runs it again, esc closes")
        self.job_id = job_id

    def action_retry(self) -> None:
        """Close, and run it again."""
        self.dismiss()
        self.app.call_next(self.app.run_action, f"app.retry_job({self.job_id!r})")


class Question(ModalScreen[bool]):
    """Something to be sure of."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "yes", show=False),
        Binding("n,escape,q", "answer(False)", "no", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The box."""
        with VerticalScroll(classes="box question") as box:
            box.border_title, box.border_subtitle = self._title, "y yes, n no"
            box.can_focus = False
            yield Static(Text(self._text))

    def action_answer(self, is_yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(is_yes)


def keys_popup() -> Popup:
    """What may be pressed."""
    text = Text()
    for key, meaning in KEYS:
        text.append(f"{key:<11}", "bold")
        text.append(f"{meaning}\n")
    text.append("\nA dot stands for zero.", "dim")
    return Popup("Keys", text)
