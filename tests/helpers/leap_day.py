"""A plugin of pytest (`-p tests.helpers.leap_day`): it is late on a leap day in the zone that is farthest ahead."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import time_machine

time_machine.travel(datetime(2028, 2, 29, 23, 57, tzinfo=ZoneInfo("Pacific/Kiritimati")), tick=True).start()
