"use strict";
/*
 * A story (format "augury-story", see augury/watch.py) becomes frames, and each frame becomes what
 * is drawn and a sentence. Nothing here touches the document. A frame is one thing to look at: the
 * start of a round, a step of the search, a step of the separate reachability search, the answer to
 * "is it done?", a path, its augmentation, the end. With costs, arcs are usable where their reduced
 * cost is 0, and where a search stops the prices move: a frame of its own.
 */

/**
 * @typedef {{label: string|number,
 *   role: "source"|"left"|"right"|"node"|"sink"|"excess"|"shortage"}} StoryNode
 */
/** @typedef {[number, number, number]} StoryArc sender, receiver, capacity */
/**
 * @typedef {{state: (number|null)[], parent: number[], belief: (number|null)[]|null,
 *   goes_on: number|null, reached?: number}} Step
 */
/** @typedef {{state: number[], goes_on: number|null, reached?: number}} Reach */
/**
 * @typedef {{arcs: number[], belief: number[]|null, proposed: number, bottleneck: number,
 *   before: number[], kept: number[]|null, verdict: string}} Path
 */
/**
 * How the prices move where the search of a round has stopped: `arcs` lead out of the nodes reached.
 * @typedef {{reached: number[], arcs: number[], proposed: number[], least: number[], price: number[],
 *   reduced: number[], verdict: string, count?: number}} PriceStep
 */
/**
 * @typedef {{number: number, by: string, state: "reached"|"distance", weights: number[],
 *   residual: number[], steps: Step[], reach: Reach[]|null, says_done: boolean, truth: {reachable: boolean}, paths: Path[],
 *   after: number[], value: number, verdict: string, price?: number[], reduced?: number[],
 *   ends?: [number, number], step?: PriceStep}} Round
 */
/**
 * @typedef {{legal: boolean, maximum: boolean, size: number, shortfall: number|null,
 *   optimal?: boolean, prices?: object, fault?: string,
 *   shortage?: {nodes: (string|number)[], need: number, limit: number},
 *   saving?: {around: (string|number)[], saves: number},
 *   cover?: {left: (string|number)[], right: (string|number)[]},
 *   cut?: {source_side: (string|number)[], capacity: number},
 *   closed?: {source: string|number, nodes: number, farthest: number}}} Certificate
 */
/**
 * With costs, those of each arc are in units, of which one is worth the fraction `unit`.
 * @typedef {{kind: "matching"|"flow", nodes: StoryNode[], arcs: StoryArc[], costs?: number[],
 *   unit?: [number, number], sense?: "least"|"greatest", lower?: number[]}} StoryGraph
 */
/**
 * @typedef {{algorithm: string, graph: StoryGraph,
 *   model: {name: string, kind: string, state: "reached"|"distance", termination: string|number,
 *     neural_bottleneck: boolean, neural_augmentation: boolean, many_paths: boolean,
 *     seed: number, infinity: number|null},
 *   rounds: Round[],
 *   solution: {size: number, is_maximum: boolean, cost?: number, is_optimal?: boolean,
 *     certificate: Certificate},
 *   summary?: {nodes: number, arcs: number}}} Story
 */
/**
 * @typedef {{round: number, step: number|null, what: string, nodes?: number[],
 *   arcs?: number[]}} Difference
 */
/** @typedef {"start"|"step"|"reach"|"answer"|"price"|"path"|"augment"|"end"} FrameKind */
/** @typedef {{kind: FrameKind, round: number, step: number, path: number}} Frame */
/**
 * What a drawing shows of a frame. `wrong` are the nodes whose distance is not the true one, which
 * `truth` has. `parent` is the tree, `path` the arcs of the current path; `price`
 * and `reduced` are null without costs. `step` is there while the prices move, and `moved` are the
 * nodes whose prices do.
 * @typedef {{state: (number|null)[], parent: number[], belief: (number|null)[]|null,
 *   residual: number[], weights: number[], path: Path|null, fresh: number[],
 *   price: number[]|null, reduced: number[]|null, before: number[]|null, step: PriceStep|null,
 *   moved: number[], isDistance: boolean, isEnd: boolean, wrong: number[],
 *   truth: (number|null)[]}} View
 */

/** @param {number} count @param {string} noun @returns {string} */
function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number} share @returns {string} a probability as people say it, never 100 % too soon */
function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 1) return "under 1 %";
  if (value > 99 && value < 100) return "over 99 %";
  return `${Math.round(value)} %`;
}

/** @param {string[]} parts @param {number} [most] @returns {string} "a, b and c" */
function listed(parts, most = 3) {
  const shown = parts.slice(0, most);
  if (parts.length > most) shown.push(`${parts.length - most} more`);
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

/** @param {Story} story @returns {boolean} whether it is a search alone, without paths */
function isReach(story) {
  return story.algorithm === "reachability";
}

/** @param {StoryGraph} graph @returns {boolean} */
function hasCosts(graph) {
  return graph.costs !== undefined;
}

/**
 * @param {StoryGraph} graph @param {number} units @returns {number} in the numbers that were given
 */
function worth(graph, units) {
  const [numerator, denominator] = graph.unit || [1, 1];
  return Number(((units * numerator) / denominator).toPrecision(15));
}

/** @param {StoryGraph} graph @param {number} units @returns {string} */
function amount(graph, units) {
  return worth(graph, units).toLocaleString("en", { maximumSignificantDigits: 15 });
}

/** @param {StoryGraph} graph @param {number} price @returns {string} a node's, in the user's sense */
function priceText(graph, price) {
  return amount(graph, graph.sense === "greatest" ? 0 - price : price);
}

/**
 * @param {StoryGraph} graph @param {number} pair @param {number[]} residual
 * @returns {number} what an arc with a cost carries: its reverse arc can take that back
 */
function carried(graph, pair, residual) {
  return (graph.lower?.[2 * pair] || 0) + residual[2 * pair + 1];
}

/** @param {Story} story @param {number[]} residual @returns {number} what that costs, in units */
function costOf(story, residual) {
  const { graph } = story;
  return (graph.costs || []).reduce((sum, cost, arc) =>
    arc % 2 ? sum : sum + cost * carried(graph, arc / 2, residual), 0);
}

/**
 * A story to be shown: one whose run had nothing to do gets a round in which nothing happens.
 * @param {Story} story @returns {Story}
 */
function toldInFull(story) {
  if (story.rounds.length) return story;
  const { nodes, arcs, costs } = story.graph;
  const none = nodes.map(() => 0), capacity = arcs.map(([, , amount]) => amount);
  /** @type {Round} */
  const idle = {
    number: 0, by: story.model.name, state: "reached", weights: arcs.map(() => 0),
    residual: capacity, after: capacity, reach: null, says_done: true, truth: { reachable: false },
    steps: [{ state: none, parent: nodes.map(() => -1), belief: null, goes_on: null, reached: 0 }],
    paths: [], value: 0, verdict: "done", ...(costs ? { price: none, reduced: costs } : {}),
  };
  return { ...story, rounds: [idle] };
}

/** @param {Story} story @returns {string} what is counted */
function sizeName(story) {
  if (isReach(story)) return "Nodes reached";
  return story.graph.kind === "matching" ? "Matched pairs" : "Flow";
}

/** @param {Story} story @param {number} node @returns {string} how a node is called on the page */
function nameOf(story, node) {
  const { label, role } = story.graph.nodes[node];
  if (role === "source" || role === "sink") {
    return story.graph.kind === "matching" || label === role ? role : `${role} ${label}`;
  }
  // Left 0 and right 0 are two nodes; people must be able to tell them apart.
  if (typeof label === "number" && role !== "node") return `${role === "left" ? "l" : "r"}${label}`;
  return String(label);
}

/** @param {Story} story @param {number[]} arcs @returns {string} the nodes along a path */
function walkOf(story, arcs) {
  if (!arcs.length) return "";
  const nodes = [story.graph.arcs[arcs[0]][0], ...arcs.map((arc) => story.graph.arcs[arc][1])];
  const names = nodes.map((node) => nameOf(story, node));
  if (names.length > 14) names.splice(6, names.length - 12, "…");
  return names.join(" → ");
}

/** @param {Story} story @returns {Frame[]} everything there is to look at, in order */
function framesOf(story) {
  /** @type {Frame[]} */
  const frames = [];
  story.rounds.forEach((round, number) => {
    /** @param {FrameKind} kind @param {number} [step] @param {number} [path] */
    const add = (kind, step = 0, path = 0) => frames.push({ kind, round: number, step, path });
    if (story.summary) {
      add("answer");
      return;
    }
    add("start");
    for (let step = 1; step < round.steps.length; step++) add("step", step);
    for (let step = 1; step < (round.reach || []).length; step++) add("reach", step);
    if (isStuck(round)) add("price");
    else if (round.says_done || !round.paths.length) add("answer");
    round.paths.forEach((path, place) => {
      add("path", 0, place);
      if (path.verdict === "applied") add("augment", 0, place);
    });
  });
  frames.push({ kind: "end", round: story.rounds.length - 1, step: 0, path: 0 });
  return frames;
}

/** @param {Round} round @returns {boolean} whether prices move, or should, after its search */
function isStuck(round) {
  return round.step !== undefined && round.step.verdict !== "done";
}

const PARTS = ["start", "step", "reach", "answer", "price", "path", "end"];

/**
 * Put the frames of stories side by side: round with round, step with step. Where one is ahead, its
 * last frame waits for the other.
 * @param {Frame[][]} tracks @returns {Frame[][]} rows with one frame for each story
 */
function alignedFrames(tracks) {
  const rounds = Math.max(...tracks.map((track) => track[track.length - 1].round)) + 1;
  /** @type {Frame[][]} */
  const rows = [];
  let last = tracks.map((track) => track[0]);
  for (let round = 0; round < rounds; round++) {
    for (const part of PARTS.slice(0, -1)) {
      const own = tracks.map((track) =>
        track.filter((frame) => frame.round === round && partOf(frame) === part));
      const most = Math.max(...own.map((frames) => frames.length));
      for (let place = 0; place < most; place++) {
        last = own.map((frames, story) => frames[place] || last[story]);
        rows.push(last);
      }
    }
    // A run that is over shows its end while the other goes on.
    last = last.map((frame, story) => {
      const end = tracks[story][tracks[story].length - 1];
      return round >= end.round ? end : frame;
    });
  }
  rows.push(tracks.map((track) => track[track.length - 1]));
  return rows;
}

/** @param {Frame} frame @returns {string} path and augmentation alternate, so they are one part */
function partOf(frame) {
  return frame.kind === "augment" ? "path" : frame.kind;
}

/**
 * Find the row in which two stories first differ.
 * @param {Frame[][]} rows @param {Difference} difference @returns {number}
 */
function rowOfDifference(rows, difference) {
  const { round, step } = difference;
  const first = (/** @type {(frame: Frame) => boolean} */ fits) =>
    rows.findIndex((row) => row.some((frame) => frame.round === round && fits(frame)));
  if (step !== null && step !== undefined) {
    const exact = first(({ kind, step: own }) => own === step && (kind === "step" || kind === "start"));
    if (exact >= 0) return exact;
  }
  const decided = first(({ kind }) => ["answer", "price", "path", "end"].includes(kind));
  return Math.max(decided, 0);
}

/**
 * Find the row in which what two stories achieve has parted: where their sizes differ, or, if only
 * the judge decides differently, where that round is over.
 * @param {Frame[][]} rows @param {Story[]} stories @param {number} round @returns {number}
 */
function rowOfParting(rows, stories, round) {
  const isIn = (/** @type {Frame[]} */ row) => row.some((frame) => frame.round === round);
  const parted = rows.findIndex((row) => isIn(row) &&
    valueAt(stories[0], row[0]) !== valueAt(stories[1], row[1]));
  return parted >= 0 ? parted : rows.map(isIn).lastIndexOf(true);
}

/**
 * Find the round in which what two stories achieve parts: one augments and the other does not, or
 * the judge ends one of them.
 * @param {Story[]} stories @returns {Difference|null}
 */
function partingOf([one, other]) {
  const names = [one, other].map((story) => story.model.name);
  for (let round = 0; round < Math.min(one.rounds.length, other.rounds.length); round++) {
    const pair = [one.rounds[round], other.rounds[round]];
    const [a, b] = pair.map((told) => told.value);
    if (a === b && pair[0].verdict === pair[1].verdict) continue;
    const told = pair.map((own, story) => `${names[story]} ${outcomeOf(own)}`);
    return { round, step: null, what: told.join(", ") };
  }
  return null;
}

/** @param {Round} round @returns {string} */
function outcomeOf(round) {
  if (round.verdict === "done") return "says that it is done";
  if (round.paths.some((path) => path.verdict === "applied")) return "augments";
  return round.paths.length ? `finds a path that ${PATH_FAULTS[round.paths[0].verdict] || "fails"}`
    : "finds no path";
}

/** @type {Record<string, string>} */
const PATH_FAULTS = {
  "has a full arc": "has a full arc",
  "wrong bottleneck": "it gives a wrong bottleneck",
  "wrong augmentation": "it gives wrong capacities",
};

/** @param {Round} round @returns {Step} what the search left */
function lastStep(round) {
  return round.steps[round.steps.length - 1];
}

/** @param {Story} story @param {Frame} frame @returns {View} */
function viewOf(story, frame) {
  const round = story.rounds[frame.round];
  const final = lastStep(round);
  const isSearch = frame.kind === "start" || frame.kind === "step";
  const step = frame.kind === "start" ? round.steps[0] : isSearch ? round.steps[frame.step] : final;
  const before = frame.kind === "step" ? round.steps[frame.step - 1] : null;
  /** @type {View} */
  const view = {
    state: step.state,
    parent: step.parent,
    belief: isSearch ? step.belief : null,
    residual: round.residual,
    weights: round.weights,
    path: null,
    fresh: before ? changes(before.state, step.state) : [],
    price: round.price || null,
    reduced: round.reduced || null,
    before: null,
    step: null,
    moved: [],
    isDistance: round.state === "distance",
    isEnd: frame.kind === "end" && !isReach(story),
    wrong: [],
    truth: [],
  };
  if (frame.kind === "reach" && round.reach) {
    view.state = round.reach[frame.step].state;
    view.fresh = changes(round.reach[frame.step - 1].state, view.state);
    view.parent = [];
    view.isDistance = false;
  }
  if (frame.kind === "path" || frame.kind === "augment") {
    view.path = round.paths[frame.path];
    view.parent = frame.kind === "path" ? step.parent : [];
    // Of several paths those before this one have been applied already.
    const applied = frame.kind === "augment" ? frame.path + 1 : frame.path;
    view.residual = residualAfter(round, applied);
  }
  if (frame.kind === "price" && round.step) {
    view.step = round.step;
    view.before = view.reduced;
    view.moved = changes(round.price || [], round.step.price);
    view.price = round.step.price;
    view.reduced = round.step.reduced;
    view.residual = round.after;
    view.parent = [];
  }
  if (frame.kind === "end") {
    view.residual = round.after;
    if (!isReach(story)) view.parent = [];
  }
  if (view.isDistance && !view.isEnd) {
    view.truth = trueDistances(story, round, round.steps.indexOf(step));
    // Nobody has learnt the distance of a node that is not reached.
    view.wrong = changes(view.truth, view.state).filter((node) => view.truth[node] !== null);
  }
  return view;
}

/**
 * What exact code has after so many steps: each node takes the least sum of weights over its arcs
 * with residual; a sum beyond the network's numbers is the largest of them.
 * @param {Story} story @param {Round} round @param {number} steps @returns {(number|null)[]}
 */
function trueDistances({ graph, model }, { residual, weights, ends }, steps) {
  const source = ends?.[0] ?? graph.nodes.findIndex(({ role }) => role === "source");
  const most = (model.infinity ?? 255) - 1;
  /** @type {(number|null)[]} */
  let distance = graph.nodes.map((_, node) => (node === source ? 0 : null));
  for (let step = 0; step < steps; step++) {
    const before = distance;
    distance = before.slice();
    for (const [arc, [sender, receiver]] of graph.arcs.entries()) {
      const from = before[sender];
      if (residual[arc] <= 0 || from === null) continue;
      const sum = Math.min(from + weights[arc], most), known = distance[receiver];
      if (known === null || sum < known) distance[receiver] = sum;
    }
    if (!changes(before, distance).length) break;
  }
  return distance;
}

/** @param {Round} round @param {number} count @returns {number[]} after the first `count` paths */
function residualAfter(round, count) {
  if (count >= round.paths.length) return round.after;
  const residual = round.residual.slice();
  for (const path of round.paths.slice(0, count)) {
    if (path.verdict !== "applied") continue;
    for (const arc of path.arcs) {
      residual[arc] -= path.bottleneck;
      residual[arc ^ 1] += path.bottleneck;
    }
  }
  return residual;
}

/** @param {(number|null)[]} before @param {(number|null)[]} now @returns {number[]} nodes */
function changes(before, now) {
  return now.flatMap((value, node) => (value !== before[node] ? [node] : []));
}

/**
 * Turn a network with labels around: what every node and arc of the certificate is, by number.
 * @param {Story} story @returns {{cover: Set<number>, side: Set<number>}}
 */
function proofOf(story) {
  const { certificate } = story.solution;
  const cover = new Set(), side = new Set();
  /** @type {Map<string, number>} */
  const numbers = new Map();
  const key = (/** @type {string} */ role, /** @type {string|number} */ label) =>
    JSON.stringify([role, label]);
  story.graph.nodes.forEach(({ label, role }, node) => numbers.set(key(role, label), node));
  for (const role of /** @type {("left"|"right")[]} */ (["left", "right"])) {
    for (const label of certificate.cover?.[role] || []) cover.add(numbers.get(key(role, label)));
  }
  for (const label of certificate.cut?.source_side || certificate.shortage?.nodes || []) {
    for (const role of ["source", "node", "left", "right", "sink"]) {
      const node = numbers.get(key(role, label));
      if (node !== undefined) side.add(node);
    }
  }
  return { cover, side };
}

/** @param {Round} round @returns {boolean} whether its search led to a path: others do not count */
function isFruitful(round) {
  return round.paths.some((path) => path.verdict === "applied");
}

/**
 * Name a search as `augury solve` counts: a round is a search with the augmentation that follows it.
 * @param {Story} story @param {number} number @returns {string}
 */
function roundName(story, number) {
  if (isReach(story)) return "Search";
  const round = story.rounds[number];
  if (isStuck(round)) {
    return `Stuck search ${story.rounds.slice(0, number + 1).filter(isStuck).length}`;
  }
  if (!isFruitful(round)) return round.says_done ? "Last search" : "Failed search";
  return `Round ${story.rounds.slice(0, number + 1).filter(isFruitful).length}`;
}

/** @param {Story} story @returns {string} how many paths a round takes, and how solve does it */
function mannerSentence(story) {
  if (isReach(story)) return "One search from the source, along every arc.";
  const moves = counted(story.rounds.filter(isStuck).length, "step");
  const rounds = counted(story.rounds.filter(isFruitful).length, "round") +
    (hasCosts(story.graph) ? ` and ${moves} of the prices` : "");
  return story.model.many_paths
    ? `${rounds}: each takes all shortest paths of its search that share no node, as augury solve does.`
    : `${rounds}: each takes one path, as in the paper. Many paths a round, as augury solve takes ` +
      "them, need fewer and may end with another answer of the same size.";
}

/** @param {Story} story @param {Frame} frame @returns {string} the frame in words */
function sentenceOf(story, frame) {
  const round = story.rounds[frame.round];
  const where = roundName(story, frame.round);
  const who = round.by === "classical" && story.model.kind !== "classical"
    ? "Classical code finishes the run. " : "";
  if (story.summary && frame.kind === "answer") return summarySentence(story, frame);
  switch (frame.kind) {
    case "start":
      return `${where}: ${who}${startSentence(story, frame.round)}`;
    case "step":
      return `${where}, step ${frame.step}: ${stepSentence(story, frame)}`;
    case "reach":
      return `${where}, is the sink reachable? Step ${frame.step}: ${reachSentence(story, frame)}`;
    case "answer":
      return `${where}: ${answerSentence(story, round)}`;
    case "price":
      return `${where}: ${priceSentence(story, round)}`;
    case "path":
      return `${where}: ${pathSentence(story, round.paths[frame.path])}`;
    case "augment":
      return `${where}: ${augmentSentence(story, round, frame.path)}`;
    default:
      return endSentence(story);
  }
}

/** @param {Story} story @param {number} number @returns {string} */
function startSentence(story, number) {
  if (!hasCosts(story.graph)) return "weights are drawn, and the search starts at the source.";
  const { ends } = story.rounds[number], before = story.rounds[number - 1]?.ends;
  const [from] = (ends || [0]).map((node) => nameOf(story, node));
  const along = `the search starts at ${/^[a-z]+$/.test(from) ? `the ${from}` : from} and follows ` +
    "usable arcs only";
  if (before && ends && before[0] !== ends[0]) {
    return `now as much as possible goes from source to sink; ${along}.`;
  }
  if (number) return `weights are drawn; ${along}.`;
  if (story.graph.kind !== "matching") {
    const sign = story.graph.sense === "greatest" ? -1 : 1;
    const full = story.graph.costs?.some((cost, arc) => arc % 2 === 0 && sign * cost < 0)
      ? `, and those that ${sign < 0 ? "bring" : "cost less than"} ${sign < 0 ? "something" : "nothing"} start full` : "";
    return `every price starts at 0, so arcs that cost nothing are usable${full}; ${along}.`;
  }
  const [best, more] = story.graph.sense === "greatest" ? ["best", "brings less"]
    : ["cheapest", "costs more"];
  return `each node on the right starts with the price of its ${best} edge; what ${more} is not ` +
    `usable yet. ${along[0].toUpperCase()}${along.slice(1)}.`;
}

/** @param {Story} story @param {number} arc @returns {string} "Ann – cook", or "a → b" of a flow */
function arcName(story, arc) {
  const isMatching = story.graph.kind === "matching";
  const [sender, receiver] = story.graph.arcs[isMatching ? arc : arc & ~1];
  const names = `${nameOf(story, sender)} ${isMatching ? "–" : "→"} ${nameOf(story, receiver)}`;
  return arc % 2 && !isMatching ? `${names} backwards` : names;
}

/** @param {Story} story @param {Round} round @returns {string} why the prices move, and by how much */
function priceSentence(story, round) {
  const { reached, count, proposed, least, verdict } = /** @type {PriceStep} */ (round.step);
  const { graph } = story;
  const stops = `the search stops at these ${counted(count ?? reached.length, "node")}.`;
  if (verdict === "wrong search") return `${stops} That is wrong: more can be reached. The judge ends the run.`;
  const [way, out, rises] = graph.sense === "greatest"
    ? ["best way out brings", "less than the prices ask", "falls"]
    : ["cheapest way out costs", "more than the prices allow", "rises"];
  const by = amount(graph, least[0]);
  if (verdict === "wrong bottleneck") {
    return `${stops} The network says that the ${way} ${amount(graph, proposed[0])} ${out}, but that ` +
      `is ${by}: the judge ends the run.`;
  }
  const told = `${stops} The ${way} ${by} ${out}, so every node outside ${rises} by ${by}`;
  if (verdict !== "goes on") return `${told}. What it proposes for the arcs is wrong: the judge ends the run.`;
  const opened = openedBy(round);
  // Arcs of source and sink say least.
  const inner = opened.filter((arc) => graph.arcs[arc].every((node, place) => place > 1 ||
    graph.nodes[node].role === "left" || graph.nodes[node].role === "right" || graph.kind === "flow"));
  const names = [...new Set([...inner, ...opened].map((arc) => arcName(story, arc)))];
  if (!names.length) return `${told}.`;
  return `${told}: ${listed(names)} ${names.length === 1 ? "becomes" : "become"} usable.`;
}

/** @param {Round} round @returns {number[]} the arcs that a step of the prices makes usable */
function openedBy({ step, reduced }) {
  return (step?.arcs || []).filter((arc) => step?.reduced[arc] === 0 && reduced?.[arc] !== 0);
}

/** @param {Story} story @param {Frame} frame @returns {string} */
function stepSentence(story, frame) {
  const round = story.rounds[frame.round];
  const step = round.steps[frame.step], before = round.steps[frame.step - 1];
  const view = viewOf(story, frame);
  const from = (/** @type {number} */ node) => {
    const arc = step.parent[node];
    return arc >= 0 ? ` from ${nameOf(story, story.graph.arcs[arc][0])}` : "";
  };
  let told = "nothing changes.";
  if (view.isDistance && view.fresh.length) {
    const parts = view.fresh.map((node) => {
      const value = step.state[node];
      return value === null ? `${nameOf(story, node)} is lost again`
        : `${nameOf(story, node)} at distance ${value}${from(node)}`;
    });
    told = `${listed(parts)}.`;
  } else if (view.fresh.length) {
    const parts = view.fresh.filter((node) => step.state[node]).map((node, place) =>
      `${nameOf(story, node)}${place ? "" : " is reached"}${from(node)}`);
    const lost = view.fresh.filter((node) => !step.state[node]).map((node) => nameOf(story, node));
    told = [parts.length ? listed(parts) : "", lost.length ? `${listed(lost)} lost again` : ""]
      .filter(Boolean).join("; ") + ".";
  } else if (step.parent.some((arc, node) => arc !== before.parent[node])) {
    const node = step.parent.findIndex((arc, place) => arc !== before.parent[place]);
    told = `no value changes, but ${nameOf(story, node)} now prefers another predecessor.`;
  }
  return told + wrongSentence(story, view) + goesOnSentence(step.goes_on);
}

/** @param {Story} story @param {View} view @returns {string} which distances are not the true ones */
function wrongSentence(story, { wrong, state, truth }) {
  if (!wrong.length) return "";
  const [node] = wrong;
  if (wrong.length > 1) return ` ${wrong.length} distances are wrong.`;
  return ` That of ${nameOf(story, node)}, ${state[node] ?? "infinite"}, is wrong: it is ${truth[node] ?? "infinite"}.`;
}

/** @param {number|null} share @returns {string} */
function goesOnSentence(share) {
  if (share === null || share === undefined) return "";
  return share > 0.5 ? ` The network goes on (${percent(share)} sure).`
    : ` The network stops (${percent(1 - share)} sure).`;
}

/** @param {Story} story @param {Frame} frame @returns {string} */
function reachSentence(story, frame) {
  const round = story.rounds[frame.round];
  const reach = (round.reach || [])[frame.step];
  const view = viewOf(story, frame);
  const names = view.fresh.map((node) => nameOf(story, node));
  const verb = names.length === 1 ? "becomes" : "become";
  const gained = view.fresh.every((node) => view.state[node]);
  const word = gained ? "reachable" : "different";
  const told = names.length ? `${listed(names)} ${verb} ${word}.` : "nothing changes.";
  return told + goesOnSentence(reach.goes_on);
}

/** @param {Story} story @param {Round} round @returns {string} */
function answerSentence(story, round) {
  if (isReach(story)) {
    return `nothing more is reached. ${round.truth.reachable ? "The judge disagrees." : "The judge agrees."}`;
  }
  if (round.says_done && round.step) {
    const nodes = counted(round.step.count ?? round.step.reached.length, "node");
    return `nothing that has room leads out of these ${nodes}, usable or not. The judge agrees: no ` +
      `${story.graph.kind} is larger.`;
  }
  if (round.says_done) {
    return round.truth.reachable
      ? "it says that no augmenting path is left. That is wrong: there still is one."
      : "it says that no augmenting path is left. The judge agrees.";
  }
  const told = "the predecessors do not lead from the sink back to the source: no path.";
  return round.truth.reachable ? told : `${told} There is none left, but it did not say so.`;
}

/** @param {Story} story @param {Path} path @returns {string} */
function pathSentence(story, path) {
  const walk = walkOf(story, path.arcs);
  /** @type {Record<string, string>} */
  const told = {
    "has a full arc": "One of its arcs is full, so the path is not used.",
    "wrong bottleneck":
      `The network says that it carries ${path.proposed}, but it carries ${path.bottleneck}: ` +
      "the judge ends the run.",
    "wrong augmentation": "The new capacities it proposes are wrong: the judge ends the run.",
    "not applied": "Another path of this round was wrong, and that ended the run.",
  };
  const amount = `It carries ${path.proposed}, and the judge agrees.`;
  return `the path is ${walk}. ${told[path.verdict] || amount}`;
}

/** @param {Story} story @param {Round} round @param {number} place @returns {string} */
function augmentSentence(story, round, place) {
  const path = round.paths[place];
  const isMatching = story.graph.kind === "matching";
  const later = round.paths.slice(place + 1).filter((other) => other.verdict === "applied")
    .reduce((sum, other) => sum + other.bottleneck, 0);
  const value = round.value - later;
  if (!isMatching) {
    const told = `${counted(path.bottleneck, "unit")} more along this path; the flow grows to ${value}`;
    const after = residualAfter(round, place + 1);
    if (!hasCosts(story.graph)) return `${told}.`;
    return `${told} and ${costVerb(story)} ${amount(story.graph, costOf(story, after))}.`;
  }
  /** @type {string[]} */
  const gained = [], lost = [];
  for (const arc of path.arcs) {
    const [sender, receiver] = story.graph.arcs[arc];
    const roles = story.graph.nodes[sender].role + story.graph.nodes[receiver].role;
    if (roles === "leftright") gained.push(`${nameOf(story, sender)}–${nameOf(story, receiver)}`);
    if (roles === "rightleft") lost.push(`${nameOf(story, receiver)}–${nameOf(story, sender)}`);
  }
  const told = `${listed(gained)} ${gained.length === 1 ? "is" : "are"} matched`;
  const freed = lost.length ? `, ${listed(lost)} no longer` : "";
  const after = residualAfter(round, place + 1);
  const cost = hasCosts(story.graph) && after.length
    ? ` and ${costVerb(story)} ${amount(story.graph, costOf(story, after))}` : "";
  return `${told}${freed}. The matching has ${counted(value, "pair")}${cost}.`;
}

/** @param {Story} story @returns {string} */
function costVerb(story) {
  return story.graph.sense === "greatest" ? "brings" : "costs";
}

/** @param {Story} story @returns {string} how it ended, and the proof */
function endSentence(story) {
  const { size, is_maximum: isMaximum, certificate } = story.solution;
  if (certificate.closed) {
    const nodes = counted(certificate.closed.nodes, "node");
    return `The end: ${counted(size, "node")} reached` + (isMaximum
      ? `. No arc leads out of the ${nodes}, so these are all.`
      : ` of ${nodes}.`);
  }
  const isMatching = story.graph.kind === "matching";
  if (certificate.shortage && !certificate.legal) {
    const { need, limit } = certificate.shortage;
    return `The end: no flow meets the supplies. The marked nodes have to get rid of ${need}, and ` +
      `${limit} can leave them.`;
  }
  const { cost } = story.solution;
  const what = (isMatching ? `a matching of ${counted(size, "pair")}` : `a flow of ${size}`) +
    (cost === undefined ? "" : ` that ${costVerb(story)} ${cost.toLocaleString("en", { maximumSignificantDigits: 15 })}`);
  const verdict = story.rounds.length ? story.rounds[story.rounds.length - 1].verdict : "done";
  const failures = Number(story.model.termination);
  const how = verdict === "done" ? "" : failures && verdict === "gave up"
    ? ` (ended by ${counted(failures, "failed path")}, as set)` : ` (it ended early: ${verdict})`;
  if (!isMaximum) {
    return `The end: ${what}${how}. This is not the maximum; it is ${certificate.shortfall} short.`;
  }
  if (cost !== undefined) return `The end: ${what}${how}. ${costProof(story)}`;
  if (certificate.cut) {
    return `The end: ${what}${how}. It is maximum: the marked cut lets no more than ` +
      `${certificate.cut.capacity.toLocaleString("en")} through.`;
  }
  return `The end: ${what}${how}. It is maximum: ${coverSentence(story)}, and no matching can use one ` +
    "of them twice.";
}

/** @param {Story} story @returns {string} */
function coverSentence(story) {
  const { left, right } = story.solution.certificate.cover || { left: [], right: [] };
  const count = left.length + right.length;
  return `the ${counted(count, "marked node")} ${count === 1 ? "touches" : "touch"} every edge`;
}

/** @param {Story} story @returns {string} why nothing is larger, and nothing of its size better */
function costProof(story) {
  const { certificate, is_optimal: isOptimal } = story.solution;
  const isMatching = story.graph.kind === "matching", isLeast = story.graph.sense !== "greatest";
  const { cover, cut } = certificate;
  const largest = cut ? `It is maximum: the marked cut lets no more than ${cut.capacity.toLocaleString("en")} through. `
    : cover ? `It is maximum: ${coverSentence(story)}. ` : "";
  if (!isOptimal) return `${largest}But it is not the ${isLeast ? "cheapest" : "best"}.`;
  const none = isLeast ? "None costs less" : "None brings more";
  return isMatching
    ? `${largest}${none}: right price − left price ${isLeast ? "≤" : "≥"} cost on every edge, and = ` +
      "on matched ones."
    : `${largest}${none}: head price − tail price ${isLeast ? "≤" : "≥"} cost where more could flow, ` +
      `${isLeast ? "≥" : "≤"} where less could.`;
}

/** @param {Story} story @param {Frame} frame @returns {string} for graphs too large to draw */
function summarySentence(story, frame) {
  const round = story.rounds[frame.round];
  const what = story.graph.kind === "matching" ? "matching" : "flow";
  const paths = round.paths.filter((path) => path.verdict === "applied").length;
  const reached = lastStep(round).reached;
  const seen = reached === undefined ? "" : ` ${counted(reached, "node")} reached,`;
  const steps = counted(Math.max(round.steps.length - 1, 0), "step");
  const told = isStuck(round) ? priceSentence(story, round)
    : round.says_done ? answerSentence(story, round)
    : `${steps},${seen} ${counted(paths, "path")} applied; the ${what} is ${round.value}.`;
  return `${roundName(story, frame.round)}: ${told}`;
}
