"""Step 13: send deliveries through their connector, one at a time and in order in each place, and show drafts until
then."""

from __future__ import annotations

from arvis.delivery.deliverer import Deliverer
from arvis.delivery.drafts import Pace
from arvis.delivery.late_replies import LateReplies
from arvis.delivery.presence import Presence

__all__ = ["Deliverer", "LateReplies", "Pace", "Presence"]
