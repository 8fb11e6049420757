"""The body of a request becomes a task, or one sentence that says what is wrong with it.

Workers read bodies, not the server: four megabytes of JSON can become gigabytes of objects, and
workers have limits on time and memory. Reading stops at the first fault, however many there are.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from augury.errors import InputError
from augury.models import MODELS as FOLDER

CLASSICAL = {
    "classical": "breadth-first search, without a network",
    "bellman-ford": "the paper's search by random weights, without a network",
}
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
MODELS = (*SHIPPED, *CLASSICAL)
"""What can run the subroutines. Names only: a path from a request would be a way to read files."""

MAX_SEED = 2**53 - 1
"""The largest integer that every JSON reader takes exactly."""
MOST_LETTERS = 380
"""The most in an error message: as many as the package's own messages have."""


def one_of(names: Collection[str]) -> Any:
    """Return annotations that allow only these names, and list them in the API's description."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"{shortened(name)!r} is none of {', '.join(names)}")
        return name

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(names)})


Model = Annotated[str, *one_of(MODELS)]
Label = StrictStr | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Labels = Annotated[list[Label], Field(fail_fast=True)]
Capacity = Annotated[int, Field(strict=True)]
Cost = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """An object of a request; a field that it does not have is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_known_fields(cls, given: Any) -> Any:
        # Pydantic would list them all.
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                raise ValueError(f"there is no field {shortened(name)!r}")
        return given


class Graph(Body):
    """A graph: as text or bytes of any format that `augury solve` reads, or as edges or arcs."""

    text: str | None = Field(None, description="The text of a file.")
    data: str | None = Field(None, description="The bytes of a file in base64, also gzip.")
    name: str | None = Field(None, max_length=200, description="File name; its ending is a hint.")
    flow: bool = Field(False, description="Read a flow network where it could be either.")
    header: bool | None = Field(None, description="Whether an edge list starts with a header.")
    cost: bool = Field(False, description="Read numbers without a name as costs.")
    ignore_costs: bool = Field(False, description="Read edges and ignore costs or weights.")
    left: int | Labels | None = Field(None, description="Left nodes, listed or counted.")
    right: int | Labels | None = Field(None, description="Right nodes, listed or counted.")
    edges: Annotated[list[tuple[Label, Label]], Field(fail_fast=True)] | None = Field(
        None, description="(left, right) pairs."
    )
    nodes: int | Labels | None = Field(None, description="Nodes of a flow network.")
    arcs: Annotated[list[tuple[Label, Label, Capacity]], Field(fail_fast=True)] | None = Field(
        None, description="(tail, head, capacity) of a flow network."
    )
    source: Label | None = Field(None, description="Label of the source of a flow network.")
    sink: Label | None = Field(None, description="Label of the sink of a flow network.")
    costs: Annotated[list[Cost], Field(fail_fast=True)] | None = Field(
        None, description="A cost for each edge or arc."
    )
    sense: Literal["least", "greatest"] | None = Field(
        None, description="Whether the least sum of costs is looked for, or the greatest."
    )
    lower: Annotated[list[Capacity], Field(fail_fast=True)] | None = Field(
        None, description="The least that each arc carries; needs supplies."
    )
    supply: Annotated[list[tuple[Label, Capacity]], Field(fail_fast=True)] | None = Field(
        None, description="(node, amount) in place of source and sink; negative for a demand."
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
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


class SolveRequest(Body):
    """A graph and who solves it."""

    graph: Graph
    model: Model = Field("discrete", description="Who runs the subroutines.")
    exact: bool = Field(True, description="Finish by classical search a run that ended early.")
    seed: int = Field(0, ge=0, le=MAX_SEED, description="Of the random weights.")
    maximise: bool | None = Field(
        None,
        description="Look for the greatest sum of costs, or the least; null: as the graph says.",
    )

    def to_task(self) -> dict[str, Any]:
        """Return it for a worker."""
        return self.model_dump(exclude={"graph"}) | {"graph": self.graph.to_task()}


class StoryRequest(SolveRequest):
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


def read(kind: type[SolveRequest], body: bytes) -> dict[str, Any]:
    """Return the task that the JSON of a body describes; refuse anything else."""
    try:
        return kind.model_validate(json.loads(body)).to_task()
    except ValidationError as error:
        raise InputError(sentence_of(("body",), error.errors(include_url=False)[0])) from None
    except RecursionError:
        raise InputError("body: this is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"body: this is not JSON: {error.msg.lower()} at {place}") from None
    except ValueError:  # not UTF-8, or a number of thousands of digits
        raise InputError("body: this is not JSON") from None


def sentence_of(above: tuple[str, ...], fault: Any) -> str:
    """Return what Pydantic found wrong, and where."""
    place = ".".join(str(part) for part in (*above, *fault["loc"]))
    text = str(fault["msg"]).removeprefix("Value error, ")
    if text[1:2].islower():  # not an abbreviation
        text = text[0].lower() + text[1:]
    return f"{place}: {text}"


def shortened(text: str, most: int = 40) -> str:
    """Return at most this many letters of a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
