"""`augury explore`: a server for one person, and the page in the browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augury.apps.commands.terminal import Cost, IgnoreCosts, Maximise, forget

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI
    from uvicorn import Config

EXAMPLES = (
    "Examples:  augury explore  ·  augury explore people.csv --port 9000 --no-browser  ·  "
    "augury explore --static demo"
)
EXPOSED = (
    "augury: warning: anyone who can reach this machine can use this server; it has no accounts "
    "and no encryption"
)
WARMING = (
    "augury: getting the networks ready: some seconds, or up to a minute the first time, when they "
    "are compiled"
)


def explore(  # noqa: PLR0913  # one parameter for each option
    file: Annotated[
        str | None,
        typer.Argument(help="A graph to start with, as for augury solve.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; only this machine unless told otherwise.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")
    ] = 8000,
    cost: Cost = False,
    ignore_costs: IgnoreCosts = False,
    maximise: Maximise = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    static: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the page there, to work without a server, and end.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch a network run on a page: draw a graph, step through every decision."""
    import asyncio
    from ipaddress import ip_address

    from augury.extras import needs, require

    if static is not None:
        _write(static, _example(file, cost, ignore_costs, maximise) if file else None)
        return
    with needs("the page"):
        from augury.apps.explore.connection import config_of
        from augury.apps.explore.server import make_app
    require("the page", "torch")  # which its child processes import
    said = cost, ignore_costs, maximise
    start = _example(file, *said) if file is not None else None
    app = make_app(host=host, start=start)
    with _listening(host, port) as listener:
        if not ip_address(listener.getsockname()[0]).is_loopback:
            print(EXPOSED, file=sys.stderr)
        try:
            asyncio.run(_serve(app, config_of(app), listener, browser))
        except KeyboardInterrupt:
            forget()  # how a server normally ends


def _write(folder: Path, start: dict[str, Any] | None) -> None:
    """Write the page that needs no server."""
    from augury.extras import needs
    from augury.files import named

    with needs("the page"):
        from augury.apps.explore.static import write_static
    with named(str(folder)):
        write_static(folder, start)
    print(f"The page is at {folder / 'index.html'}")


async def _serve(app: FastAPI, config: Config, listener: socket.socket, browser: bool) -> None:
    """Serve once everything is compiled; print the address, and open it if asked to."""
    from uvicorn import Server

    from augury.errors import InputError

    ready = app.state.workers
    print(WARMING, file=sys.stderr, flush=True)
    try:
        await ready.warm()
    except RuntimeError as error:
        raise InputError(str(error)) from None
    url = _url(listener)
    try:
        print(f"Augury is at {url}  (Ctrl-C stops it)", flush=True)
        if browser:
            import webbrowser

            webbrowser.open(url)
        await Server(config).serve(sockets=[listener])
    finally:
        await ready.close()


def _example(file: str, cost: bool, ignore_costs: bool, maximise: bool | None) -> dict[str, Any]:
    """Return the file's graph as the first example of the page."""
    from augury.apps.commands.terminal import read, read_options
    from augury.apps.explore.limits import Limits
    from augury.apps.explore.worker import refuse_large, written
    from augury.files import named

    options = read_options(False, None, None, None, ignore_costs, cost, maximise, None)
    graph = read(file, options)
    limits = Limits()
    with named(file):
        refuse_large(graph, limits.nodes, limits.edges, " for the page")
        told = written(graph)
    name = "standard input" if file == "-" else Path(file).name
    return {"name": name, "about": "The graph that you started with.", "graph": told}


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that is already listening, so that an early browser waits."""
    import socket

    from augury.errors import InputError

    try:
        [(family, *_, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{host} is no address to listen on: {reason}") from None
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(address, family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
        raise InputError(
            f"cannot listen on {host}, port {port}: {reason}; --port 0 takes any free port"
        ) from None


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"  # a browser cannot open the address of all interfaces
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
