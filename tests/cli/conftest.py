"""Fixtures of commands."""

from __future__ import annotations

from tests.helpers.kept_open import commands_read_once as commands_read_once
