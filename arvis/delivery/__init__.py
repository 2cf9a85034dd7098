"""Step 13: show drafts, and send deliveries through their connectors; in each place one after the other, in order."""

from __future__ import annotations

from arvis.delivery.deliverer import Deliverer
from arvis.delivery.drafts import Pace
from arvis.delivery.late_replies import LateReplies
from arvis.delivery.presence import Presence

__all__ = ["Deliverer", "LateReplies", "Pace", "Presence"]
