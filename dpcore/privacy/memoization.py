"""Memoization: a client whose value has not changed repeats its answer, so that repeated rounds reveal no more.

Fresh noise in T rounds is T epsilon: the average of the reports is the record.  Here the words of an answer come from a keyed
hash of (scheme, attribute, level, state), where the state is all of the input cell that a report of that level depends on.  The
same state therefore gives the same integers for life, on any machine that holds the secret, without anything being stored;
it is charged once.  A person whose value moves through s states spends s epsilon, and no more in any number of rounds.
What makes integers of the words has a version in the scheme (`canonical.DRAWS`), so that a change of it is another digest.

Level and unit must be fixed for life too, which a token does (`protocol.tokens`).  What this does not hide: that an answer
changed, and when.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from dpcore._random import Source, keyed
from dpcore.errors import check_within

_WORDS, _NAMES = "memoized words", "memoized names"


@dataclass(frozen=True)
class Memory:
    """The answers of one client for life, as a key.

    secret: at least 16 bytes, which never leave the client and must be kept: another secret is fresh noise.  digest: the
    scheme's.
    """

    secret: bytes = field(repr=False)
    digest: str

    def __post_init__(self) -> None:
        check_within(16, 1 << 16, bytes_of_the_secret=len(self.secret))

    def words(self, attribute: str, level: int, state: int) -> Source:
        """Return the source of the answer in this state: the same words every time."""
        return keyed(self.secret, _WORDS, self.digest, attribute, str(level), str(state))

    def name(self, attribute: str, level: int, state: int) -> str:
        """Return the name under which the state is charged; without the secret it reveals nothing about the state."""
        labels = [_NAMES, self.digest, attribute, str(level), str(state)]
        framed = b"".join(len(label).to_bytes(4, "little") + label for label in map(str.encode, labels))
        return hmac.new(self.secret, framed, hashlib.sha256).hexdigest()[:32]
