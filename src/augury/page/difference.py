"""Two stories of one graph become the first place where they decide differently."""

from __future__ import annotations

from typing import Any, NamedTuple

from augury.errors import InputError

Story = dict[str, Any]


def first_difference(one: Story, other: Story) -> dict[str, Any] | None:
    """Return the first place where two stories decide differently, None if they never do.

    Searches are compared step by step as far as both go: what the nodes hold and which predecessors
    they have; where one story has distances and the other reached bits, only which nodes are
    reached. The paper's network says that in its separate reachability search: it never learnt a
    distance for nodes that are not reached. Then come what they say about being done, the paths,
    bottlenecks and capacities, and the verdict. A search that only takes more steps does not
    differ.

    Returns:
        "round", "step" (None where it is not a step that differs), "what" differs ("state",
        "parent", "says_done", "path", "bottleneck", "augmentation", "price", "verdict" or "end"),
        and the "nodes" and "arcs" on which it does.

    Raises:
        InputError: the stories are not about the same graph, or not the same weights.
    """
    if one["graph"] != other["graph"]:
        raise InputError("the two stories are of different graphs")
    for number, (a, b) in enumerate(zip(one["rounds"], other["rounds"], strict=False)):
        if a["weights"] != b["weights"]:
            raise InputError(f"the two stories have different weights in round {number}")
        found = _step_difference(*(_Search.of(*pair) for pair in ((one, a), (other, b))))
        found = found or _round_difference(a, b)
        if found is not None:
            place = {"round": number, "step": None, "nodes": [], "arcs": []}
            return place | found
    lengths = len(one["rounds"]), len(other["rounds"])
    if lengths[0] != lengths[1]:
        return {"round": min(lengths), "step": None, "what": "end", "nodes": [], "arcs": []}
    return None


class _Search(NamedTuple):
    """What the nodes of a round hold after each step."""

    kind: str
    states: list[list[Any]]
    parents: list[list[int]]
    reached: list[list[bool]]
    """Which nodes are reached after each step; empty where the story does not say."""

    @classmethod
    def of(cls, story: Story, round_: dict[str, Any]) -> _Search:
        states = [step["state"] for step in round_["steps"]]
        if round_["state"] == "reached":
            reached = [[bit == 1 for bit in state] for state in states]
        elif story["model"]["kind"] == "classical":
            reached = [[value is not None for value in state] for state in states]
        else:
            reached = [[bit == 1 for bit in step["state"]] for step in round_["reach"] or []]
        return cls(round_["state"], states, [step["parent"] for step in round_["steps"]], reached)


def _step_difference(a: _Search, b: _Search) -> dict[str, Any] | None:
    compared = [("state", a.reached, b.reached)]
    if a.kind == b.kind:
        compared = [("state", a.states, b.states), ("parent", a.parents, b.parents)]
    for number in range(min(len(side) for _, *both in compared for side in both)):
        for what, mine, theirs in compared:
            pairs = list(zip(mine[number], theirs[number], strict=True))
            nodes = [node for node, (x, y) in enumerate(pairs) if x != y]
            if nodes:
                arcs = {arc for node in nodes for arc in pairs[node]} - {-1}
                told = sorted(arcs) if what == "parent" else []
                return {"step": number, "what": what, "nodes": nodes, "arcs": told}
    return None


def _round_difference(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any] | None:
    if a["says_done"] != b["says_done"]:
        return {"what": "says_done"}
    arcs = [{arc for path in told["paths"] for arc in path["arcs"]} for told in (a, b)]
    if arcs[0] != arcs[1]:
        return {"what": "path", "arcs": sorted(arcs[0] ^ arcs[1])}
    for what, key in (("bottleneck", "proposed"), ("augmentation", "kept")):
        told = [{tuple(path["arcs"]): path[key] for path in told["paths"]} for told in (a, b)]
        for path in told[0]:
            if told[0][path] != told[1].get(path):
                return {"what": what, "arcs": list(path)}
    steps = [told.get("step") or {"arcs": [], "proposed": []} for told in (a, b)]
    if any(steps[0][key] != steps[1][key] for key in ("arcs", "proposed")):
        return {"what": "price", "arcs": sorted({arc for step in steps for arc in step["arcs"]})}
    return {"what": "verdict"} if a["verdict"] != b["verdict"] else None
