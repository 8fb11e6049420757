"""The page and its API, as an application for uvicorn: `make_app`.

    POST /api/v1/solve      a graph to a matching or flow with its certificate
    POST /api/v1/trace      a graph to one or two stories: every step of a run
    GET  /api/v1/models     networks, families of graphs, limits
    GET  /api/v1/generate   a family and a seed to a graph

Whatever is wrong is an object with one sentence, {"error": "…"}. The work is done by `Workers`;
files of the page come from a table, so no path of a request ever meets the file system.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    create_model,
    model_validator,
)
from starlette.exceptions import HTTPException
from starlette.responses import Response

from augury import __version__
from augury.apps.explore.guard import HEADERS, Guard, problem
from augury.apps.explore.limits import Limits
from augury.apps.explore.workers import Busy, Workers
from augury.classical.generate import FAMILIES
from augury.page import SERVED, asset, served_page

CLASSICAL = {
    "classical": "breadth-first search, without a network",
    "bellman-ford": "the paper's search by random weights, without a network",
}
ABOUT = {
    "discrete": "our network: nothing continuous survives a step; proven exact",
    "paper-mpnn": "the paper's network (MPNN), distances in 8 bits",
    "paper-pna": "the paper's PNA with the standard deviation, which the paper rejects",
    "paper-pna-nostd": "the paper's PNA without the standard deviation",
}
SHIPPED = sorted(
    entry.name.removesuffix(".safetensors")
    for entry in (files("augury") / "models").iterdir()
    if entry.name.endswith(".safetensors")
)
MODELS = (*SHIPPED, *CLASSICAL)
"""Who can run the subroutines. Names only: a path from a request would be a way to read files."""

MAX_SEED = 2**53 - 1
"""The largest integer that every reader of JSON takes for what it is."""


def one_of(names: Collection[str]) -> Any:
    """Return what makes a text one of these names, and says so in the API's description."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"{name!r} is none of {', '.join(names)}")
        return name

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(names)})


Model = Annotated[str, *one_of(MODELS)]
Label = StrictStr | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


class Problem(BaseModel):
    """What is wrong, in one sentence."""

    error: str


class Graph(BaseModel):
    """A graph: as text or bytes of any format that `augury solve` reads, or as edges or arcs."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, description="The text of a file.")
    data: str | None = Field(None, description="The bytes of a file in base64, also gzip.")
    name: str | None = Field(None, max_length=200, description="File name; its ending is a hint.")
    flow: bool = Field(False, description="Read a flow network where it could be either.")
    header: bool | None = Field(None, description="Whether an edge list starts with a header.")
    left: int | list[Label] | None = Field(None, description="Left nodes, listed or counted.")
    right: int | list[Label] | None = Field(None, description="Right nodes, listed or counted.")
    edges: list[tuple[Label, Label]] | None = Field(None, description="(left, right) pairs.")
    nodes: int | list[Label] | None = Field(None, description="Nodes of a flow network.")
    arcs: list[tuple[Label, Label, Annotated[int, Field(strict=True)]]] | None = Field(
        None, description="(tail, head, capacity) of a flow network."
    )
    source: Label | None = Field(None, description="Label of the source of a flow network.")
    sink: Label | None = Field(None, description="Label of the sink of a flow network.")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Graph:
        given = [
            name for name in ("text", "data", "edges", "arcs") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"give one of text, data, edges and arcs, not {found}")
        return self

    def to_task(self) -> dict[str, Any]:
        """Return it for a worker; where labels are text, so are source and sink."""
        task = self.model_dump(exclude_none=True)
        if self.text is not None or self.data is not None:
            task |= {end: str(task[end]) for end in ("source", "sink") if end in task}
        return task


class SolveRequest(BaseModel):
    """A graph and who solves it."""

    model_config = ConfigDict(extra="forbid")

    graph: Graph
    model: Model = Field("discrete", description="Who runs the subroutines.")
    exact: bool = Field(True, description="Finish by classical search a run that ended early.")
    seed: int = Field(0, ge=0, le=MAX_SEED, description="Of the random weights.")


class TraceRequest(SolveRequest):
    """A graph, who solves it, and which decisions are the network's own."""

    other: Model | None = Field(None, description="A second network, to compare.")
    many_paths: bool = Field(
        False, description="Take all shortest disjoint paths of a search, as solve does."
    )
    termination: Literal["bfs", "1", "3", "5", "10"] = Field(
        "bfs", description="The network says when it is done, or so many failures end a run."
    )
    neural_bottleneck: bool = True
    neural_augmentation: bool = True


class SolutionAnswer(BaseModel):
    """A matching or flow and its certificate."""

    model_config = ConfigDict(extra="allow")

    size: int
    is_maximum: bool
    certificate: dict[str, Any]


class TraceAnswer(BaseModel):
    """Stories in the format augury-trace; those of large graphs without nodes and arcs."""

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

KINDS = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
}


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

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.workers = workers = Workers(limits)
        warming = asyncio.create_task(workers.warm())
        yield
        warming.cancel()
        with suppress(asyncio.CancelledError):
            await warming
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
    app.add_middleware(Guard, limits=limits, host=host)
    _add_problems(app)
    _add_api(app, limits)
    _add_page(app, start)
    return app


def _add_api(app: FastAPI, limits: Limits) -> None:
    async def answered(task: dict[str, Any]) -> Response:
        try:
            status, body = await app.state.workers.run(task)
        except Busy:
            told = "all workers are busy and enough requests are waiting; try again in a moment"
            return problem(429, told, {"retry-after": "2"})
        return Response(body, status, media_type="application/json")

    @app.post("/api/v1/solve", response_model=SolutionAnswer, responses=PROBLEMS)
    async def solve(request: SolveRequest) -> Response:
        """Find a maximum matching or flow and prove it."""
        given = request.model_dump(exclude={"graph"})
        return await answered({"task": "solve", "graph": request.graph.to_task()} | given)

    @app.post("/api/v1/trace", response_model=TraceAnswer, responses=PROBLEMS)
    async def trace(request: TraceRequest) -> Response:
        """Run a network, or two, and tell every step."""
        given = request.model_dump(exclude={"graph"})
        return await answered({"task": "trace", "graph": request.graph.to_task()} | given)

    @app.get("/api/v1/models", response_model=ModelsAnswer, responses=PROBLEMS)
    async def models() -> dict[str, Any]:
        """List networks, families of graphs and limits."""
        return {
            "version": __version__,
            "models": [
                {"name": name, "about": (ABOUT | CLASSICAL).get(name, "")} for name in MODELS
            ],
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
    async def generate(asked: Annotated[Parameters, Query()]) -> Response:
        """Draw a graph of a family."""
        given = asked.model_dump(exclude_none=True)
        family, seed = given.pop("family"), given.pop("seed")
        task = {"task": "generate", "family": family, "seed": seed, "parameters": given}
        return await answered(task)


def _add_page(app: FastAPI, start: dict[str, Any] | None) -> None:
    """Serve the files of the page, each by its name and no other."""
    examples = json.loads(asset("examples.json"))
    texts = {name: asset(name) for name in ("page.css", *SERVED)}
    texts["examples.json"] = json.dumps([start, *examples] if start else examples)
    texts[""] = served_page()

    def add(name: str, text: str) -> None:
        kind = KINDS[name.rpartition(".")[2] or "html"]

        async def send() -> Response:
            return Response(text, media_type=f"{kind}; charset=utf-8")

        app.add_api_route(f"/{name}", send, include_in_schema=False)

    for name, text in texts.items():
        add(name, text)


def _add_problems(app: FastAPI) -> None:
    """Let every refusal be the same kind of object."""

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        text = first["msg"].removeprefix("Value error, ")
        if text[1:2].islower():  # not JSON
            text = text[0].lower() + text[1:]
        return problem(422, f"{place}: {text}")

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        words = {404: "there is nothing here", 405: "this method is not for this address"}
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, words.get(error.status_code, error.detail), headers)

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        return problem(500, "something went wrong; the server's log says what", HEADERS)
