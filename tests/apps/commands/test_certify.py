"""`augury certify`: maximum, short and illegal answers are told apart."""

from __future__ import annotations

import json
from pathlib import Path

from command import Augury, Done


def test_certify_tells_maximum_short_and_illegal_answers_apart(augury: Augury) -> None:
    augury("solve", "jobs.csv", "--output", "best.json")
    code, out, err = augury("certify", "jobs.csv", "best.json")
    assert (code, err) == (0, "")
    assert out.startswith("legal, size 2\ncertified maximum: 2 nodes cover every edge")

    Path("short.csv").write_text("left,right\nbob,cook\n")
    done = augury("certify", "jobs.csv", "short.csv")
    assert done == Done(0, "legal, size 1\nlegal, but 1 short of the maximum\n", "")
    told = json.loads(augury("certify", "jobs.csv", "short.csv", "--json").out)
    assert (told["legal"], told["maximum"], told["shortfall"]) == (True, False, 1)

    Path("wrong.csv").write_text("left,right\nann,sing\n")
    fault = "there is no edge between 'ann' and 'sing'"
    sentence = f"augury: wrong.csv: this is not a matching of jobs.csv: {fault}\n"
    assert augury("certify", "jobs.csv", "wrong.csv") == Done(2, "", sentence)
    code, out, err = augury("certify", "jobs.csv", "wrong.csv", "--json")
    assert (code, err, json.loads(out)["fault"]) == (2, sentence, fault)


def test_certify_reads_flows_too(augury: Augury) -> None:
    augury("solve", "pipes.max", "--output", "flow.csv")
    assert "certified maximum: a cut" in augury("certify", "pipes.max", "flow.csv").out
    Path("leak.csv").write_text("tail,head,flow\n1,2,1\n")
    done = augury("certify", "pipes.max", "leak.csv")
    assert (done.code, done.out) == (2, "")
    assert "this is not a flow of pipes.max: flow is not preserved at " in done.err


def test_certify_checks_every_arc_of_a_flow_and_not_the_net(augury: Augury) -> None:
    Path("arcs.csv").write_text("tail,head,capacity\ns,a,3\na,t,3\n")
    ends = "--source", "s", "--sink", "t"
    for claim in ("s,a,5\na,s,2\na,t,3\n", '[["s", "a", 5], ["a", "s", 2], ["a", "t", 3]]'):
        Path("claim").write_text(claim)
        done = augury("certify", "arcs.csv", "claim", *ends)
        assert (done.code, done.out) == (2, "")
        assert "not a flow of arcs.csv: the arc from 's' to 'a' carries 5, but" in done.err
        told = json.loads(augury("certify", "arcs.csv", "claim", *ends, "--json").out)
        assert (told["legal"], told["maximum"], told["size"]) == (False, False, 3)
