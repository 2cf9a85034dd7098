"""The frame with which a socket sends a delivery."""

from __future__ import annotations

from typing import Any

from arvis.domain.messages import Delivery


def delivery_frame(delivery: Delivery) -> dict[str, Any]:
    return {
        "type": "message",
        "channelId": delivery.address.channel,
        "content": delivery.content,
        "messageId": delivery.message_id,
        "replyTo": delivery.reply_to,
        "answers": list(delivery.answers),
        "part": delivery.part,
        "seq": delivery.seq,
        "buttons": [{"id": each.id, "label": each.label, "style": each.style} for each in delivery.buttons],
        "files": [
            {
                "name": file.filename,
                "contentType": file.content_type,
                "size": file.size,
                "url": file_url(delivery, number),
            }
            for number, file in enumerate(delivery.files)
        ],
        "agent": delivery.agent,
        "timestamp": delivery.created_at,
    }


def file_url(delivery: Delivery, number: int) -> str:
    """Return the address from which a client loads a file of a delivery."""
    return f"/api/deliveries/{delivery.id}/files/{number}"
