"""The one port: free or ours, and reachable by the names that people use."""

from __future__ import annotations

import socket

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.config import Web, is_loopback

_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - compared with, never bound


def check_port(scene: Scene) -> Verdict | None:
    """Without a daemon: whether one could listen. It is tried for a moment, without listening."""
    web = scene.config.web
    if scene.daemon is not None or "web" not in scene.config.roles:
        return None
    if web.port == 0:
        return ok("The web takes any free port")
    complaint = _refusal(web)
    if complaint:
        fix = "Stop what has it, or set web.port (0 takes any free one) and web.host to an address of this machine."
        return fail(f"The web cannot listen at {web.host} port {web.port}", f"{complaint}.", fix)
    return ok(f"{web.host} port {web.port} is free")


def check_names(scene: Scene) -> Verdict | None:
    """A browser's request names the host it wants, and only known ones are answered."""
    web = scene.config.web
    if web.host.strip("[]") in _EVERYWHERE and not web.allowed_hosts and web.public_url is None:
        why = f"web.host is {web.host}, and no name is known under which others reach this machine."
        fix = "Set web.public_url to the address that people open, or list its names in web.allowed_hosts."
        return warn("Browsers on other machines are refused", why, fix)
    if is_loopback(web.host) and web.public_url is None:
        return ok("Only this machine reaches the web")
    return ok("The names are known under which others reach the web")


def _refusal(web: Web) -> str:
    """Why the system does not give us the address; "" when it does."""
    try:
        found = socket.getaddrinfo(web.host.strip("[]"), web.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return ""


GROUP = Group("web", (Check("web_port", check_port), Check("web_names", check_names)))
