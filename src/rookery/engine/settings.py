"""What the users of a store have agreed on, as names and texts. What they mean is for those who ask."""

from rookery.engine.ledger import Ledger
from rookery.engine.ops import Done, SaveSetting


def save(ledger: Ledger, op: SaveSetting) -> Done:
    """Set it, or take it back."""
    if op.value is None:
        ledger.execute("DELETE FROM setting WHERE key = ?", (op.key,))
        return Done("unset")
    ledger.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (op.key, op.value))
    return Done("set")


def read(ledger: Ledger, key: str) -> str | None:
    """What is agreed on, if anything is."""
    value: str | None = ledger.execute("SELECT value FROM setting WHERE key = ?", (key,)).get
    return value
