"use strict";
/*
 * The compiled network runs here, without a server: a drawn graph becomes a story, as
 * augury/watch.py tells it, one path a round. What the network says in every case of its four cells
 * (augury/algorithms/cells.py) comes as numbers of which the sign decides, or the order; nothing
 * else of it is needed. Programmed, as there, are the rounds, the latch on a node's first
 * predecessor and the order of the digits. Every decision is compared with the truth. Nothing here
 * touches the document.
 */

/**
 * By own bits and by the set of kinds heard, what is said: see `Said` in augury/cells/table.py.
 * @typedef {{flood: number[][][], nearest: number[], least: number[][][], subtract: number[][][]}} Said
 */
/** @typedef {{nodes: number, arcs: StoryArc[], into: number[][], source: number, sink: number}} Arcs */
/** @typedef {{residual: number[], reduced: number[], price: number[], half: number}} Prices */

const WEIGHT_BITS = 4;
const MOST_WEIGHT = 15;
const MOST_NUMBER = 2 ** 52; // sums of two are still exact

/** NumPy's default generator, so that a seed draws the same weights here as on a server. */
class Generator {
  /** @param {number} seed */
  constructor(seed) {
    const words = seedWords(seed);
    const wide = (/** @type {number} */ at) => [1, 0, 3, 2].reduce((sum, part) =>
      (sum << 32n) | BigInt(words[at + part]), 0n);
    this.increment = BigInt.asUintN(128, (wide(4) << 1n) | 1n);
    this.state = BigInt.asUintN(128, this.increment + wide(0));
    this.step();
    /** @type {number[]} words of 32 bits that were drawn and not used */
    this.spare = [];
  }

  step() {
    this.state = BigInt.asUintN(128, this.state * 0x2360ED051FC65DA44385DF649FCCF645n + this.increment);
  }

  /** @returns {number} 32 bits */
  word() {
    const kept = this.spare.pop();
    if (kept !== undefined) return kept;
    this.step();
    const folded = BigInt.asUintN(64, (this.state >> 64n) ^ this.state), turn = this.state >> 122n;
    const drawn = BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
    this.spare.push(Number(drawn >> 32n));
    return Number(drawn & 0xFFFFFFFFn);
  }

  /** @param {number} count @returns {number[]} weights from 1 to 15, as `integers` draws bytes */
  weights(count) {
    let word = 0, left = 0;
    const byte = () => {
      if (!left) [word, left] = [this.word(), 4];
      left -= 1;
      const drawn = word & 255;
      word >>>= 8;
      return drawn;
    };
    return Array.from({ length: count }, () => {
      let product = MOST_WEIGHT * byte();
      while ((product & 255) < 256 % MOST_WEIGHT) product = MOST_WEIGHT * byte();
      return 1 + (product >> 8);
    });
  }
}

/** @param {number} seed @returns {number[]} eight words, as NumPy's SeedSequence makes them */
function seedWords(seed) {
  let constant = 0x43b0d7e5;
  const folded = (/** @type {number} */ value) => (value ^ (value >>> 16)) >>> 0;
  const hashed = (/** @type {number} */ value, /** @type {number} */ factor) => {
    const before = constant;
    constant = Math.imul(constant, factor) >>> 0;
    return folded(Math.imul((value ^ before) >>> 0, constant) >>> 0);
  };
  const words = [seed % 2 ** 32, Math.floor(seed / 2 ** 32), 0, 0];
  const pool = words.map((word) => hashed(word, 0x931e8875));
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from === to) continue;
      const other = hashed(pool[from], 0x931e8875);
      pool[to] = folded((Math.imul(0xca01f9dd, pool[to]) - Math.imul(0x4973f715, other)) >>> 0);
    }
  }
  constant = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, place) => hashed(pool[place % 4], 0x58f38ded));
}

/** @param {number} value @param {number} place @returns {number} a binary digit; also beyond 32 */
function digitOf(value, place) {
  return Math.floor(value / 2 ** place) % 2;
}

/** @param {number} value @returns {number} how many binary digits a whole number has */
function digits(value) {
  return value ? value.toString(2).length : 0;
}

/** @param {number} logit @returns {number} */
function probability(logit) {
  return 0.5 * (1 + Math.tanh(0.5 * logit));
}

/** @param {number} share @returns {number} with four decimals, as stories have them */
function rounded(share) {
  return Math.round(1e4 * share) / 1e4;
}

/**
 * @param {StoryArc[]} arcs @param {number} nodes @param {number} source @param {number} sink
 * @returns {Arcs} with the arcs into each node
 */
function arcsOf(arcs, nodes, source, sink) {
  /** @type {number[][]} */
  const into = Array.from({ length: nodes }, () => []);
  arcs.forEach(([, receiver], arc) => into[receiver].push(arc));
  return { nodes, arcs, into, source, sink };
}

/**
 * Flood a graph from its source over the usable arcs: the cells flood and nearest.
 * @param {Said} said @param {Arcs} graph @param {boolean[]} usable @param {number[]} weights
 * @returns {Step[]} the start, and what each step left
 */
function floodSteps(said, { nodes, arcs, into, source }, usable, weights) {
  let state = Array.from({ length: nodes }, (_, node) => Number(node === source));
  let parent = state.map(() => -1);
  /** @type {(number|null)[]} */
  let belief = arcs.map(() => null);
  /** @type {Step[]} */
  const steps = [{ state, parent, belief, goes_on: null }];
  for (let goesOn = true; goesOn;) {
    const before = state;
    const kinds = arcs.map(([sender], arc) => 2 * before[sender] + Number(usable[arc]));
    const told = into.map((links, node) => {
      const own = before[node];
      const heard = links.reduce((set, arc) => set | (1 << kinds[arc]), 1 << (2 * own));
      return said.flood[own][heard];
    });
    state = told.map(([reached]) => Number(reached > 0));
    [parent, belief] = [parent.slice(), belief.slice()];
    into.forEach((links, node) => {
      if (!state[node] || before[node]) return; // a node keeps its first predecessor
      // Its self loop stands last: it weighs nothing, and was not reached.
      const scores = [...links.map((arc) => said.nearest[(kinds[arc] << WEIGHT_BITS) | weights[arc]]),
        said.nearest[0]];
      const best = Math.max(...scores);
      const power = scores.map((score) => Math.exp(Math.fround(score - best)));
      const sum = power.reduce((total, one) => total + one, 0);
      parent[node] = links[scores.indexOf(best)] ?? -1;
      links.forEach((arc, place) => {
        belief[arc] = rounded(power[place] / sum);
      });
    });
    const changed = Math.max(...told.map(([, logit]) => logit));
    steps.push({ state, parent, belief, goes_on: rounded(probability(changed)) });
    goesOn = changed > 0 && steps.length < nodes;
  }
  return steps;
}

/**
 * Compare numbers from the top digit down: the cell least.
 * @param {Said} said @param {number[]} values
 * @returns {{least: number, belief: number[]}} whoever is left has the least
 */
function leastOf(said, values) {
  let isCandidate = values.map(() => 1);
  const likely = values.map(() => 1);
  for (let place = digits(Math.max(...values)) - 1; place >= 0; place--) {
    const own = values.map((value, at) => 2 * isCandidate[at] + digitOf(value, place));
    const heard = own.reduce((set, kind) => set | (1 << kind), 0);
    isCandidate = own.map((kind, at) => {
      const [logit] = said.least[kind][heard];
      likely[at] *= probability(logit);
      return Number(logit > 0);
    });
  }
  const chosen = Math.max(isCandidate.indexOf(1), 0);
  return { least: values[chosen], belief: likely.map(rounded) };
}

/**
 * Subtract an amount from a number, from the bottom digit up: the cell subtract.
 * @param {Said} said @param {number} value @param {number} amount @returns {number}
 */
function difference(said, value, amount) {
  let kept = 0, borrow = 0;
  for (let place = 0; place < digits(Math.max(value, amount)); place++) {
    const own = 4 * digitOf(value, place) + 2 * digitOf(amount, place) + borrow;
    const [digit, more] = said.subtract[own][0];
    kept += Number(digit > 0) * 2 ** place;
    borrow = Number(more > 0);
  }
  return kept;
}

/**
 * The judge. A table that is proven is never wrong, so a wrong one is a damaged file.
 * @param {boolean} isRight @param {string} what
 */
function judge(isRight, what) {
  if (!isRight) throw new Error(`the network's ${what} is wrong: its table is damaged`);
}

/** @param {Arcs} graph @param {number[]} residual @returns {boolean[]} whom the source reaches */
function reachedFrom({ nodes, arcs, source }, residual) {
  const reached = Array.from({ length: nodes }, (_, node) => node === source);
  for (let grows = true; grows;) {
    grows = false;
    arcs.forEach(([sender, receiver], arc) => {
      if (residual[arc] <= 0 || !reached[sender] || reached[receiver]) return;
      reached[receiver] = grows = true;
    });
  }
  return reached;
}

/**
 * Search, and augment along the path that the predecessors describe.
 * @param {Said} said @param {Arcs} graph @param {number[]} residual @param {Generator} generator
 * @param {number} value the flow before @returns {Round}
 */
function roundOf(said, graph, residual, generator, value) {
  const weights = generator.weights(graph.arcs.length);
  const steps = floodSteps(said, graph, residual.map((left) => left > 0), weights);
  const { state, parent } = steps[steps.length - 1];
  const truth = reachedFrom(graph, residual);
  judge(truth.every((isReached, node) => isReached === Boolean(state[node])), "search");
  /** @type {Round} */
  const told = {
    number: 0, by: "discrete", state: "reached", weights, residual, steps, reach: null,
    says_done: !state[graph.sink], truth: { reachable: truth[graph.sink] }, paths: [],
    after: residual, value, verdict: state[graph.sink] ? "goes on" : "done",
  };
  if (told.says_done) return told;
  /** @type {number[]} */
  const arcs = [];
  for (let node = graph.sink; node !== graph.source; node = graph.arcs[arcs[0]][0]) {
    judge(parent[node] >= 0 && arcs.length < graph.nodes, "path");
    arcs.unshift(parent[node]);
  }
  const before = arcs.map((arc) => residual[arc]), bottleneck = Math.min(...before);
  const { least: proposed, belief } = leastOf(said, before);
  judge(proposed === bottleneck && bottleneck > 0, "bottleneck");
  const kept = before.map((left) => difference(said, left, proposed));
  judge(kept.every((left, place) => left === before[place] - bottleneck), "augmentation");
  const after = residual.slice();
  arcs.forEach((arc, place) => {
    after[arc] = kept[place];
    after[arc ^ 1] += bottleneck;
  });
  told.paths.push({ arcs, belief, proposed, bottleneck, before, kept, verdict: "applied" });
  return { ...told, after, value: value + bottleneck };
}

/**
 * Ford-Fulkerson: rounds until the network says that it is done.
 * @param {Said} said @param {Arcs} graph @param {number[]} residual @param {Generator} generator
 * @param {number} [value] @returns {Round[]}
 */
function roundsOf(said, graph, residual, generator, value = 0) {
  const rounds = [roundOf(said, graph, residual, generator, value)];
  for (let last = rounds[0]; !last.says_done; last = rounds[rounds.length - 1]) {
    rounds.push(roundOf(said, graph, last.after, generator, last.value));
  }
  return rounds;
}

/**
 * The primal-dual method: rounds over the arcs whose reduced cost is 0, and where their search
 * stops, a step of the prices.
 * @param {Said} said @param {Arcs} graph @param {Prices} prices changed to what they come to
 * @param {Generator} generator @returns {Round[]}
 */
function pricedRounds(said, graph, prices, generator) {
  /** @type {Round[]} */
  const told = [];
  const { arcs, source, sink } = graph, { half } = prices;
  for (let isDone = false, value = 0; !isDone;) {
    const start = prices.residual, { price, reduced } = prices;
    const isTight = (/** @type {number} */ arc) => reduced[arc] === 0;
    const tight = roundsOf(said, graph, start.map((left, arc) => (isTight(arc) ? left : 0)), generator, value);
    // A round sees the tight arcs alone, and the others stay as they are.
    const all = (/** @type {number[]} */ own) => own.map((left, arc) => (isTight(arc) ? left : start[arc]));
    const rounds = tight.map((round) => ({ ...round, residual: all(round.residual),
      after: all(round.after), price, reduced, ends: /** @type {[number, number]} */ ([source, sink]) }));
    const last = rounds[rounds.length - 1];
    const { state } = last.steps[last.steps.length - 1];
    const leaving = arcs.flatMap(([sender, receiver], arc) =>
      (state[sender] && !state[receiver] ? [arc] : []));
    const across = leaving.filter((arc) => last.after[arc] > 0);
    const spare = across.map((arc) => reduced[arc]);
    isDone = !across.length;
    const step = isDone ? 0 : leastOf(said, spare).least;
    judge(isDone || step === Math.min(...spare), "step of the prices");
    const now = reduced.slice();
    for (const arc of isDone ? [] : leaving) {
      // As residuals are kept: shifted, so that none is negative, and a pair adds up to the same.
      now[arc] = difference(said, reduced[arc] + half, step) - half;
      judge(now[arc] === reduced[arc] - step, "augmentation");
      now[arc ^ 1] = 0 - now[arc];
    }
    Object.assign(prices, { residual: last.after, reduced: now,
      price: price.map((own, node) => own + (state[node] ? 0 : step)) });
    last.step = {
      reached: state.flatMap((bit, node) => (bit ? [node] : [])), arcs: across,
      proposed: isDone ? [] : [step], least: isDone ? [] : [Math.min(...spare)],
      price: prices.price, reduced: now, verdict: isDone ? "done" : "goes on",
    };
    value = last.value;
    told.push(...rounds);
  }
  return told;
}

/**
 * @param {Arcs} graph @param {number[]} residual @param {number[]} cost to be minimised
 * @param {number[]} price @returns {Prices}
 */
function pricesOf({ nodes, arcs }, residual, cost, price) {
  const reduced = arcs.map(([sender, receiver], arc) => cost[arc] + price[sender] - price[receiver]);
  const half = 2 ** digits(9 * (nodes + 2) * Math.max(0, ...cost.map(Math.abs)));
  if (half > MOST_NUMBER) throw new Refusal("These costs are too large for the network in this page.");
  return { residual, reduced, price, half };
}

/**
 * @param {number[]} values
 * @returns {{amounts: number[], unit: [number, number]}} whole numbers of a unit: 12.5 is 125 tenths
 */
function wholeCosts(values) {
  for (let places = 0; places < 16; places++) {
    const scale = 10 ** places, amounts = values.map((value) => Math.round(value * scale));
    if (amounts.some((amount) => Math.abs(amount) > MOST_NUMBER)) break;
    if (amounts.every((amount, at) => amount / scale === values[at])) return { amounts, unit: [1, scale] };
  }
  throw new Refusal("These costs have too many digits for the network in this page.");
}

/** @param {Label[]|number} given @returns {Label[]} labels, or so many numbers */
function labelsOf(given) {
  return typeof given === "number" ? Array.from({ length: given }, (_, node) => node) : given;
}

/**
 * @param {number[][]} arcs pairs of ends, and capacities @returns {StoryArc[]} merged into pairs,
 *   sorted by their smaller and larger node; the even arc is the one with capacity
 */
function pairedArcs(arcs) {
  /** @type {Map<string, [number, number, number, number]>} */
  const pairs = new Map();
  for (const [tail, head, capacity] of arcs) {
    if (tail === head) continue;
    const [low, high] = [Math.min(tail, head), Math.max(tail, head)], key = `${low},${high}`;
    const pair = pairs.get(key) || [low, high, 0, 0];
    pair[tail < head ? 2 : 3] += capacity;
    pairs.set(key, pair);
  }
  return [...pairs.values()].filter(([, , up, down]) => up || down)
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .flatMap(([low, high, up, down]) => /** @type {StoryArc[]} */ (
      up ? [[low, high, up], [high, low, down]] : [[high, low, down], [low, high, 0]]));
}

/**
 * @param {GraphRequest} given @param {boolean} maximise
 * @returns {{graph: StoryGraph, cost: number[]|null, own: number}} the graph of a story, what its
 *   arcs cost to be minimised, and how many nodes were given
 */
function graphOf(given, maximise) {
  const isWhole = given.edges ? given.left && given.right : given.arcs && given.nodes;
  if (!isWhole) {
    throw new Refusal("Only a server can read this graph: run augury explore.");
  }
  if (given.supply || given.lower) throw new Refusal("Supplies and lower bounds need a server: run augury explore.");
  const whole = given.costs ? wholeCosts(given.costs) : null;
  const sign = maximise ? -1 : 1;
  /** @type {StoryNode[]} */
  let nodes;
  /** @type {StoryArc[]} */
  let arcs;
  const pair = (/** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ more, /** @type {number} */ less) =>
    /** @type {StoryArc[]} */ ([[a, b, more], [b, a, less]]);
  const places = (/** @type {Label[]} */ labels) => new Map(labels.map((label, node) => [label, node]));
  /** @type {number[]} of each pair */
  let amounts = [];
  if (given.edges) {
    const [left, right] = [labelsOf(given.left), labelsOf(given.right)];
    const [row, column] = [places(left), places(right)], sink = 1 + left.length + right.length;
    const edges = given.edges.map((/** @type {[Label, Label]} */ [a, b], /** @type {number} */ edge) =>
      ({ row: Number(row.get(a)), column: Number(column.get(b)), edge }));
    edges.sort((/** @type {any} */ a, /** @type {any} */ b) => a.row - b.row || a.column - b.column);
    if (edges.some((/** @type {any} */ edge, /** @type {number} */ at) => at &&
      edge.row === edges[at - 1].row && edge.column === edges[at - 1].column)) {
      throw new Refusal("An edge is there twice.");
    }
    nodes = [{ label: "source", role: "source" }, ...left.map((label) => ({ label, role: /** @type {const} */ ("left") })),
      ...right.map((label) => ({ label, role: /** @type {const} */ ("right") })), { label: "sink", role: "sink" }];
    arcs = [
      ...left.flatMap((_, node) => pair(0, 1 + node, 1, 0)),
      ...edges.flatMap((/** @type {any} */ edge) => pair(1 + edge.row, 1 + left.length + edge.column, 1, 0)),
      ...right.flatMap((_, node) => pair(1 + left.length + node, sink, 1, 0)),
    ];
    amounts = [...left.map(() => 0), ...edges.map((/** @type {any} */ { edge }) => whole?.amounts[edge] || 0),
      ...right.map(() => 0)];
  } else {
    const labels = labelsOf(given.nodes), number = places(labels);
    const ends = given.arcs.map((/** @type {[Label, Label, number]} */ [a, b, capacity]) =>
      [Number(number.get(a)), Number(number.get(b)), capacity]);
    nodes = labels.map((label) => ({
      label, role: label === given.source ? "source" : label === given.sink ? "sink" : "node" }));
    arcs = pairedArcs(ends);
    if (whole) {
      // What costs less than nothing starts full, and what is too much at a node is held for it.
      const excess = labels.map(() => 0), more = labels.length;
      arcs = ends.flatMap((/** @type {StoryArc} */ [tail, head, capacity], /** @type {number} */ arc) => {
        const start = sign * whole.amounts[arc] < 0 ? capacity : 0;
        excess[tail] -= start;
        excess[head] += start;
        return pair(tail, head, capacity - start, start);
      });
      excess.forEach((over, node) => arcs.push(
        ...over > 0 ? pair(more, node, over, 0) : pair(node, more + 1, 0 - over, 0)));
      nodes.push({ label: "excess", role: "excess" }, { label: "shortage", role: "shortage" });
      amounts = [...whole.amounts, ...labels.map(() => 0)];
    }
  }
  if (arcs.some(([, , capacity]) => capacity > MOST_NUMBER)) {
    throw new Refusal("These capacities are too large for the network in this page.");
  }
  const own = nodes.length - (whole && given.arcs ? 2 : 0);
  /** @type {StoryGraph} */
  const graph = { kind: given.edges ? "matching" : "flow", nodes, arcs };
  if (!whole) return { graph, cost: null, own };
  const costs = amounts.flatMap((amount) => [amount, 0 - amount]);
  return {
    graph: { ...graph, costs, unit: whole.unit, sense: maximise ? "greatest" : "least" },
    cost: costs.map((amount) => sign * amount + 0), own,
  };
}

/**
 * Run the network on a graph and tell everything that happened.
 * @param {Said} said @param {GraphRequest} given as the JSON format has it
 * @param {{seed: number, maximise?: boolean|null}} settings @returns {Story}
 */
function storyOf(said, given, { seed, maximise }) {
  const isGreatest = maximise ?? given.sense === "greatest";
  const { graph, cost, own } = graphOf(given, isGreatest);
  const generator = new Generator(seed);
  const end = (/** @type {string} */ role) => graph.nodes.findIndex((node) => node.role === role);
  const network = arcsOf(graph.arcs, graph.nodes.length, end("source"), end("sink"));
  let residual = graph.arcs.map(([, , capacity]) => capacity);
  /** @type {Round[]} */
  const rounds = [];
  /** @type {number[]|null} */
  let price = null;
  if (!cost) {
    rounds.push(...roundsOf(said, network, residual, generator));
    residual = rounds[rounds.length - 1].after;
  } else {
    price = firstPrices(graph, cost);
    // Of a flow: first what started full is made legal, then as much as possible is sent.
    const legal = { ...network, source: end("excess"), sink: end("shortage") };
    const stages = graph.kind === "flow" ? [legal, network] : [network];
    for (const stage of stages) {
      if (stage !== legal) {
        const closed = 2 * (graph.arcs.length / 2 - (graph.kind === "flow" ? own : 0));
        residual = residual.map((left, arc) => (arc < closed ? left : 0));
      }
      if (!graph.arcs.some(([sender], arc) => sender === stage.source && residual[arc] > 0)) continue;
      const prices = pricesOf(network, residual, cost, price);
      rounds.push(...pricedRounds(said, stage, prices, generator));
      ({ residual, price } = prices);
    }
  }
  rounds.forEach((round, number) => {
    round.number = number;
  });
  const fruitful = rounds.filter((round) => round.paths.length).length;
  const solution = {
    ...solutionOf(graph, network, residual, price, own), executor: "discrete", rounds: fruitful,
    neural_rounds: fruitful, classical_rounds: 0, ending: "done",
  };
  const algorithm = !cost ? "ford-fulkerson" : graph.kind === "flow" ? "min-cost-flow" : "assignment";
  return {
    algorithm, graph,
    model: {
      name: "discrete", kind: "discrete", state: "reached", termination: "bfs", many_paths: false,
      neural_bottleneck: true, neural_augmentation: true, seed, infinity: null,
    },
    rounds, solution,
  };
}

/** @param {StoryGraph} graph @param {number[]} cost @returns {number[]} before the first round */
function firstPrices(graph, cost) {
  const price = graph.nodes.map(() => 0);
  if (graph.kind === "flow") return price;
  // A right node's price is its cheapest edge, so that some of its edges are tight at once.
  const isEdge = (/** @type {StoryArc} */ [sender, receiver]) =>
    graph.nodes[sender].role === "left" && graph.nodes[receiver].role === "right";
  const edges = graph.arcs.flatMap((arc, number) => (isEdge(arc) ? [number] : []));
  const most = Math.max(0, ...edges.map((arc) => cost[arc]));
  graph.nodes.forEach(({ role }, node) => {
    if (role === "right") price[node] = most;
  });
  for (const arc of edges) {
    const [, receiver] = graph.arcs[arc];
    price[receiver] = Math.min(price[receiver], cost[arc]);
  }
  price[price.length - 1] = Math.min(most, ...graph.nodes.flatMap(({ role }, node) =>
    (role === "right" ? [price[node]] : [])));
  return price;
}

/**
 * What was found, with its proof: a cover or a cut, and prices that leave no arc too cheap.
 * @param {StoryGraph} graph @param {Arcs} network @param {number[]} residual
 * @param {number[]|null} price @param {number} own how many nodes were given
 * @returns {Story["solution"] & Record<string, any>}
 */
function solutionOf(graph, network, residual, price, own) {
  const { nodes, arcs, costs } = graph, { source } = network;
  const label = (/** @type {number} */ node) => nodes[node].label;
  const inCut = reachedFrom(network, residual);
  judge(!inCut[network.sink], "end");
  const flow = arcs.map(([, , capacity], arc) => (costs && graph.kind === "flow"
    ? (arc % 2 ? 0 : residual[arc + 1]) : capacity - residual[arc]));
  const isInner = ([sender, receiver] = arcs[0]) => sender < own && receiver < own;
  const size = arcs.reduce((sum, ends, arc) => sum + (isInner(ends)
    ? (ends[0] === source ? Math.max(flow[arc], 0) : 0) - (ends[1] === source ? Math.max(flow[arc], 0) : 0) : 0), 0);
  const side = (/** @type {string} */ role, /** @type {boolean} */ isReached) => nodes.flatMap((node, number) =>
    (node.role === role && inCut[number] === isReached ? [node.label] : []));
  const room = arcs.map(([, , capacity], arc) => (costs && graph.kind === "flow"
    ? (arc % 2 ? 0 : capacity + arcs[arc + 1][2]) : capacity));
  const capacity = arcs.reduce((sum, ends, arc) =>
    sum + (isInner(ends) && inCut[ends[0]] && !inCut[ends[1]] ? room[arc] : 0), 0);
  const proof = graph.kind === "matching" ? { cover: { left: side("left", false), right: side("right", true) } }
    : { cut: { source_side: nodes.slice(0, own).flatMap((node, number) => (inCut[number] ? [node.label] : [])), capacity } };
  const covered = proof.cover ? proof.cover.left.length + proof.cover.right.length : capacity;
  judge(covered === size, "proof");
  const carrying = arcs.flatMap((ends, arc) => (flow[arc] > 0 && isInner(ends) ? [arc] : []));
  const found = graph.kind === "flow"
    ? { flow: carrying.map((arc) => [label(arcs[arc][0]), label(arcs[arc][1]), flow[arc]]) }
    : { matching: carrying.filter((arc) => nodes[arcs[arc][0]].role === "left" && nodes[arcs[arc][1]].role === "right")
      .map((arc) => [label(arcs[arc][0]), label(arcs[arc][1])]) };
  const told = { legal: true, maximum: true, size, shortfall: 0 };
  if (!costs || !price) return { size, is_maximum: true, ...found, certificate: { ...told, ...proof } };
  const sign = graph.sense === "greatest" ? -1 : 1, prices = price;
  judge(arcs.every(([sender, receiver], arc) => !residual[arc] || sender >= own || receiver >= own ||
    sign * costs[arc] + prices[sender] - prices[receiver] >= 0), "price");
  const cost = worth(graph, costs.reduce((sum, amount, arc) => sum + (arc % 2 ? 0 : amount * flow[arc]), 0));
  const worths = prices.slice(0, own).map((one) => worth(graph, sign * one + 0));
  const of = (/** @type {string} */ role) => worths.filter((_, node) => nodes[node].role === role);
  const named = graph.kind === "flow" ? { nodes: worths.map((one, node) => [label(node), one]) }
    : { left: of("left"), right: of("right"), source: worths[0], sink: worths[own - 1] };
  const best = { cost, gap: 0 };
  return {
    size, is_maximum: true, ...best, is_optimal: true, ...found,
    certificate: { ...told, ...best, optimal: true, ...proof, prices: named },
  };
}
