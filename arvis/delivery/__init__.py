"""Step 13 of a message: show drafts and send deliveries through their connectors. The deliveries to one place are sent
in order, one after the other."""

from __future__ import annotations

from arvis.delivery.deliverer import Deliverer
from arvis.delivery.drafts import Pace
from arvis.delivery.late_replies import LateReplies
from arvis.delivery.presence import Presence

__all__ = ["Deliverer", "LateReplies", "Pace", "Presence"]
