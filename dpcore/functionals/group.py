"""Groups of respondents: those in one category of an attribute."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.errors import SchemeError

WEIGHTED = "weighted"  # in place of an attribute: the population, by weights of its labels


@dataclass(frozen=True)
class Group:
    """The respondents in a category of an attribute or label; None is all respondents.

    Its text, ATTRIBUTE=CATEGORY, is used in tables and files only.

    >>> str(Group("home", "rural")), Group.parse("home=rural").category, Group.parse("")
    ('home=rural', 'rural', None)
    """

    attribute: str
    category: str

    def __str__(self) -> str:
        return f"{self.attribute}={self.category}"

    @classmethod
    def parse(cls, text: str) -> Group | None:
        """Return the group that a landed text names, None for that of everyone, ''.  Raises SchemeError for no group's."""
        attribute, equals, category = text.partition("=")
        if text and not equals:
            raise SchemeError(f"a group is ATTRIBUTE=CATEGORY, got {text!r}")
        return cls(attribute, category) if text else None


class OfGroup:
    """What is found of a group or, where it is None, of everyone."""

    group: Group | None

    @property
    def given(self) -> str:
        """Whose it is as tables have it: '' or 'ATTRIBUTE=CATEGORY'."""
        return str(self.group or "")
