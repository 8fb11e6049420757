"""`augury solve`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from augury import __version__
from command import JOBS, Augury


def test_a_matching_is_printed_with_its_proof(augury: Augury) -> None:
    code, out, err = augury("solve", "jobs.csv")
    assert (code, err) == (0, "")
    assert out == (
        "matching of 2 in a bipartite graph of 2 + 2 nodes and 3 edges\n"
        "discrete executor (table engine), 1 round, done\n"
        "certified maximum: 2 nodes cover every edge: ann, bob\n"
        "\nleft  right\nann   cook\nbob   sing\n"
    )


def test_a_flow_is_printed_with_its_proof(augury: Augury) -> None:
    code, out, err = augury("solve", "pipes.max", "--model", "bellman-ford")
    assert (code, err) == (0, "")
    assert out.startswith("flow of 5 in a network of 4 nodes and 5 arc pairs\nbellman-ford exec")
    assert "certified maximum: a cut of capacity 5, source side: " in out
    assert "\ntail  head  flow\n" in out


def test_json_has_the_promised_keys(augury: Augury) -> None:
    answer = json.loads(augury("solve", "jobs.csv", "--json").out)
    assert answer["matching"] == [["ann", "cook"], ["bob", "sing"]]
    assert {"size", "is_maximum", "rounds", "executor"} < set(answer)
    assert (answer["size"], answer["is_maximum"], answer["executor"]) == (2, True, "discrete")
    assert (answer["file"], answer["seed"], answer["version"]) == ("jobs.csv", 0, __version__)
    assert "matching" not in json.loads(augury("solve", "pipes.max", "--json").out)
    assert json.loads(augury("solve", "pipes.max", "--json").out)["size"] == 5


def test_formats_and_output_files(augury: Augury) -> None:
    assert augury("solve", "jobs.csv", "--format", "csv").out == "left,right\nann,cook\nbob,sing\n"
    assert augury("solve", "jobs.csv", "--format", "table").out.startswith("left  right\n")
    for name in ("answer.json", "answer.csv", "answer.txt"):
        done = augury("solve", "jobs.csv", "--output", name)
        assert done.code == 0
        assert f"written to {name}\n" in done.out
    assert json.loads(Path("answer.json").read_text())["size"] == 2
    assert Path("answer.csv").read_text() == "left,right\nann,cook\nbob,sing\n"
    assert Path("answer.txt").read_text() == "left  right\nann   cook\nbob   sing\n"
    done = augury("solve", "jobs.csv", "--output", "again.txt", "--json")
    assert json.loads(done.out)["size"] == 2
    assert Path("again.txt").exists()


def test_only_the_first_of_many_pairs_are_shown_and_the_rest_counted(augury: Augury) -> None:
    assert augury("generate", "complete", "--n", "30", "--output", "big.csv").code == 0
    lines = augury("solve", "big.csv").out.splitlines()
    assert lines[-1] == "… and 10 more: --format csv or --output FILE gives all"
    assert len(lines) == 3 + 1 + 1 + 20 + 1
    assert len(augury("solve", "big.csv", "--format", "csv").out.splitlines()) == 31


def test_labels_with_brackets_are_printed_unchanged(augury: Augury) -> None:
    Path("odd.csv").write_text("left,right\n[bold]ann[/bold],[red]\n")
    out = augury("solve", "odd.csv").out
    assert "\n[bold]ann[/bold]  [red]\n" in out
    assert "covers every edge: [bold]ann[/bold]\n" in out
    assert "\x1b" not in out


def test_flow_edge_lists_take_source_and_sink(augury: Augury) -> None:
    Path("arcs.csv").write_text("well,a,3\na,town,2\n")
    done = augury("solve", "arcs.csv", "--flow", "--source", "well", "--sink", "town", "--json")
    assert json.loads(done.out)["flow"] == [["well", "a", 2], ["a", "town", 2]]


def test_who_a_source_reaches_is_printed_with_its_proof(augury: Augury) -> None:
    Path("roads.csv").write_text("from,to\nhome,shop\nshop,park\nlake,home\n")
    code, out, err = augury(
        "solve", "roads.csv", "--algorithm", "reachability", "--source", "home", "--html", "r.html"
    )
    assert (code, err) == (0, "")
    assert out == (
        "3 nodes reached in a network of 4 nodes and 3 arc pairs\n"
        "discrete executor (lookup engine), 1 round, done\n"
        "certified maximum: no arc leaves the 3 nodes reached, and no path is shorter\n"
        "written to r.html\n"
    )
    reach = "solve", "roads.csv", "--algorithm", "reachability"
    assert augury(*reach, "--source", "home", "--format", "csv").out == (
        'node,steps,predecessor\nhome,0,""\nshop,1,home\npark,2,shop\n'
    )
    for arguments, message in (
        ((), "nothing says which node is the source: name it with --source"),
        (("--source", "sea"), "the source 'sea' is not a node of the network"),
        (("--source", "home", "--model", "paper-pna"), "executes ford-fulkerson, not reachability"),
    ):
        done = augury(*reach, *arguments)
        assert done.code == 2 and message in done.err
    done = augury("solve", "roads.csv", "--algorithm", "flood")
    assert done.code == 2 and "'flood' is not one of the algorithms ford-fulkerson" in done.err


def test_the_old_names_of_options_work_and_say_so(augury: Augury) -> None:
    done = augury("solve", "jobs.csv", "--executor", "classical", "--trace", "run.json")
    assert done.code == 0 and done.out.splitlines()[1].startswith("classical executor, 2 rounds")
    assert done.err == (
        "augury: --executor is called --model: --model classical\n"
        "augury: --trace is called --story: --story run.json\n"
    )
    assert json.loads(Path("run.json").read_text())["format"] == "augury-story"
    both = augury("solve", "jobs.csv", "--executor", "classical", "--model", "discrete")
    assert both.code == 2 and "name two executors" in both.err
    assert "table engine" in augury("solve", "jobs.csv", "--executor", "neural").out
    out = augury("solve", "--help").out
    assert "--executor" not in out and "--trace" not in out


def test_several_files_or_a_folder_are_one_batch(augury: Augury) -> None:
    Path("folder").mkdir()
    Path("folder", "b.csv").write_text(JOBS)
    Path("folder", "a.max").write_text(Path("pipes.max").read_text())
    Path("folder", "README").write_text("not a graph")
    code, out, err = augury("solve", "jobs.csv", "folder")
    assert (code, err) == (0, "")
    assert out == (
        "file          answer    size  rounds  proof\n"
        "jobs.csv      matching  2     1       certified maximum\n"
        "folder/a.max  flow      5     2       certified maximum\n"
        "folder/b.csv  matching  2     1       certified maximum\n"
        "3 of 3 answers certified maximum\n"
    )
    told = json.loads(augury("solve", "jobs.csv", "folder", "--json").out)["solutions"]
    assert [answer["file"] for answer in told] == ["jobs.csv", "folder/a.max", "folder/b.csv"]
    alone = json.loads(augury("solve", "jobs.csv", "--json").out)
    assert told[0] == alone
    assert augury("solve", "jobs.csv", "jobs.csv", "--format", "csv").out == 2 * (
        "left,right\nann,cook\nbob,sing\n"
    )
    Path("answers").mkdir()
    assert augury("solve", "folder", "--output", "answers").code == 0
    assert sorted(path.name for path in Path("answers").glob("[!.]*")) == [
        "a.max.json",
        "b.csv.json",
    ]
    assert json.loads(Path("answers", "b.csv.json").read_text())["size"] == 2
    assert augury("solve", "folder", "--output", "answers", "--format", "csv").code == 0
    assert Path("answers", "a.max.csv").read_text().startswith("tail,head,flow\n")


def test_another_network_may_solve_and_need_not_be_finished_classically(augury: Augury) -> None:
    out = augury("solve", "jobs.csv", "--model", "paper-mpnn").out
    assert "\npaper-mpnn executor (fast engine), 2 rounds, done\n" in out
    # The one path left is so long that its distance passes eight bits.
    assert augury("generate", "path-state", "--n", "40", "--output", "long.max").code == 0
    network = "--model", "paper-mpnn"
    out = augury("solve", "long.max", *network).out
    who = "\npaper-mpnn executor (fast engine), "
    assert f"{who}1 round (0 neural, 1 classical), gave up\ncertified max" in out
    out = augury("solve", "long.max", *network, "--no-exact").out
    assert f"{who}0 rounds, gave up\nlegal, but 1 short of the maximum\n" in out


def test_an_engine_may_be_chosen(augury: Augury) -> None:
    out = augury("solve", "jobs.csv", "--engine", "table").out
    assert "\ndiscrete executor (table engine), 1 round, done\ncertified maximum" in out
    answer = json.loads(augury("solve", "jobs.csv", "--engine", "plain", "--json").out)
    assert answer["engine"] == "plain"
    augury("solve", "jobs.csv", "--engine", "table", "--story", "run.json")
    assert json.loads(Path("run.json").read_text())["model"]["engine"] == "table"
    for options, message in (
        (("--engine", "table", "--model", "paper-mpnn"), "'paper-mpnn' is none"),
        (("--engine", "table", "--model", "classical"), "and classical is none"),
        (("--engine", "warp"), "'warp' is not one of the engines plain"),
    ):
        failed = augury("solve", "jobs.csv", *options)
        assert failed.code == 2 and message in failed.err


def test_the_run_is_written_as_json_and_as_a_page(augury: Augury) -> None:
    done = augury("solve", "jobs.csv", "--story", "run.json", "--html", "run.html")
    assert done.out.endswith("written to run.json\nwritten to run.html\n")
    story = json.loads(Path("run.json").read_text())
    assert (story["format"], story["version"]) == ("augury-story", 1)
    assert story["solution"]["size"] == 2
    assert "<script" in Path("run.html").read_text()
    answer = json.loads(augury("solve", "jobs.csv", "--story", "again.json", "--json").out)
    assert answer["size"] == 2
    assert json.loads(Path("again.json").read_text()) == story


def test_solve_refuses_what_does_not_go_together(augury: Augury) -> None:
    Path("empty").mkdir()
    for arguments, message in {
        ("jobs.csv", "--model", "oracle"): "oracle: there is no such checkpoint",
        ("jobs.csv", "--device", "cpu", "--model", "classical"): "--device is for a network",
        ("jobs.csv", "--json", "--format", "csv"): "--json and --format csv ask for two things",
        ("jobs.csv", "--device", "moon"): "the device is 'moon'",
        ("jobs.csv", "pipes.max", "--story", "t.json"): "--story writes the run on one graph",
        ("jobs.csv", "pipes.max", "--html", "t.html"): "--html writes the run on one graph",
        ("jobs.csv", "--html", "nowhere/t.html"): "nowhere: there is no such folder",
        ("jobs.csv", "pipes.max", "--output", "nowhere/at"): "nowhere: there is no such folder",
        ("jobs.csv", "pipes.max", "--output", "jobs.csv"): "jobs.csv: this is a file, and the answ",
        ("jobs.csv", "jobs.csv", "--output", "empty"): "both answers would be empty/jobs.csv.json",
        ("empty",): "empty: no file in this folder ends in .asn, .csv, ",
        ("jobs.csv", "--cost", "--ignore-costs"): "--ignore-costs and --cost ask for two things",
        ("jobs.csv", "--maximise"): "jobs.csv: there are no costs to maximise",
        ("jobs.csv", "--cost", "--algorithm", "ford-fulkerson"): "which would ignore costs: give",
        ("jobs.csv", "--cost"): "jobs.csv, line 1: there is no column of costs",
        ("pipes.max", "--supply", "jobs.csv"): "jobs.csv, line 1: the supply is 'job', not a",
        ("pipes.max", "--supply", "no.csv"): "no.csv: there is no such file",
        ("pipes.max", "--perfect"): "a perfect matching is one of a bipartite graph",
        ("jobs.csv", "--algorithm", "assignment"): "there is no column of costs",
        ("-", "--supply", "-"): "only one file can come from standard input",
        (
            "jobs.csv",
            "--supply",
            "s.csv",
            "--output",
            "s.csv",
        ): "--output names s.csv, which is read",
        ("-", "-"): "only one file can come from standard input",
    }.items():
        code, out, err = augury("solve", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert not list(Path("empty").iterdir())


def test_the_folder_for_several_answers_is_made(augury: Augury) -> None:
    assert augury("solve", "jobs.csv", "pipes.max", "--output", "answers").code == 0
    names = {path.name for path in Path("answers").glob("[!.]*")}
    assert names == {"jobs.csv.json", "pipes.max.json"}
    both = augury("solve", "jobs.csv", "--output", "answer.csv", "--format", "csv", "--json")
    assert json.loads(both.out)["size"] == 2
    assert Path("answer.csv").read_text().startswith("left,right\n")


def test_a_missing_output_folder_is_refused_before_the_work(augury: Augury) -> None:
    done = augury("solve", "there-is-no-graph-either.csv", "--output", "no/answer.json")
    assert done.code == 2
    assert done.err == "augury: no: there is no such folder\n"


HOURS = "person,job,hours\nann,cook,4\nann,sing,1\nbob,cook,2.5\nbob,sing,1\n"


def test_an_assignment_is_printed_with_its_cost_and_its_proof(augury: Augury) -> None:
    Path("hours.csv").write_text(HOURS)
    code, out, err = augury("solve", "hours.csv")
    assert (code, err) == (0, "")
    first, _, proof, *rest = out.splitlines()
    assert (
        first
        == "matching of 2, cost 3.5, in a bipartite graph of 2 + 2 nodes and 4 edges with costs"
    )
    assert proof.startswith("certified maximum of least cost: 2 nodes cover every edge: ")
    assert proof.endswith("; the prices of the nodes prove the least cost")
    assert rest == ["", "left  right  cost", "ann   sing   1.0", "bob   cook   2.5"]
    for option in ("--maximise", "--maximize"):
        assert augury("solve", "hours.csv", option).out.startswith("matching of 2, cost 5.0, in")
    least = augury("solve", "hours.csv", "--minimize", "--json")
    answer = json.loads(least.out)
    assert (answer["cost"], answer["is_optimal"], answer["gap"]) == (3.5, True, 0)
    assert set(answer["certificate"]["prices"]) == {"left", "right", "source", "sink"}
    plain = augury("solve", "hours.csv", "--ignore-costs").out
    assert "cost" not in plain
    refused = augury("solve", "hours.csv", "--algorithm", "ford-fulkerson")
    assert (refused.code, "--ignore-costs" in refused.err) == (2, True)


def test_numbers_without_a_name_are_what_the_options_say(augury: Augury) -> None:
    Path("three.csv").write_text("s,t,3\na,t,2\n")
    refused = augury("solve", "three.csv")
    assert refused.code == 2
    assert all(way in refused.err for way in ("--cost", "--capacity", "--ignore-costs"))
    for option in (("--cost",), ("--algorithm", "assignment")):
        assert augury("solve", "three.csv", *option).out.startswith("matching of 1, cost 2, in")
    for option in ("--capacity", "--flow"):
        assert augury("solve", "three.csv", option).out.startswith("flow of 3 in")
    Path("four.csv").write_text("s,t,3,5\n")
    out = augury("solve", "four.csv", "--algorithm", "min-cost-flow").out
    assert out.startswith("flow of 3, cost 15, in a network")


def test_what_has_no_answer_is_said_with_its_proof_and_exit_code_1(augury: Augury) -> None:
    Path("hall.csv").write_text(
        "person,job,hours\nann,cook,4\nbob,cook,2\nbob,sing,1\neve,cook,3\n"
    )
    code, out, err = augury("solve", "hall.csv")
    assert code == 0
    Path("hall.csv").write_text(Path("hall.csv").read_text() + "bob,bake,3\n")
    code, out, err = augury("solve", "hall.csv", "--perfect")
    assert (code, err) == (1, "")
    assert "there is no answer: no matching is perfect: 2 left nodes have only 1 neigh" in out
    assert "ann, eve" in out and "left  right" not in out
    code, out, _ = augury("solve", "hall.csv", "--perfect", "--json")
    answer = json.loads(out)
    assert (code, answer["matching"], answer["certificate"]["shortage"]["need"]) == (1, [], 2)
    code, out, _ = augury("solve", "hall.csv", "jobs.csv", "--perfect")
    assert code == 1 and "1 of 2 answers certified" in out


def test_supplies_come_from_a_file(augury: Augury) -> None:
    Path("arcs.csv").write_text("tail,head,capacity,cost\na,b,3,1\nb,c,2,0\na,c,1,5\n")
    Path("supply.csv").write_text("node,supply\na,3\nc,-3\n")
    code, out, err = augury("solve", "arcs.csv", "--supply", "supply.csv")
    assert (code, err) == (0, "")
    assert out.startswith("flow of 3, cost 7, in a network of 3 nodes and 3 arcs with costs\n")
    assert "\ncertified of least cost: the prices of the nodes prove the least cost\n" in out
    Path("supply.csv").write_text("node,supply\na,4\nc,-4\n")
    code, out, err = augury("solve", "arcs.csv", "--supply", "supply.csv")
    assert (code, "no flow meets the supplies: 2 nodes have to get rid of 4" in out) == (1, True)
    wrong = augury("solve", "arcs.csv", "--supply", "supply.csv", "--source", "a")
    assert (wrong.code, "so nothing is asked of a source" in wrong.err) == (2, True)
    assert (
        "--supply is for a list of arcs"
        in augury("solve", "pipes.max", "--supply", "supply.csv").err
    )


def test_a_folder_may_hold_graphs_with_and_without_costs(augury: Augury) -> None:
    Path("hours.csv").write_text(HOURS)
    Path("ships.min").write_text("p min 2 1\nn 1 4\nn 2 -4\na 1 2 1 4 9\n")
    code, out, err = augury("solve", ".")
    assert (code, err) == (0, "")
    table = [line.split() for line in out.splitlines()]
    assert table[0] == ["file", "answer", "size", "cost", "rounds", "proof"]
    assert [row[:3] for row in table[1:5]] == [
        ["hours.csv", "matching", "2"],
        ["jobs.csv", "matching", "2"],
        ["pipes.max", "flow", "5"],
        ["ships.min", "flow", "4"],
    ]
    assert (table[1][3], table[4][3]) == ("3.5", "36")
    assert out.endswith("4 of 4 answers certified the best\n")
