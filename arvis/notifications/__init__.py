"""Observes causes that owners should know, ends notifications whose cause is gone, and sends messages and e-mails about
notifications. `arvis/messaging/owner_alerts.py` stores the notifications that other parts report."""

from arvis.notifications.causes import Observations
from arvis.notifications.notifier import Notifier
from arvis.notifications.starts import StartReport, report_start

__all__ = ["Notifier", "Observations", "StartReport", "report_start"]
