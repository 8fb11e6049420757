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


def test_certify_says_whether_the_cost_is_least(augury: Augury) -> None:
    Path("hours.csv").write_text(
        "person,job,hours\nann,cook,4\nann,sing,1\nbob,cook,2\nbob,sing,1\n"
    )
    augury("solve", "hours.csv", "--output", "best.json")
    code, out, err = augury("certify", "hours.csv", "best.json")
    assert (code, err) == (0, "")
    assert out.startswith("legal, size 2, cost 3\ncertified maximum of least cost: ")
    Path("worse.csv").write_text("ann,cook\nbob,sing\n")
    code, out, err = augury("certify", "hours.csv", "worse.csv")
    assert (code, err) == (0, "")
    assert "maximum, but not of the best cost: a change around " in out
    assert out.endswith(" makes it better by 2\n")
    greatest = augury("certify", "hours.csv", "worse.csv", "--maximise")
    assert "certified maximum of greatest cost" in greatest.out
    told = json.loads(augury("certify", "hours.csv", "worse.csv", "--json").out)
    assert (told["cost"], told["optimal"], told["saving"]["saves"]) == (5, False, 2)
    assert "cost" not in augury("certify", "hours.csv", "worse.csv", "--ignore-costs").out


def test_certify_takes_prices_of_other_programs(augury: Augury) -> None:
    Path("hours.csv").write_text(
        "person,job,hours\nann,cook,4\nann,sing,1\nbob,cook,2\nbob,sing,1\n"
    )
    augury("solve", "hours.csv", "--output", "best.json")
    Path("duals.json").write_text('{"u": [1, 1], "v": [1, 0]}')
    for prices in ("best.json", "duals.json"):
        done = augury("certify", "hours.csv", "best.json", "--prices", prices)
        assert (done.code, "of least cost" in done.out) == (0, True)
        assert "prove nothing" not in done.out
    Path("wrong.json").write_text('{"u": [9, 9], "v": [9, 0]}')
    done = augury("certify", "hours.csv", "best.json", "--prices", "wrong.json")
    assert done.out.endswith("the prices given prove nothing; others do\n")
    for content, message in {
        "[]": "prices.json: there are no prices",
        '{"u": [1], "v": [1, 0]}': "prices.json: the row 'u' has 1 prices for 2 nodes",
        '{"u": ["x", 1], "v": [1, 0]}': "prices.json: the prices have no row of numbers 'u'",
    }.items():
        Path("prices.json").write_text(content)
        done = augury("certify", "hours.csv", "best.json", "--prices", "prices.json")
        assert (done.code, done.out) == (2, "")
        assert message in done.err
    done = augury("certify", "jobs.csv", "best.json", "--prices", "duals.json")
    assert "prices prove something only where there are costs" in done.err


def test_certify_reads_flows_with_costs(augury: Augury) -> None:
    Path("ships.min").write_text("p min 2 2\nn 1 4\nn 2 -4\na 1 2 1 4 9\na 1 2 0 4 5\n")
    augury("solve", "ships.min", "--output", "flow.json")
    done = augury("certify", "ships.min", "flow.json", "--prices", "flow.json")
    assert done.out.startswith("legal, size 4, cost 24\ncertified of least cost: ")
    for claim, message in {
        "1,2,9\n": "carries 1 more than they can carry",
        "1,2,3\n": "not a flow of ships.min: ",
        "2,1,3\n": "not a flow of ships.min: ",
        "1,3,3\n": "claim.csv, line 1: '3' is not a node of the graph",
    }.items():
        Path("claim.csv").write_text(claim)
        done = augury("certify", "ships.min", "claim.csv")
        assert (done.code, done.out) == (2, "")
        assert message in done.err
