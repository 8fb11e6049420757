"""The page and its API, as an application for uvicorn: `make_app`.

    POST /api/v1/solve      a graph to a matching or flow with its certificate
    POST /api/v1/story      a graph to one or two stories: every step of a run
    GET  /api/v1/models     networks, families of graphs, limits
    GET  /api/v1/generate   a family and a seed to a graph

An error is an object with one sentence, {"error": "…"}. The work is done by `Workers`; files of
the page come from a table, so no path from a request ever reaches the file system.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

from augury import __version__
from augury.apps.explore.guard import HEADERS, Guard, problem
from augury.apps.explore.limits import Limits
from augury.apps.explore.requests import (
    CLASSICAL,
    MAX_SEED,
    MODELS,
    SolveRequest,
    StoryRequest,
    one_of,
    sentence_of,
)
from augury.apps.explore.workers import Busy, Workers
from augury.classical.generate import FAMILIES, MAX_COST
from augury.page import SERVED, SHEETS, asset, served_page

ABOUT = CLASSICAL | {
    "discrete": "our network: nothing continuous survives a step; proven exact",
    "paper-mpnn": "the paper's network (MPNN), distances in 8 bits",
    "paper-pna": "the paper's PNA with the standard deviation, which the paper rejects",
    "paper-pna-nostd": "the paper's PNA without the standard deviation",
}


class Problem(BaseModel):
    """What is wrong, in one sentence."""

    error: str


class SolutionAnswer(BaseModel):
    """A matching or flow and its certificate."""

    model_config = ConfigDict(extra="allow")

    size: int
    is_maximum: bool
    certificate: dict[str, Any]


class StoryAnswer(BaseModel):
    """Stories in the format augury-story; those of large graphs without nodes and arcs."""

    stories: list[dict[str, Any]]
    first_difference: dict[str, Any] | None


class ModelsAnswer(BaseModel):
    """What there is to choose from, and how much of it."""

    version: str
    models: list[dict[str, Any]]
    families: list[dict[str, Any]]
    limits: dict[str, float]


class GraphAnswer(BaseModel):
    """A graph as the JSON format of the command has it."""

    model_config = ConfigDict(extra="allow")


if TYPE_CHECKING:
    Parameters = BaseModel
else:
    KINDS_OF_NUMBER = {
        float: Annotated[float, Field(allow_inf_nan=False)],
        int: Annotated[int, Field(ge=-(2**62), le=2**62)],
    }
    # The parameters of all families, read from their signatures.
    Parameters = create_model(
        "Parameters",
        __config__=ConfigDict(extra="forbid"),
        family=(Annotated[str, *one_of(FAMILIES)], ...),
        seed=(Annotated[int, Field(ge=0, le=MAX_SEED)], 0),
        costs_to=(Annotated[int, Field(ge=1, le=MAX_COST)] | None, None),
        **{
            parameter.name: (KINDS_OF_NUMBER[parameter.kind] | None, None)
            for family in FAMILIES.values()
            for parameter in family.parameters
        },
    )

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": what}
    for status, what in {
        400: "This is not a request for this server.",
        403: "A page of another origin asks.",
        408: "The request took too long to arrive.",
        413: "Too large: the body, the graph, or what it unpacks to.",
        422: "Not understood, not possible, or it took too long and was stopped.",
        429: "All workers are busy; try again.",
        500: "A fault of the server.",
    }.items()
}

KINDS = {"css": "text/css", "js": "text/javascript", "json": "application/json"}
"""Media types of the page's files, by their ending; the page itself has none."""


def make_app(
    limits: Limits | None = None, *, host: str = "127.0.0.1", start: dict[str, Any] | None = None
) -> FastAPI:
    """Return the application.

    Args:
        limits: what it takes on.
        host: the name that requests may call it by, besides addresses and localhost.
        start: an example that the page shows first: "name", "about" and "graph".
    """
    limits = limits or Limits()
    workers = Workers(limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            await workers.warm()
            yield
        finally:
            await workers.close()

    app = FastAPI(
        title="Augury",
        version=__version__,
        description="Maximum bipartite matchings and flows by a graph neural network.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    app.state.workers = workers
    app.add_middleware(Guard, limits=limits, host=host)
    _add_problems(app)
    _add_api(app, limits)
    _describe_bodies(app)
    _add_page(app, start)
    return app


def _add_api(app: FastAPI, limits: Limits) -> None:
    workers: Workers = app.state.workers

    @app.post("/api/v1/solve", response_model=SolutionAnswer, responses=PROBLEMS)
    async def solve(request: Request) -> Response:
        """Find a maximum matching or flow and prove it."""
        return await _answered(workers, request, "solve", await _json_of(request))

    @app.post("/api/v1/story", response_model=StoryAnswer, responses=PROBLEMS)
    async def story(request: Request) -> Response:
        """Run a network, or two, and tell every step."""
        return await _answered(workers, request, "story", await _json_of(request))

    @app.get("/api/v1/models", response_model=ModelsAnswer, responses=PROBLEMS)
    async def models() -> dict[str, Any]:
        """List networks, families of graphs and limits."""
        return {
            "version": __version__,
            "models": [{"name": name, "about": ABOUT.get(name, "")} for name in MODELS],
            "families": [
                {
                    "name": name,
                    "about": family.summary,
                    "parameters": [
                        parameter._asdict() | {"kind": parameter.kind.__name__}
                        for parameter in family.parameters
                    ],
                }
                for name, family in FAMILIES.items()
            ],
            "limits": asdict(limits),
        }

    @app.get("/api/v1/generate", response_model=GraphAnswer, responses=PROBLEMS)
    async def generate(request: Request, asked: Annotated[Parameters, Query()]) -> Response:
        """Draw a graph of a family."""
        given = asked.model_dump(exclude_none=True)
        task = {name: given.pop(name, None) for name in ("family", "seed", "costs_to")}
        task["parameters"] = given
        return await _answered(workers, request, "generate", json.dumps(task).encode())


async def _json_of(request: Request) -> bytes:
    """Return a body as it is; a page of another origin cannot send this type without asking."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(422, "send JSON, with the content type application/json")
    return await request.body()


async def _answered(workers: Workers, request: Request, task: str, body: bytes) -> Response:
    """Let a worker answer; if the client leaves first, its task is dropped."""
    work = asyncio.create_task(workers.run(task, body))
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return Response(status_code=499)  # nobody reads it
        status, told = work.result()
        return Response(told, status, media_type="application/json")
    except Busy:
        told = "all workers are busy and enough requests are waiting; try again in a moment"
        return problem(429, told, {"retry-after": "2"})
    finally:
        work.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _describe_bodies(app: FastAPI) -> None:
    """Add to the API's description what the workers read, which FastAPI cannot know."""
    kinds = {"solve": SolveRequest, "story": StoryRequest}
    described = app.openapi()
    _, schemas = models_json_schema(
        [(kind, "validation") for kind in kinds.values()],
        ref_template="#/components/schemas/{model}",
    )
    described["components"]["schemas"] |= schemas["$defs"]
    for name, kind in kinds.items():
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        described["paths"][f"/api/v1/{name}"]["post"]["requestBody"] = body


def _add_page(app: FastAPI, start: dict[str, Any] | None) -> None:
    """Serve the files of the page, each by its name and no other."""
    examples = json.loads(asset("examples.json"))
    texts = {name: asset(name) for name in ("page.css", *SERVED, *SHEETS)}
    texts["examples.json"] = json.dumps([start, *examples] if start else examples)
    texts[""] = served_page()

    def add(name: str, text: str) -> None:
        kind = KINDS.get(name.rpartition(".")[2], "text/html")

        async def send() -> Response:
            return Response(text, media_type=f"{kind}; charset=utf-8")

        app.add_api_route(f"/{name}", send, include_in_schema=False)

    for name, text in texts.items():
        add(name, text)


def _add_problems(app: FastAPI) -> None:
    """Make every refusal the same kind of object."""

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(422, sentence_of((), error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        words = {404: "there is nothing here", 405: "this method is not for this address"}
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, words.get(error.status_code, error.detail), headers)

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        return problem(500, "something went wrong; the server's log says what", HEADERS)
