"use strict";
/*
 * A graph becomes an SVG drawing, and a frame becomes marks on it. Positions are in CSS pixels of
 * the place given, so that text stays readable on any screen. Labels come from users: they enter
 * the document as text only, never as markup.
 */

const SVG = "http://www.w3.org/2000/svg";
const MANY_PAIRS = 60; // from here on lines are thinned and arc labels are left out
const MOST_CHANCES = 9; // arcs of a path that still have room for their probabilities
const DRAWABLE = 64; // nodes on a side
const MOST_HEIGHT = 514; // pixels of a drawing, unless its nodes need more
const LEAST_HEIGHT = 230;
const RADIUS = 15; // pixels of a node where there is room
const LEAST_WIDTH = 420; // pixels of a drawing that is magnified
const SCALES = [2.6, 2.3, 2, 1.8, 1.6, 1.45, 1.3, 1.2, 1.1];
const ARC_TEXT = 56; // pixels that the longest text on an arc usually takes
const TEXT_WIDTH = 18; // pixels of a drawing for each cost on it
const MOST_PRICE = 5; // letters of a price inside a node
const COLUMNS = ["source", "left", "right", "sink"];

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{from: Point, bend: Point, to: Point}} Curve */
/** @typedef {Point & {reach: number}} Name the middle of a text, and how far a text on an arc has to stay */
/**
 * @typedef {{width: number, height: number, radius: number, place: Point[],
 *   sides: string[]|null}} Layout `sides` where it is drawn in the columns of a matching
 */

/**
 * @param {string} name @param {Record<string, string|number>} [attributes]
 * @param {string} [text] @returns {SVGElement}
 */
function svgElement(name, attributes = {}, text) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {Story} story @returns {boolean} whether it is small enough to be read as a drawing */
function isDrawable(story) {
  const { kind, nodes } = story.graph;
  if (story.summary) return false;
  if (kind === "flow") return nodes.length <= 2 * DRAWABLE + 2;
  const side = (/** @type {string} */ role) => nodes.filter((node) => node.role === role).length;
  return Math.max(side("left"), side("right")) <= DRAWABLE;
}

/** @param {string} role @returns {boolean} whether such a node was added to hold what is left over */
function isHolder(role) {
  return role === "excess" || role === "shortage";
}

/**
 * Whether a node is drawn: those that were added are where they hold something.
 * @param {StoryGraph} graph @param {number} node @returns {boolean}
 */
function isShown(graph, node) {
  return !isHolder(graph.nodes[node].role) || graph.arcs.some(
    ([sender, receiver, capacity]) => capacity > 0 && (sender === node || receiver === node));
}

/** @param {StoryGraph} graph @param {number} pair @returns {boolean} whether it was not added */
function isOwnPair(graph, pair) {
  const [sender, receiver] = graph.arcs[2 * pair];
  return !isHolder(graph.nodes[sender].role) && !isHolder(graph.nodes[receiver].role);
}

/** @param {StoryGraph} graph @param {number} pair @returns {boolean} whether a pair is drawn */
function isDrawnPair(graph, pair) {
  return isOwnPair(graph, pair) || graph.arcs[2 * pair][2] > 0;
}

/**
 * Columns of nodes, source at the far left and sink at the far right: the two sides of a matching,
 * or the levels of a breadth-first search over the arcs with capacity.
 * @param {Story["graph"]} graph @returns {number[][]}
 */
function columnsOf(graph) {
  const sides = sidesOf(graph);
  if (sides) {
    return COLUMNS.map((role) => sides.flatMap((side, node) => (side === role ? [node] : [])));
  }
  const ends = (/** @type {string[]} */ ...roles) => graph.nodes.flatMap((node, number) =>
    (roles.includes(node.role) && isShown(graph, number) ? [number] : []));
  const sources = ends("source", "excess"), sinks = ends("sink", "shortage");
  const level = graph.nodes.map(() => -1);
  let border = sources;
  for (const node of border) level[node] = 0;
  for (let depth = 1; border.length; depth++) {
    /** @type {number[]} */
    const next = [];
    for (const [sender, receiver, capacity] of graph.arcs) {
      if (capacity > 0 && level[sender] === depth - 1 && level[receiver] < 0) {
        if (sinks.includes(receiver)) continue;
        level[receiver] = depth;
        next.push(receiver);
      }
    }
    border = next;
  }
  // What the source does not reach stands before the sink, which has the last column to itself.
  const deepest = Math.max(1, ...level);
  level.forEach((depth, node) => {
    if (depth < 0) level[node] = deepest;
  });
  for (const node of sinks) level[node] = deepest + 1;
  /** @type {number[][]} */
  const columns = Array.from({ length: deepest + 2 }, () => []);
  level.forEach((depth, node) => isShown(graph, node) && columns[depth].push(node));
  return sortedByNeighbours(graph, columns);
}

/**
 * The column of each node of a matching; also of a flow network with the same shape, such as that
 * of a matching which is half done.
 * @param {Story["graph"]} graph @returns {string[]|null}
 */
function sidesOf(graph) {
  /** @type {string[]} */
  const sides = graph.nodes.map((node) => node.role);
  if (graph.kind === "matching") return sides;
  if (hasCosts(graph)) return null;
  const isEnd = (/** @type {number} */ node, /** @type {string} */ role) =>
    graph.nodes[node].role === role;
  for (const [sender, receiver] of graph.arcs) {
    if (isEnd(sender, "source") && sides[receiver] === "node") sides[receiver] = "left";
    if (isEnd(sender, "sink") && sides[receiver] === "node") sides[receiver] = "right";
  }
  const fits = graph.arcs.every(([sender, receiver, capacity]) => capacity <= 1 &&
    ["sourceleft", "leftsource", "leftright", "rightleft", "rightsink", "sinkright"]
      .includes(sides[sender] + sides[receiver]));
  return fits && !sides.includes("node") ? sides : null;
}

/**
 * Order each column by the mean place of the neighbours before it: fewer lines cross.
 * @param {Story["graph"]} graph @param {number[][]} columns @returns {number[][]}
 */
function sortedByNeighbours(graph, columns) {
  /** @type {Map<number, number>} */
  const height = new Map();
  return columns.map((column) => {
    const wanted = new Map(column.map((node, place) => {
      const before = graph.arcs.filter(([sender, receiver]) =>
        receiver === node && height.has(sender)).map(([sender]) => height.get(sender) || 0);
      const mean = before.reduce((sum, value) => sum + value, 0) / before.length;
      return [node, before.length ? mean : place / Math.max(column.length, 1)];
    }));
    const sorted = column.slice().sort((a, b) => (wanted.get(a) || 0) - (wanted.get(b) || 0));
    sorted.forEach((node, place) => height.set(node, (place + 1) / (sorted.length + 1)));
    return sorted;
  });
}

/** @returns {boolean} whether the screen is so narrow that people scroll anyway */
function isPhone() {
  return window.innerWidth <= 620;
}

/**
 * The height between the top of a drawing and the bar with the sentence.
 * @param {Element} home @returns {number}
 */
function roomIn(home) {
  const bar = document.querySelector(".bar")?.clientHeight || 0;
  const top = isPhone() ? 0 : home.getBoundingClientRect().top + window.scrollY;
  return Math.max(LEAST_HEIGHT, window.innerHeight - top - bar - 14);
}

/**
 * @param {Story["graph"]} graph @param {number} width @param {number} [room] height that is wanted
 * @returns {Layout}
 */
function layoutOf(graph, width, room = MOST_HEIGHT) {
  const columns = columnsOf(graph);
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const sides = sidesOf(graph);
  const isMatching = sides !== null;
  const most = isMatching ? (width < 400 ? 46 : 62) : 110;
  const gap = Math.min(most, Math.max(12.5, (room - 34) / rows));
  const radius = Math.min(RADIUS, Math.max(4, gap * 0.34));
  const height = Math.max(isMatching ? 150 : Math.min(260, room), Math.round(rows * gap) + 34);
  const margin = radius + (width < 500 ? 8 : 14);
  /** @type {Point[]} */
  const place = [];
  columns.forEach((column, number) => {
    // The sides of a matching have their labels outside, between them and source or sink.
    const share = isMatching ? [0, 0.27, 0.73, 1][number] : number / (columns.length - 1);
    const own = Math.min((height - 34) / Math.max(column.length, 1), isMatching ? gap : 130);
    column.forEach((node, row) => {
      let y = height / 2 + (row - (column.length - 1) / 2) * own;
      // Nodes of levels with one node each would lie on one line and hide each other's arcs.
      if (!isMatching && columns.length > 4 && column.length % 2 && number % 2) y += gap * 0.28;
      place[node] = { x: margin + share * (width - 2 * margin), y };
    });
  });
  return { width, height, radius, place, sides };
}

/**
 * How much a drawing is magnified, for those in the last row: as long as its nodes keep their room.
 * @param {Story["graph"]} graph @param {number} place its width @param {number} room its height
 * @returns {number}
 */
function scaleOf(graph, place, room) {
  return SCALES.find((scale) => {
    const { radius, height } = layoutOf(graph, place / scale, room / scale);
    return place / scale >= LEAST_WIDTH && radius >= RADIUS && height * scale <= room;
  }) || 1;
}

/** @param {Point} a @param {Point} b @returns {Point} */
function middle(a, b) {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

/** @param {Point} from @param {Point} to @param {number} length @returns {Point} */
function towards(from, to, length) {
  const distance = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const share = length / distance;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

/**
 * The line of a pair of arcs; bent where a straight one would run through other nodes.
 * @param {Story["graph"]} graph @param {Layout} layout @param {number} pair @returns {Curve}
 */
function curveOf(graph, layout, pair) {
  const [sender, receiver] = graph.arcs[2 * pair];
  const from = layout.place[sender], to = layout.place[receiver];
  const center = middle(from, to);
  let bend = center;
  if (!layout.sides) {
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const isBlocked = layout.place.some((point, node) => node !== sender && node !== receiver &&
      distanceToLine(point, from, to) < layout.radius + 5);
    // Parallel arcs, and those that lead back, would lie upon each other.
    const twins = graph.arcs.slice(0, 2 * pair).filter(([a, b], arc) => arc % 2 === 0 &&
      ((a === sender && b === receiver) || (a === receiver && b === sender))).length;
    const lift = (isBlocked ? Math.min(70, 26 + length * 0.12) : length * 0.03) + 24 * twins;
    bend = {
      x: center.x + (lift * (to.y - from.y)) / (length || 1),
      y: center.y - (lift * (to.x - from.x)) / (length || 1),
    };
  }
  const trim = layout.radius + 1;
  return { from: towards(from, bend, trim), bend, to: towards(to, bend, trim) };
}

/** @param {Point} point @param {Point} a @param {Point} b @returns {number} */
function distanceToLine(point, a, b) {
  const dx = b.x - a.x, dy = b.y - a.y;
  const share = ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy || 1);
  if (share <= 0 || share >= 1) return Infinity;
  return Math.hypot(point.x - a.x - share * dx, point.y - a.y - share * dy);
}

/** @param {Curve} curve @returns {string} */
function pathData({ from, bend, to }) {
  const n = (/** @type {number} */ value) => value.toFixed(1);
  return `M${n(from.x)} ${n(from.y)}Q${n(bend.x)} ${n(bend.y)} ${n(to.x)} ${n(to.y)}`;
}

/** @param {Curve} curve @returns {Point} the point half-way along */
function middleOf({ from, bend, to }) {
  return middle(middle(from, bend), middle(bend, to));
}

/** @param {Curve} curve @param {number} share @returns {Point} the point that far along */
function alongCurve({ from, bend, to }, share) {
  const along = (/** @type {"x"|"y"} */ axis) => (1 - share) ** 2 * from[axis] +
    2 * share * (1 - share) * bend[axis] + share ** 2 * to[axis];
  return { x: along("x"), y: along("y") };
}

/**
 * A place on each line for its text, away from the texts before it, other lines, all nodes, and the
 * names that stand above the ends of a flow.
 * @param {Curve[]} curves @param {number[]} drawn @param {Layout} layout @param {Name[]} [names]
 * @returns {Point[]}
 */
function freePlaces(curves, drawn, layout, names = []) {
  /** @type {Point[]} */
  const places = [];
  for (const pair of drawn) {
    let best = -Infinity;
    for (const share of [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18]) {
      const point = alongCurve(curves[pair], share);
      const texts = Object.values(places).map((other) => Math.hypot((point.x - other.x) / 1.6, point.y - other.y));
      const lines = drawn.map((other) => (other === pair ? Infinity
        : distanceToLine(point, curves[other].from, curves[other].to)));
      const nodes = Object.values(layout.place).map((node) =>
        Math.hypot((point.x - node.x) / 1.6, point.y - node.y) - layout.radius);
      const near = names.map((name) =>
        Math.hypot(Math.max(0, Math.abs(point.x - name.x) - name.reach), point.y - name.y));
      const room = Math.min(34, ...texts) + Math.min(16, ...lines) + 2 * Math.min(12, ...nodes) +
        3 * Math.min(18, ...near);
      if (room <= best) continue;
      best = room;
      places[pair] = point;
    }
  }
  return places;
}

/**
 * A wedge from the middle of a line to its end, where it is `width` wide.
 * @param {Curve} curve @param {number} width @returns {string}
 */
function wedgeData(curve, width) {
  const start = middleOf(curve), bend = middle(curve.bend, curve.to), end = curve.to;
  const length = Math.hypot(end.x - bend.x, end.y - bend.y) || 1;
  const side = { x: (-(end.y - bend.y) * width) / (2 * length), y: ((end.x - bend.x) * width) / (2 * length) };
  const n = (/** @type {number} */ x, /** @type {number} */ y) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${n(start.x, start.y)}Q${n(bend.x + side.x / 2, bend.y + side.y / 2)} ` +
    `${n(end.x + side.x, end.y + side.y)}L${n(end.x - side.x, end.y - side.y)}` +
    `Q${n(bend.x - side.x / 2, bend.y - side.y / 2)} ${n(start.x, start.y)}Z`;
}

/** @param {Curve} curve @returns {Curve} */
function reversedCurve({ from, bend, to }) {
  return { from: to, bend, to: from };
}

/** One story in one place; `show` marks a frame on it. */
class Drawing {
  /**
   * @param {HTMLElement} home @param {Story} story
   * @param {(text: string[]) => void} onDetail called with lines about what is pointed at
   */
  constructor(home, story, onDetail) {
    this.home = home;
    this.story = story;
    this.onDetail = onDetail;
    this.labels = "auto";
    /** @type {number|null} */
    this.pointed = null;
    /** @type {number|null} */
    this.pointedNode = null;
    /** @type {View|null} */
    this.view = null;
    /** @type {Difference|null} */
    this.difference = null;
    this.proof = proofOf(story);
    this.svg = svgElement("svg", { role: "img", class: "drawing", tabindex: 0 });
    home.replaceChildren(this.svg);
    this.build();
  }

  /** Lay everything out for the width of the place; again when that changes. */
  build() {
    const { graph } = this.story;
    const place = Math.max(300, this.home.clientWidth || 640), room = roomIn(this.home);
    const scale = scaleOf(graph, place, room), width = Math.round(place / scale);
    this.layout = layoutOf(graph, width, Math.min(MOST_HEIGHT, room / scale));
    const { height, radius } = this.layout;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", String(place));
    this.svg.setAttribute("height", String(Math.round(height * scale)));
    const pairs = graph.arcs.length / 2;
    this.svg.classList.toggle("many", pairs > MANY_PAIRS);
    const layout = this.layout;
    this.drawn = Array.from({ length: pairs }, (_, pair) => pair)
      .filter((pair) => isDrawnPair(graph, pair));
    this.curves = Array.from({ length: pairs }, (_, pair) => isDrawnPair(graph, pair)
      ? curveOf(graph, layout, pair) : NOWHERE);
    this.inner = this.drawn.filter((pair) =>
      !this.isOuter(graph.arcs[2 * pair][0], graph.arcs[2 * pair][1]));
    this.free = pairs <= MANY_PAIRS
      ? freePlaces(this.curves, this.inner, layout, this.endNames(layout)) : null;
    this.lines = this.curves.map((curve) => svgElement("path", { d: pathData(curve) }));
    this.hits = this.curves.map((curve, pair) => {
      const hit = svgElement("path", { d: pathData(curve), class: "hit", "data-pair": pair });
      hit.addEventListener("pointerenter", () => this.pointAtPair(pair));
      hit.addEventListener("pointerleave", () => this.pointAtPair(null));
      hit.addEventListener("click", () => this.pointAtPair(pair));
      return hit;
    });
    this.marks = svgElement("g", { class: "marks" });
    this.texts = svgElement("g", { class: "arc-texts" });
    this.nodes = graph.nodes.map((node, number) => isShown(graph, number)
      ? this.nodeElement(number, radius) : svgElement("g", { hidden: "" }));
    const seen = (/** @type {SVGElement[]} */ elements) => elements.filter((_, pair) =>
      isDrawnPair(graph, pair));
    this.svg.append(group("lines", seen(this.lines)), this.marks, group("hits", seen(this.hits)),
      this.texts, group("nodes", this.nodes.filter((_, node) => isShown(graph, node))));
    if (this.view) this.show(this.view, this.difference);
  }

  /** @param {number} number @param {number} radius @returns {SVGElement} */
  nodeElement(number, radius) {
    const { role } = this.story.graph.nodes[number];
    const { x, y } = /** @type {Layout} */ (this.layout).place[number];
    const element = svgElement("g", {
      class: `node ${role}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      "data-node": number,
    });
    const margin = Math.min(4.5, radius * 0.42), half = radius + margin; // so that squares do not touch
    element.append(svgElement("rect", {
      class: "cover", x: -half, y: -half, width: 2 * half, height: 2 * half, rx: margin,
    }));
    element.append(svgElement("circle", { class: "ring", r: radius + Math.min(3.5, margin) }));
    element.append(svgElement("circle", { class: "body", r: radius }));
    element.append(svgElement("text", { class: "value", dy: "0.35em" }));
    element.append(this.labelElement(number, radius));
    element.addEventListener("pointerenter", () => this.pointAtNode(number));
    element.addEventListener("click", () => this.pointAtNode(number));
    return element;
  }

  /** @param {Layout} layout @returns {Name[]} where the names above the ends of a flow stand */
  endNames({ sides, place, radius }) {
    if (sides) return [];
    const way = /** @type {Record<string, number>} */ ({ source: 1, excess: 1, sink: -1, shortage: -1 });
    return this.story.graph.nodes.flatMap(({ role, label }, number) => {
      if (!way[role] || !isShown(this.story.graph, number)) return [];
      const half = Math.min(String(label).length, 12) * 4;
      const x = place[number].x + way[role] * (half - radius);
      return [{ x, y: place[number].y - radius - 14, reach: half + ARC_TEXT / 2 }];
    });
  }

  /** @param {number} number @param {number} radius @returns {SVGElement} */
  labelElement(number, radius) {
    const { width, height, sides, place: points } = /** @type {Layout} */ (this.layout);
    const role = sides ? sides[number] : this.story.graph.nodes[number].role;
    const full = this.story.graph.kind === "matching" || (role !== "source" && role !== "sink")
      ? nameOf(this.story, number) : String(this.story.graph.nodes[number].label);
    const room = Math.max(3, Math.floor((sides ? width * 0.2 : 90) / 7));
    const isLow = points[number].y > height / 2 + 1;
    const text = full.length > room ? `${full.slice(0, room - 1)}…` : full;
    /** @type {Record<string, Record<string, string|number>>} */
    const places = {
      left: { x: -radius - 10, dy: "0.35em", "text-anchor": "end" },
      right: { x: radius + 10, dy: "0.35em", "text-anchor": "start" },
      source: { x: -radius, y: -radius - 9, "text-anchor": "start" },
      sink: { x: radius, y: -radius - 9, "text-anchor": "end" },
      excess: { x: -radius, y: -radius - 9, "text-anchor": "start" },
      shortage: { x: radius, y: -radius - 9, "text-anchor": "end" },
      node: { y: isLow ? radius + 17 : -radius - 8, "text-anchor": "middle" },
    };
    const element = svgElement("text", { class: "label", ...places[role] }, text);
    if (text !== full) element.append(svgElement("title", {}, full));
    return element;
  }

  /** @param {View} view @param {Difference|null} [difference] what to mark as different */
  show(view, difference = null) {
    this.view = view;
    this.difference = difference;
    this.showLines(view);
    this.showNodes(view, difference);
    this.showMarks(view, difference);
    this.showTexts(view);
  }

  /** @param {View} view */
  showLines(view) {
    const { graph } = this.story, { arcs } = graph;
    const isProof = view.isEnd && this.proof.side.size > 0;
    /** @type {SVGElement[]} */ (this.lines).forEach((line, pair) => {
      const [sender, receiver, capacity] = arcs[2 * pair];
      const names = ["line"];
      const isCarrying = this.carries(pair, view.residual);
      if (isCarrying) names.push("carries");
      else if (view.reduced) names.push(this.isTight(pair, view.reduced, view.residual) ? "tight" : "slack");
      if (this.isOuter(sender, receiver)) names.push("outer");
      const [s, r] = [sender, receiver].map((node) => this.proof.side.has(node));
      // An arc with a cost has room for both together: what it may carry, and what it does at first.
      const back = hasCosts(graph) ? 0 : arcs[2 * pair + 1][2];
      const room = hasCosts(graph) ? capacity + arcs[2 * pair + 1][2] : capacity;
      if (isProof && isOwnPair(graph, pair) && s !== r && (s ? room : back) > 0) names.push("cut");
      line.setAttribute("class", names.join(" "));
      if (graph.kind === "matching") return; // where all arcs lead from left to right
      const head = ["cut", "outer", "carries"].find((name) => names.includes(name)) || "line";
      // A matching that was half done shows which way the search may go, other flows what was given.
      const sides = this.layout?.sides;
      const ways = sides ? [view.residual[2 * pair], view.residual[2 * pair + 1]] : [room, back];
      ["marker-end", "marker-start"].forEach((end, way) => {
        if (ways[way] > 0) line.setAttribute(end, `url(#head-${head})`);
        else line.removeAttribute(end);
      });
    });
  }

  /**
   * Whether a pair carries flow; in a matching, and in one that was half done at the start, whether
   * it is used: then its arc towards the source has residual.
   * @param {number} pair @param {number[]} residual @returns {boolean}
   */
  carries(pair, residual) {
    const sides = /** @type {Layout} */ (this.layout).sides;
    if (hasCosts(this.story.graph)) return carried(this.story.graph, pair, residual) > 0;
    const [sender, receiver, capacity] = this.story.graph.arcs[2 * pair];
    if (!sides) return capacity !== residual[2 * pair];
    const isForward = COLUMNS.indexOf(sides[sender]) < COLUMNS.indexOf(sides[receiver]);
    return residual[isForward ? 2 * pair + 1 : 2 * pair] > 0;
  }

  /**
   * Whether a search can use a pair, in a direction that has room.
   * @param {number} pair @param {number[]} reduced @param {number[]} residual @returns {boolean}
   */
  isTight(pair, reduced, residual) {
    return reduced[2 * pair] === 0 && residual[2 * pair] + residual[2 * pair + 1] > 0;
  }

  /** @param {number} sender @param {number} receiver @returns {boolean} at source or sink of a matching */
  isOuter(sender, receiver) {
    const sides = /** @type {Layout} */ (this.layout).sides;
    return sides !== null && [sender, receiver].some((node) => /source|sink/.test(sides[node]));
  }

  /** @param {View} view @param {Difference|null} difference */
  showNodes(view, difference) {
    const fresh = new Set(view.fresh), other = new Set(difference?.nodes || []);
    const moved = new Set(view.moved), wrong = new Set(view.wrong);
    const radius = /** @type {Layout} */ (this.layout).radius;
    /** @type {SVGElement[]} */ (this.nodes).forEach((element, node) => {
      if (element.hasAttribute("hidden")) return;
      const value = view.state[node];
      const isReached = view.isDistance ? value !== null && value !== undefined : Boolean(value);
      const { classList } = element;
      classList.toggle("reached", isReached && !view.isEnd);
      classList.toggle("fresh", fresh.has(node));
      classList.toggle("different", other.has(node));
      classList.toggle("moved", moved.has(node));
      classList.toggle("wrong", wrong.has(node));
      classList.toggle("pointed", node === this.pointedNode);
      classList.toggle("in-cover", view.isEnd && this.proof.cover.has(node));
      classList.toggle("in-side", view.isEnd && this.proof.side.has(node));
      const text = /** @type {SVGElement} */ (element.querySelector(".value"));
      const distance = isReached ? String(value) : wrong.has(node) ? "∞" : "";
      text.textContent = view.isDistance && radius >= 8 && !view.isEnd ? distance : "";
      const price = view.price && priceText(this.story.graph, view.price[node]);
      if (price && radius >= 8 && price.length <= MOST_PRICE) text.textContent = price;
      text.classList.toggle("long", (text.textContent || "").length > 3);
    });
  }

  /**
   * The tree, the beliefs, the path: made anew, they are few.
   * @param {View} view @param {Difference|null} difference
   */
  showMarks(view, difference) {
    /** @type {SVGElement[]} */
    const marks = [];
    const curves = /** @type {Curve[]} */ (this.curves);
    const isMany = curves.length > MANY_PAIRS;
    const width = isMany ? 5 : 15;
    const fresh = new Set(view.fresh);
    const directed = (/** @type {number} */ arc) =>
      arc % 2 ? reversedCurve(curves[arc >> 1]) : curves[arc >> 1];
    (view.belief || []).forEach((share, arc) => {
      if (share === null || share < 0.03) return;
      const isFresh = fresh.has(this.story.graph.arcs[arc][1]);
      marks.push(svgElement("path", {
        d: wedgeData(directed(arc), 1.5 + width * share), class: isFresh ? "belief fresh" : "belief",
      }));
    });
    view.parent.forEach((arc, node) => {
      const isReached = view.isDistance ? view.state[node] !== null : view.state[node];
      if (arc >= 0 && isReached) marks.push(svgElement("path", { d: pathData(directed(arc)), class: "tree",
        "marker-end": "url(#head-tree)" }));
    });
    for (const arc of view.step?.arcs || []) {
      const isOpen = view.reduced?.[arc] === 0;
      marks.push(svgElement("path", {
        d: pathData(directed(arc)), class: isOpen ? "leaving opened" : "leaving",
        "marker-end": "url(#head-leaving)",
      }));
    }
    const isApplied = view.path?.verdict === "applied";
    for (const arc of view.path?.arcs || []) {
      marks.push(svgElement("path", {
        d: pathData(directed(arc)), class: isApplied ? "path" : "path refused",
        "marker-end": isApplied ? "url(#head-path)" : "url(#head-refused)",
      }));
    }
    for (const arc of difference?.arcs || []) {
      if (arc < 0 || !curves[arc >> 1]) continue;
      marks.push(svgElement("path", { d: pathData(directed(arc)), class: "difference" }));
    }
    /** @type {SVGElement} */ (this.marks).replaceChildren(...marks);
  }

  /**
   * What stands on the arcs: weights, residuals, costs, or the bottleneck's probability; while the
   * prices move, how much too dear the arcs are that lead out.
   * @param {View} view
   */
  showTexts(view) {
    const { graph } = this.story, { kind, arcs } = graph;
    const curves = /** @type {Curve[]} */ (this.curves);
    /** @type {SVGElement[]} */
    const texts = [];
    const add = (/** @type {number} */ pair, /** @type {string} */ text, /** @type {string} */ name) => {
      const [sender, receiver] = arcs[2 * pair];
      // Beside the sides of a matching their labels stand.
      const outer = graph.nodes[receiver].role === "sink" ? 0.62 : 0.38;
      const share = !this.layout?.sides ? 0.5 : this.isOuter(sender, receiver) ? outer
        : 0.3 + 0.08 * (pair % 3);
      const { x, y } = this.free?.[pair] || alongCurve(curves[pair], share);
      texts.push(svgElement("text", {
        x: x.toFixed(1), y: y.toFixed(1), dy: "0.35em", class: name,
      }, text));
    };
    const onPath = new Set((view.path?.arcs || []).map((arc) => arc >> 1));
    view.path?.arcs.forEach((arc, place) => {
      const belief = view.path?.belief?.[place];
      if (belief !== undefined && belief !== null && onPath.size <= MOST_CHANCES) {
        add(arc >> 1, `${Math.round(100 * belief)} %`, "chance");
      }
    });
    const isMany = curves.length > MANY_PAIRS || (hasCosts(graph) &&
      Number(this.inner?.length) > Number(this.layout?.width) / TEXT_WIDTH);
    const leaving = new Set((view.step?.arcs || []).map((arc) => arc >> 1));
    for (const arc of isMany ? [] : view.step?.arcs || []) {
      add(arc >> 1, `+${amount(graph, view.before?.[arc] || 0)}`, "over");
    }
    const plain = hasCosts(graph) ? "cost" : this.layout?.sides ? (view.isDistance ? "weight" : "none")
      : "residual";
    const wanted = this.labels !== "auto" ? this.labels : isMany || isReach(this.story) ? "none" : plain;
    const isOver = view.isEnd && kind === "matching" && !hasCosts(graph);
    if (!isOver) {
      arcs.forEach(([sender, receiver, capacity], arc) => {
        const pair = arc >> 1, isPointed = pair === this.pointed;
        if (arc % 2 || !isDrawnPair(graph, pair) || leaving.has(pair)) return;
        if (onPath.has(pair) && view.path?.belief && !isPointed) return;
        if (wanted === "none" && !(isPointed && hasCosts(graph))) return;
        if (this.labels === "auto" && this.isOuter(sender, receiver)) return;
        if (hasCosts(graph) && wanted !== "weight" && wanted !== "residual") {
          add(pair, this.costText(pair, view, wanted), isPointed ? "cost" : "quiet cost");
          return;
        }
        // The weight that counts is that of the direction still open.
        const open = view.residual[arc] > 0 ? arc : arc + 1;
        const text = wanted === "weight" ? String(view.weights[open])
          : kind === "flow" ? amountText(capacity, arcs[arc + 1][2], view.residual[arc])
            : String(view.residual[arc]);
        add(arc >> 1, text, "quiet");
      });
    }
    /** @type {SVGElement} */ (this.texts).replaceChildren(...texts);
  }

  /**
   * @param {number} pair @param {View} view @param {string} wanted
   * @returns {string} the cost of an edge; of an arc also what it carries: "2/3 at 5"
   */
  costText(pair, view, wanted) {
    const { graph } = this.story;
    const reduced = view.reduced?.[2 * pair] || 0;
    const cost = wanted === "reduced" ? amount(graph, reduced)
      : amount(graph, graph.costs?.[2 * pair] || 0);
    if (graph.kind === "matching") return cost;
    const capacity = graph.arcs[2 * pair][2] + graph.arcs[2 * pair + 1][2] +
      (graph.lower?.[2 * pair] || 0);
    const told = `${carried(graph, pair, view.residual)}/${capacity}`;
    return isOwnPair(graph, pair) ? `${told} at ${cost}` : told;
  }

  /**
   * Go through the arcs or the nodes.
   * @param {string} key @returns {boolean} whether it means something here
   */
  onKey(key) {
    const way = { ".": 1, ",": -1, n: 1, b: -1 }[key];
    if (!way) return false;
    const { graph } = this.story, isArc = key === "." || key === ",";
    const all = isArc ? this.drawn || []
      : graph.nodes.flatMap((_, node) => (isShown(graph, node) ? [node] : []));
    const now = isArc ? this.pointed : this.pointedNode;
    const place = now === null ? (way > 0 ? -1 : 0) : all.indexOf(now);
    const next = all[(place + way + all.length) % all.length];
    if (next === undefined) return true;
    if (isArc) this.pointAtPair(next);
    else this.pointAtNode(next);
    return true;
  }

  /** @param {number} node */
  pointAtNode(node) {
    if (!this.view) return;
    const { view, story } = this;
    if (this.pointed !== null) this.pointAtPair(null);
    this.pointedNode = node;
    this.showNodes(view, this.difference);
    const value = view.state[node];
    const lines = [nameOf(story, node)];
    const told = value === null ? "not reached: infinite distance" : `distance ${value}`;
    const isWrong = view.wrong.includes(node);
    lines.push(view.isDistance
      ? told + (isWrong ? `, which is wrong: it is ${view.truth[node] ?? "infinite"}` : "")
      : value ? "reached" : "not reached");
    if (view.price) lines.push(`price ${priceText(story.graph, view.price[node])}`);
    const incoming = story.graph.arcs.flatMap(([sender, receiver], arc) =>
      receiver === node && (view.belief?.[arc] || 0) >= 0.005
        ? [{ sender, share: Number(view.belief?.[arc]) }] : []);
    incoming.sort((a, b) => b.share - a.share);
    for (const { sender, share } of incoming.slice(0, 5)) {
      lines.push(`predecessor ${nameOf(story, sender)}: ${percent(share)}`);
    }
    this.onDetail(lines);
  }

  /** @param {number|null} pair */
  pointAtPair(pair) {
    if (!this.view) return;
    const { view, story } = this;
    this.pointed = pair;
    if (pair !== null && this.pointedNode !== null) {
      this.pointedNode = null;
      this.showNodes(view, this.difference);
    }
    this.hits?.forEach((hit, number) => hit.classList.toggle("pointed", number === pair));
    if (hasCosts(story.graph)) this.showTexts(view);
    if (pair === null) return;
    const lines = this.costLines(pair, view);
    for (const arc of [2 * pair, 2 * pair + 1]) {
      const [sender, receiver] = story.graph.arcs[arc];
      const belief = view.belief?.[arc];
      lines.push(`${nameOf(story, sender)} → ${nameOf(story, receiver)}: residual ` +
        `${view.residual[arc]}, weight ${view.weights[arc]}` +
        (belief === null || belief === undefined ? "" : `, believed ${percent(belief)}`));
    }
    this.onDetail(lines);
  }

  /**
   * @param {number} pair @param {View} view
   * @returns {string[]} the cost of an arc, what the prices allow, and what follows
   */
  costLines(pair, view) {
    const { story } = this, { graph } = story;
    const reduced = view.reduced?.[2 * pair];
    if (reduced === undefined) return [];
    const over = amount(graph, Math.abs(reduced));
    const isWorse = (reduced > 0) === (graph.sense !== "greatest");
    return [
      `${arcName(story, 2 * pair)}: cost ${amount(graph, graph.costs?.[2 * pair] || 0)}`,
      this.isTight(pair, view.reduced || [], view.residual) ? "usable: just what the prices allow"
        : reduced ? `${over} ${isWorse ? "more" : "less"} than the difference of the prices` : "full",
    ];
  }
}

/** Where what is not drawn would be. */
const NOWHERE = { from: { x: 0, y: 0 }, bend: { x: 0, y: 0 }, to: { x: 0, y: 0 } };

/**
 * "3/5": three of five units flow; against the arrow where only the reverse arc has capacity.
 * @param {number} capacity @param {number} back @param {number} residual @returns {string}
 */
function amountText(capacity, back, residual) {
  const flow = capacity - residual;
  return capacity ? `${flow}/${capacity}` : `${-flow}/${back}`;
}

/** @param {string} name @param {SVGElement[]} elements @returns {SVGElement} */
function group(name, elements) {
  const element = svgElement("g", { class: name });
  element.append(...elements);
  return element;
}
