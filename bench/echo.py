"""The control of the benchmark rows about the daemon: a socket server that does the minimum work.

It implements only the part of the socket protocol that `bench.people` needs: it accepts a login, acknowledges a message
and answers it immediately. As a program it prints its address and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import json

from websockets.asyncio.server import ServerConnection, serve


async def answer(socket: ServerConnection) -> None:
    async for text in socket:
        request = json.loads(text)
        if request["type"] == "auth":
            await socket.send(json.dumps({"type": "auth_ok", "clientId": "echo", "seq": 0}, separators=(",", ":")))
            continue
        await socket.send(json.dumps({"type": "ack", "messageId": "1", "id": request["id"]}, separators=(",", ":")))
        reply = {"type": "message", "content": request["content"], "replyTo": "1"}
        await socket.send(json.dumps(reply, separators=(",", ":")))


async def main() -> None:
    async with serve(answer, "127.0.0.1", 0, compression=None) as server:
        host, port = next(iter(server.sockets)).getsockname()[:2]
        print(f"http://{host}:{port}", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
