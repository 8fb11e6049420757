"use strict";
/*
 * Stories become a page that can be played: drawings, a sentence, plots, a slider over the whole
 * run. Used by the served page and by the file that works without a server.
 */

/** @typedef {{stories: Story[], first_difference: Difference|null, opens?: "end"}} Shown */

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const FRAME_MS = 900;
const MOST_ROWS = 12; // left nodes in the table of reduced costs
const MOST_COLUMNS = 8; // and right nodes

/** @template {Element} T @param {string} id @param {{new (): T}} type @returns {T} */
function byId(id, type) {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`the page lacks #${id}`);
  return element;
}

/** @param {string} tag @param {string} [text] @param {string} [name] @returns {HTMLElement} */
function htmlElement(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

/** Everything below the input: what is being shown, and where in it we are. */
class Player {
  constructor() {
    /** @type {Story[]} */
    this.stories = [];
    /** @type {Frame[][]} */
    this.rows = [];
    /** @type {(Drawing|null)[]} */
    this.drawings = [];
    /** @type {HTMLElement[]} */
    this.sentences = [];
    /** @type {Difference|null} */
    this.difference = null;
    this.differenceRow = -1;
    this.partingRow = -1;
    this.place = 0;
    /** @type {ReturnType<typeof setTimeout>|null} */
    this.timer = null;
    this.stage = byId("stage", HTMLElement);
    this.slider = byId("slider", HTMLInputElement);
    this.connect();
  }

  /** Listen to buttons, keys, the slider and the size of the window. */
  connect() {
    /** @type {Record<string, () => void>} */
    const actions = {
      first: () => this.go(0),
      "round-back": () => this.goRound(-1),
      back: () => this.go(this.place - 1),
      play: () => this.toggle(),
      step: () => this.go(this.place + 1),
      "round-on": () => this.goRound(1),
      last: () => this.go(this.rows.length - 1),
      "to-difference": () => this.go(this.differenceRow),
      "to-parting": () => this.go(this.partingRow),
    };
    for (const [id, action] of Object.entries(actions)) {
      byId(id, HTMLButtonElement).addEventListener("click", () => {
        if (id !== "play") this.pause();
        action();
      });
    }
    this.slider.addEventListener("input", () => {
      this.pause();
      this.go(Number(this.slider.value));
    });
    byId("labels", HTMLSelectElement).addEventListener("change", () => this.show());
    document.addEventListener("keydown", (event) => this.onKey(event, actions));
    this.connectFull();
    // On a phone the address bar comes and goes, which changes the height.
    const size = () => [window.innerWidth, isPhone() ? 0 : window.innerHeight].join();
    let before = size();
    window.addEventListener("resize", () => {
      if (size() === before) return;
      before = size();
      this.rebuild();
    });
  }

  rebuild() {
    this.drawings.forEach((drawing) => drawing?.build());
    this.showPlots();
  }

  /** The button for the whole screen; a frame in a notebook has none to give. */
  connectFull() {
    const button = byId("full", HTMLButtonElement);
    button.hidden = !document.fullscreenEnabled;
    button.addEventListener("click", () => void (document.fullscreenElement
      ? document.exitFullscreen() : document.documentElement.requestFullscreen()));
    document.addEventListener("fullscreenchange", () => {
      const isFull = Boolean(document.fullscreenElement);
      document.body.classList.toggle("full", isFull);
      button.textContent = isFull ? "Leave full screen" : "Full screen";
      this.rebuild();
    });
  }

  /** @param {KeyboardEvent} event @param {Record<string, () => void>} actions */
  onKey(event, actions) {
    const target = event.target instanceof Element ? event.target : null;
    // Where people type, keys mean text; on a button, space presses it.
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows.length) return;
    if (target?.closest("input:not([type=range]), textarea, select, summary, [data-keys]")) return;
    if (event.key === " " && target?.closest("button")) return;
    /** @type {Record<string, string>} */
    const keys = {
      " ": "play", ArrowRight: "step", ArrowLeft: "back", ArrowDown: "round-on",
      ArrowUp: "round-back", Home: "first", End: "last",
    };
    const focused = this.drawings.findIndex((drawing) => drawing?.svg === target);
    if (this.drawings[Math.max(focused, 0)]?.onKey(event.key)) return;
    if (event.key === "f") byId("full", HTMLButtonElement).click();
    const name = keys[event.key];
    if (!name) return;
    event.preventDefault();
    if (name !== "play") this.pause();
    actions[name]();
  }

  /** @param {Shown} shown */
  load({ stories, first_difference: difference, opens }) {
    this.pause();
    this.stories = stories.map(toldInFull);
    this.difference = difference;
    const tracks = this.stories.map(framesOf);
    this.rows = stories.length > 1 ? alignedFrames(tracks) : tracks[0].map((frame) => [frame]);
    this.differenceRow = difference ? rowOfDifference(this.rows, difference) : -1;
    const parting = stories.length > 1 ? partingOf(this.stories) : null;
    this.partingRow = parting ? rowOfParting(this.rows, this.stories, parting.round) : -1;
    document.body.classList.add("has-story");
    document.body.classList.toggle("two", stories.length > 1);
    this.stage.replaceChildren();
    this.drawings = [];
    this.addSentences();
    for (const story of this.stories) this.addFigure(story);
    this.slider.max = String(this.rows.length - 1);
    byId("facts", HTMLElement).replaceChildren();
    const told = byId("difference", HTMLElement);
    told.hidden = stories.length < 2;
    byId("difference-text", HTMLElement).textContent = difference
      ? `They first differ in search ${difference.round + 1}` +
        (difference.step === null || difference.step === undefined ? "" : `, step ${difference.step}`) +
        `: ${DIFFERENCES[difference.what] || difference.what}.`
      : "Both networks decide the same from beginning to end.";
    byId("to-difference", HTMLButtonElement).hidden = !difference;
    byId("parting-text", HTMLElement).textContent = parting
      ? `Their results part in search ${parting.round + 1}: ${parting.what}.` : "";
    byId("manner", HTMLElement).textContent = [...new Set(this.stories.map(mannerSentence))].join(" ");
    byId("to-parting", HTMLButtonElement).hidden = !parting || this.partingRow === this.differenceRow;
    showLegend(this.stories, this.drawings.some(Boolean));
    this.showTimeline();
    this.go(opens === "end" ? this.rows.length - 1 : 0);
  }

  /** A sentence for each story, below all drawings: always in sight, so it comes first. */
  addSentences() {
    this.sentences = this.stories.map(() => htmlElement("p", "", "sentence"));
    if (this.stories.length === 1) this.sentences[0].setAttribute("aria-live", "polite");
    byId("sentences", HTMLElement).replaceChildren(...this.sentences);
  }

  /** Show nothing, as before the first story. */
  clear() {
    this.pause();
    this.stories = [];
    this.rows = [];
    this.drawings = [];
    this.sentences = [];
    this.stage.replaceChildren();
    document.body.classList.remove("has-story");
  }

  /** @param {Story} story */
  addFigure(story) {
    const figure = htmlElement("figure");
    const head = htmlElement("figcaption");
    head.append(htmlElement("strong", story.model.name), describedRun(story));
    const home = htmlElement("div", undefined, "canvas");
    figure.append(head, home);
    this.stage.append(figure);
    if (isDrawable(story)) {
      const detail = byId("detail", HTMLElement);
      this.drawings.push(new Drawing(home, story, (lines) => {
        detail.replaceChildren(...lines.map((line) => htmlElement("li", line)));
      }));
    } else {
      home.append(summaryElement(story));
      this.drawings.push(null);
    }
  }

  /** @param {number} place */
  go(place) {
    this.place = Math.min(Math.max(place, 0), this.rows.length - 1);
    this.show();
    if (this.place === this.rows.length - 1) this.pause();
  }

  /** @param {number} way −1 to the start of this round or the one before, 1 to the next */
  goRound(way) {
    const round = Math.max(...this.rows[this.place].map((frame) => frame.round));
    const starts = this.roundStarts();
    if (way > 0) {
      const next = starts.find((start) => start > this.place);
      this.go(next === undefined ? this.rows.length - 1 : next);
    } else {
      const own = starts[Math.min(round, starts.length - 1)];
      this.go(own < this.place ? own : starts[Math.max(0, starts.indexOf(own) - 1)]);
    }
  }

  /** @returns {number[]} the row in which each round starts */
  roundStarts() {
    /** @type {number[]} */
    const starts = [];
    this.rows.forEach((row, place) => {
      const round = Math.max(...row.map((frame) => frame.round));
      if (starts.length <= round) starts.push(place);
    });
    return starts;
  }

  toggle() {
    if (this.timer !== null) {
      this.pause();
      return;
    }
    if (this.place === this.rows.length - 1) this.go(0);
    this.setPlaying(true);
    const tick = () => {
      this.timer = setTimeout(tick, FRAME_MS / this.speed());
      this.go(this.place + 1);
    };
    this.timer = setTimeout(tick, FRAME_MS / this.speed() / 2);
  }

  pause() {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.setPlaying(false);
  }

  /** @param {boolean} isPlaying */
  setPlaying(isPlaying) {
    const button = byId("play", HTMLButtonElement);
    button.classList.toggle("playing", isPlaying);
    button.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    button.title = isPlaying ? "Pause (space)" : "Play (space)";
    // Spoken at every frame of a film, sentences would pile up.
    for (const sentence of this.sentences) {
      sentence.setAttribute("aria-live", isPlaying ? "off" : "polite");
    }
  }

  /** @returns {number} */
  speed() {
    return SPEEDS[Number(byId("speed", HTMLSelectElement).value)] || 1;
  }

  /** Show the current row everywhere. */
  show() {
    const row = this.rows[this.place];
    if (!row) return;
    const labels = byId("labels", HTMLSelectElement).value;
    const isDifferent = this.place === this.differenceRow;
    for (const [number, line] of this.stage.querySelectorAll(".rounds tr[data-round]").entries()) {
      const isNow = row.some((frame) => String(frame.round) === line.getAttribute("data-round"));
      line.classList.toggle("now", isNow);
      const home = line.closest(".scroll");
      if (isNow && home) home.scrollTop = Math.max(0, 27 * (number % 1000) - 120);
    }
    row.forEach((frame, number) => {
      const story = this.stories[number], drawing = this.drawings[number];
      this.sentences[number].textContent = sentenceOf(story, frame);
      this.sentences[number].classList.toggle("different", isDifferent);
      this.sentences[number].classList.toggle("end", frame.kind === "end");
      if (!drawing) return;
      drawing.labels = labels;
      drawing.show(viewOf(story, frame), isDifferent ? this.difference : null);
      drawing.svg.setAttribute("aria-label",
        `${describedGraph(story)} ${sentenceOf(story, frame)}`);
    });
    this.slider.value = String(this.place);
    this.slider.setAttribute("aria-valuetext", sentenceOf(this.stories[0], row[0]));
    byId("place", HTMLElement).textContent = `${this.place + 1} / ${this.rows.length}`;
    byId("back", HTMLButtonElement).disabled = this.place === 0;
    byId("first", HTMLButtonElement).disabled = this.place === 0;
    byId("step", HTMLButtonElement).disabled = this.place === this.rows.length - 1;
    byId("last", HTMLButtonElement).disabled = this.place === this.rows.length - 1;
    this.showFacts(row);
    this.showReduced(row[0]);
    this.showPlots();
  }

  /**
   * The table of reduced costs beside a small matching: what proves its cost, at the end.
   * @param {Frame} frame
   */
  showReduced(frame) {
    const [story] = this.stories;
    const table = this.stories.length > 1 ? null : reducedTable(story, viewOf(story, frame));
    byId("reduced", HTMLElement).hidden = !table;
    byId("reduced-table", HTMLElement).replaceChildren(...(table ? [table] : []));
  }

  /** @param {Frame[]} row */
  showFacts(row) {
    const rows = row.map((frame, number) => factsOf(this.stories[number], frame));
    const table = htmlElement("table");
    if (rows.length > 1) {
      const head = htmlElement("tr");
      head.append(htmlElement("td"));
      for (const story of this.stories) head.append(htmlElement("th", story.model.name));
      table.append(head);
    }
    rows[0].forEach(([name], place) => {
      const line = htmlElement("tr");
      line.append(htmlElement("th", name));
      for (const facts of rows) line.append(htmlElement("td", facts[place][1], facts[place][2]));
      table.append(line);
    });
    byId("facts", HTMLElement).replaceChildren(table);
  }

  showTimeline() {
    const starts = this.roundStarts(), total = Math.max(this.rows.length - 1, 1);
    const bands = starts.map((start, round) => {
      const end = round + 1 < starts.length ? starts[round + 1] : this.rows.length - 1;
      return svgElement("rect", {
        x: (100 * start) / total, width: Math.max(0, (100 * (end - start)) / total), y: 0,
        height: 6, class: round % 2 ? "odd" : "even",
      });
    });
    for (const row of [this.differenceRow, this.partingRow]) {
      if (row < 0) continue;
      bands.push(svgElement("rect", {
        x: Math.min(99.2, (100 * row) / total), width: 0.8, y: 0, height: 6, class: "mark",
      }));
    }
    byId("timeline", SVGSVGElement).replaceChildren(...bands);
  }

  showPlots() {
    if (!this.rows.length) return;
    const chances = this.stories.map((story, number) => chancesOf(story, this.rows, number));
    const hasChances = chances.some((points) => points.length > 0);
    byId("chance-plot", HTMLElement).hidden = !hasChances;
    const last = this.rows.length - 1;
    if (hasChances) {
      plot(byId("chance", SVGSVGElement), chances, { last, most: 1, place: this.place, half: true });
    }
    const sizes = this.stories.map((story, number) => this.rows.map((row, x) =>
      ({ x, y: valueAt(story, row[number]) })));
    const most = Math.max(1, ...sizes.map((points) => points[points.length - 1].y));
    plot(byId("size", SVGSVGElement), sizes, { last, most, place: this.place, half: false });
    byId("size-title", HTMLElement).textContent = sizeName(this.stories[0]);
  }
}

/** @type {Record<string, string>} */
const DIFFERENCES = {
  state: "which nodes count as reached",
  parent: "a node is given another predecessor",
  path: "they follow different paths",
  says_done: "one says that it is done, the other goes on",
  bottleneck: "they give a path different bottlenecks",
  augmentation: "they give a path different capacities",
  price: "they move the prices differently",
  end: "one has ended, the other goes on",
  verdict: "the judge decides differently",
};

/** @param {Story} story @returns {string} */
function describedGraph(story) {
  const { kind, nodes, arcs } = story.graph;
  if (story.summary) {
    return `${counted(story.summary.nodes, "node")}, ${counted(story.summary.arcs / 2, "arc pair")}.`;
  }
  if (kind === "flow") {
    const own = arcs.filter((_, arc) => arc % 2 === 0 && isOwnPair(story.graph, arc / 2)).length;
    return `A network of ${counted(nodes.filter(({ role }) => !isHolder(role)).length, "node")} and ` +
      `${counted(own, "arc pair")}.`;
  }
  const left = nodes.filter((node) => node.role === "left").length;
  const right = nodes.filter((node) => node.role === "right").length;
  const edges = arcs.length / 2 - left - right;
  return `A bipartite graph of ${left} + ${right} nodes and ${counted(edges, "edge")}.`;
}

/** @param {Story} story @returns {string} */
function describedRun(story) {
  const { model } = story;
  if (model.kind === "classical") return "classical code";
  const classical = [
    model.neural_bottleneck ? "" : "bottleneck", model.neural_augmentation ? "" : "augmentation",
  ].filter(Boolean);
  const end = model.termination === "bfs" ? "" : `, ends after ${counted(Number(model.termination), "failure")}`;
  return (classical.length ? `classical ${classical.join(" and ")}` : "all neural") + end;
}

/** @param {Story} story @param {Frame} frame @returns {number} the flow value shown */
function valueAt(story, frame) {
  const round = story.rounds[frame.round];
  if (story.summary || frame.kind === "end") return round.value;
  if (isReach(story)) return viewOf(story, frame).state.filter((bit) => bit === 1).length;
  const sent = (/** @type {Path[]} */ paths) => paths.filter((path) => path.verdict === "applied")
    .reduce((sum, path) => sum + path.bottleneck, 0);
  const before = round.value - sent(round.paths);
  if (frame.kind === "augment") return before + sent(round.paths.slice(0, frame.path + 1));
  return before + (frame.kind === "path" ? sent(round.paths.slice(0, frame.path)) : 0);
}

/**
 * @param {Story} story @param {Frame[][]} rows @param {number} number
 * @returns {{x: number, y: number}[]} the probability of going on, where the network gives one
 */
function chancesOf(story, rows, number) {
  return rows.flatMap((row, x) => {
    const frame = row[number], round = story.rounds[frame.round];
    if (x && rows[x - 1][number] === frame) return []; // it waits for the other one
    if (story.summary && frame.kind === "answer") {
      // A round is one frame here: its steps share the way from the frame before.
      return round.steps.flatMap(({ goes_on: y }, step) => y === null ? []
        : [{ x: Math.max(0, x - 1 + step / (round.steps.length - 1)), y }]);
    }
    const steps = frame.kind === "step" ? round.steps : frame.kind === "reach" ? round.reach || [] : [];
    const y = steps[frame.step]?.goes_on;
    return y === null || y === undefined ? [] : [{ x, y }];
  });
}

/** @param {Story} story @param {Frame} frame @returns {string} what has been found costs so much */
function costAt(story, frame) {
  const { cost } = story.solution;
  if (frame.kind === "end") {
    return cost === undefined ? "–" : cost.toLocaleString("en", { maximumSignificantDigits: 15 });
  }
  return story.summary ? "–" : amount(story.graph, costOf(story, viewOf(story, frame).residual));
}

/**
 * A row for each left node and a column for each right one, with their prices; an entry is what
 * the edge costs beyond their difference: 0 where it is usable.
 * @param {Story} story @param {View} view @returns {HTMLElement|null} null where it does not fit
 */
function reducedTable(story, view) {
  const { graph } = story, { price, reduced } = view;
  if (story.summary || graph.kind !== "matching" || !price || !reduced) return null;
  const side = (/** @type {string} */ role) => graph.nodes.flatMap((node, number) =>
    (node.role === role ? [number] : []));
  const left = side("left"), right = side("right");
  if (left.length > MOST_ROWS || right.length > MOST_COLUMNS) return null;
  const pairs = new Map(graph.arcs.flatMap(([sender, receiver], arc) =>
    (arc % 2 ? [] : [[`${sender},${receiver}`, arc / 2]])));
  const moved = new Set(view.moved);
  const priceElement = (/** @type {number} */ node) =>
    htmlElement("td", priceText(graph, price[node]), moved.has(node) ? "price moved" : "price");
  const named = (/** @type {number} */ node, /** @type {string} */ scope) => {
    const element = htmlElement("th", nameOf(story, node));
    element.setAttribute("scope", scope);
    return element;
  };
  const table = htmlElement("table", undefined, "reduced");
  const head = htmlElement("tr"), prices = htmlElement("tr");
  head.append(htmlElement("td"), htmlElement("td"), ...right.map((node) => named(node, "col")));
  prices.append(htmlElement("td"), htmlElement("td", "price", "price"), ...right.map(priceElement));
  table.append(head, prices);
  for (const node of left) {
    const line = htmlElement("tr");
    line.append(named(node, "row"), priceElement(node));
    for (const other of right) {
      const pair = pairs.get(`${node},${other}`);
      if (pair === undefined) {
        line.append(htmlElement("td", "", "none"));
        continue;
      }
      const isMatched = carried(graph, pair, view.residual) > 0;
      const name = isMatched ? "matched" : reduced[2 * pair] === 0 ? "tight" : "";
      const cell = htmlElement("td", amount(graph, reduced[2 * pair]), name);
      cell.title = `${arcName(story, 2 * pair)}: cost ${amount(graph, graph.costs?.[2 * pair] || 0)}`;
      line.append(cell);
    }
    table.append(line);
  }
  return table;
}

/** @param {Story} story @param {Frame} frame @returns {[string, string, string?][]} */
function factsOf(story, frame) {
  const round = story.rounds[frame.round];
  const steps = Math.max(round.steps.length - 1, 0);
  const taken = frame.kind === "step" ? `${frame.step} of ${steps}` : String(steps);
  const path = frame.kind === "path" || frame.kind === "augment" ? round.paths[frame.path] : null;
  const limit = path?.belief ? ` (${percent(Math.max(...path.belief))} sure)` : "";
  const judge = judgeOf(round, frame, path);
  const step = isStuck(round) && (frame.kind === "price" || story.summary) ? round.step : undefined;
  const moved = step?.proposed.length ? amount(story.graph, step.proposed[0]) : "–";
  return [
    ["Round", isFruitful(round)
      ? `${roundName(story, frame.round).slice(6)} of ${story.rounds.filter(isFruitful).length}`
      : roundName(story, frame.round).toLowerCase()],
    [frame.kind === "step" ? "Step" : "Steps", taken],
    ["Searched by", round.by],
    ["Bottleneck", path ? `${path.proposed}${limit}` : "–"],
    .../** @type {[string, string][]} */ (hasCosts(story.graph) ? [["Step of the prices", moved]] : []),
    ["Judge", judge[0], judge[1]],
    [sizeName(story), String(valueAt(story, frame))],
    .../** @type {[string, string][]} */ (hasCosts(story.graph) ? [["Cost", costAt(story, frame)]] : []),
  ];
}

/**
 * @param {Round} round @param {Frame} frame @param {Path|null} path
 * @returns {[string, string]} what the judge says, and the style of it
 */
function judgeOf(round, frame, path) {
  if (path) {
    const agrees = path.verdict === "applied";
    return [agrees ? "agrees" : path.verdict, agrees ? "good" : "bad"];
  }
  if (round.step && frame.kind === "price") {
    const isRight = round.step.verdict === "goes on";
    return [isRight ? "agrees" : round.step.verdict, isRight ? "good" : "bad"];
  }
  if (frame.kind === "answer" || frame.kind === "end") {
    const isRight = round.says_done ? !round.truth.reachable
      : round.paths.some(({ verdict }) => verdict === "applied");
    return [isRight ? "agrees" : round.truth.reachable ? "a path is left" : "none is left",
      isRight ? "good" : "bad"];
  }
  return ["–", ""];
}

/**
 * Draw curves as steps over the whole run, with a line at the current place.
 * @param {SVGSVGElement} svg @param {{x: number, y: number}[][]} series
 * @param {{last: number, most: number, place: number, half: boolean}} options
 */
function plot(svg, series, { last, most, place, half }) {
  const width = 280, height = 76, left = 26, top = 6, bottom = 8;
  const x = (/** @type {number} */ value) => left + ((width - left - 6) * value) / Math.max(last, 1);
  const y = (/** @type {number} */ value) =>
    height - bottom - ((height - top - bottom) * value) / most;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  /** @type {SVGElement[]} */
  const parts = [];
  const ticks = half ? [0, 0.5, 1] : [0, most];
  for (const value of ticks) {
    parts.push(svgElement("line", {
      x1: left, x2: width - 6, y1: y(value), y2: y(value), class: value === 0.5 ? "half" : "grid",
    }));
    const text = half ? `${100 * value} %` : String(value);
    parts.push(svgElement("text", { x: left - 4, y: y(value), dy: "0.35em", class: "tick" },
      half ? text.replace(" %", "") : text));
  }
  series.forEach((points, number) => {
    if (half) {
      parts.push(...points.map((point) => svgElement("circle", {
        cx: x(point.x).toFixed(1), cy: y(point.y).toFixed(1),
        r: points.length > 120 ? 1.2 : 2.2, class: `dot series-${number}`,
      })));
    } else {
      const data = points.map((point, index) => `${index
        ? `H${x(point.x).toFixed(1)}V` : `M${x(point.x).toFixed(1)} `}${y(point.y).toFixed(1)}`);
      parts.push(svgElement("path", { d: data.join(""), class: `curve series-${number}` }));
    }
  });
  parts.push(svgElement("line", {
    x1: x(place), x2: x(place), y1: top - 4, y2: height - bottom + 4, class: "now",
  }));
  svg.replaceChildren(...parts);
}

/** @type {Frame} */
const END = { kind: "end", round: 0, step: 0, path: 0 };

/** @param {Story} story @returns {HTMLElement} what is shown of a graph too large to draw */
function summaryElement(story) {
  const box = htmlElement("div", undefined, "summary");
  const { solution } = story;
  const size = solution.size.toLocaleString("en");
  const what = story.graph.kind === "matching" ? "Matching" : "Flow";
  const costs = solution.cost === undefined ? "" : `, cost ${costAt(story, END)}`;
  box.append(htmlElement("h3", isReach(story) ? `${size} nodes reached` : `${what} of ${size}${costs}`));
  box.append(htmlElement("p", `${describedGraph(story)} This is more than a drawing can show ` +
    `(up to ${DRAWABLE} nodes on a side), so here are its rounds and the plots.`));
  const scroll = htmlElement("div", undefined, "scroll");
  const table = htmlElement("table", undefined, "rounds");
  const head = htmlElement("tr");
  for (const name of ["Round", "Steps", "Reached", "Paths", "Size", "By"]) {
    head.append(htmlElement("th", name));
  }
  table.append(head);
  story.rounds.forEach((round, number) => {
    const row = htmlElement("tr");
    row.dataset.round = String(number);
    const paths = round.paths.filter((path) => path.verdict === "applied").length;
    const values = [isFruitful(round) ? roundName(story, number).slice(6) : "–", Math.max(round.steps.length - 1, 0),
      lastStep(round)?.reached ?? "", paths, round.value, round.by];
    for (const value of values) row.append(htmlElement("td", String(value)));
    table.append(row);
  });
  scroll.append(table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Rounds");
  box.append(scroll);
  return box;
}

/** @param {Story[]} stories @param {boolean} isDrawn */
function showLegend(stories, isDrawn) {
  const [story] = stories;
  const legend = byId("legend", HTMLElement);
  legend.hidden = !isDrawn;
  const shape = story.graph.kind === "flow" && sidesOf(story.graph) ? "sides" : story.graph.kind;
  const kind = isReach(story) ? "reach" : shape;
  const costs = hasCosts(story.graph) ? "with" : "without";
  /** @type {Record<string, string[]>} what an entry asks for, and what there is */
  const here = {
    "data-for": [kind], "data-costs": [costs], "data-stories": [String(stories.length)],
    "data-kind": stories.map(({ model }) => model.kind),
    "data-state": stories.flatMap(({ rounds }) => rounds.map(({ state }) => state)),
  };
  const asks = Object.keys(here);
  for (const item of legend.querySelectorAll(asks.map((name) => `[${name}]`).join())) {
    /** @type {HTMLElement} */ (item).hidden = !asks.every((name) =>
      item.getAttribute(name)?.split(" ").some((one) => here[name].includes(one)) ?? true);
  }
  const labels = byId("labels", HTMLSelectElement);
  if (labels.selectedOptions[0]?.hidden) labels.value = "auto";
}

/** Follow the system's theme until the button is pressed. */
function connectTheme() {
  const button = byId("theme", HTMLButtonElement);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light"))
    === "dark";
  const say = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.title = isDark() ? "Light theme" : "Dark theme";
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    say();
  });
  system.addEventListener("change", say);
  say();
}

/** @param {string} id @returns {any} what this file holds under that name, or null */
function inside(id) {
  const element = document.getElementById(id);
  return element?.textContent ? JSON.parse(element.textContent) : null;
}

connectTheme();
const player = new Player();
/** @type {Shown|null} */
const told = inside("stories");
if (told) player.load(told);
