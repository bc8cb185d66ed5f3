"""Public ids: a prefix and a ULID, strictly increasing, so that they sort by age."""

from typing import Final

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [a + b for a in _ALPHABET for b in _ALPHABET]
_RANDOM_BITS: Final = 80
_VALUES: Final = {letter: value for value, letter in enumerate(_ALPHABET)}


def encode_ulid(number: int) -> str:
    """The 26 letters of a 128-bit number."""
    letters = ""
    for _ in range(13):
        letters = _PAIRS[number & 1023] + letters
        number >>= 10
    return letters


def decode_ulid(text: str) -> int:
    """The number behind 26 letters."""
    number = 0
    for letter in text:
        number = number << 5 | _VALUES[letter]
    return number


class IdSequence:
    """Hands out ULIDs that only ever grow, from a time and randomness that are given to it."""

    __slots__ = ("_head", "_head_number", "last")

    def __init__(self, last: int) -> None:
        self.last = last
        self._head_number = -1
        self._head = ""

    def advance(self, now: int, entropy: int) -> None:
        """Move on to `now`, unless what was handed out is already past it."""
        self.last = max(self.last, now << _RANDOM_BITS | entropy & (1 << _RANDOM_BITS - 1) - 1)

    def numbers(self, count: int) -> int:
        """The first of the next `count` numbers."""
        self.last += count
        return self.last - count + 1

    def text(self) -> str:
        """The next number as a ULID."""
        self.last = number = self.last + 1
        head, tail = number >> 20, number & 0xFFFFF
        if head != self._head_number:
            self._head_number = head
            self._head = encode_ulid(number)[:22]
        return self._head + _PAIRS[tail >> 10] + _PAIRS[tail & 1023]
