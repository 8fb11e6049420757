"use strict";
/*
 * A graph that is drawn by hand: add and delete nodes and lines with the mouse, a finger or keys.
 * It is kept in the form that the command reads as JSON, so that running it is sending it.
 */

/** @typedef {"left"|"right"|"node"} Side */

/** @param {Drawn} graph @returns {graph is DrawnMatching} */
function isMatching(graph) {
  return "edges" in graph;
}

/**
 * @param {StoryGraph} graph
 * @returns {Drawn|null} the graph of a story as something to edit; null with supplies or bounds
 */
function drawnOf(graph) {
  const labels = (/** @type {string} */ role) =>
    graph.nodes.filter((node) => node.role === role).map((node) => node.label);
  const label = (/** @type {number} */ node) => graph.nodes[node].label;
  const costs = (/** @type {number[]} */ arcs) => (graph.costs
    ? { costs: arcs.map((arc) => worth(graph, Number(graph.costs?.[arc]))) } : {});
  const numbers = graph.arcs.map((_, arc) => arc);
  if (graph.kind === "matching") {
    const edges = numbers.filter((arc) => arc % 2 === 0 &&
      graph.nodes[graph.arcs[arc][0]].role === "left" &&
      graph.nodes[graph.arcs[arc][1]].role === "right");
    return {
      left: labels("left"), right: labels("right"),
      edges: edges.map((arc) => [label(graph.arcs[arc][0]), label(graph.arcs[arc][1])]),
      ...costs(edges),
    };
  }
  if (graph.costs) {
    if (!labels("source").length || graph.lower) return null;
    // What an arc can carry is what both of its pair can.
    const arcs = numbers.filter((arc) => arc % 2 === 0 && isOwnPair(graph, arc / 2));
    return {
      source: labels("source")[0], sink: labels("sink")[0],
      nodes: graph.nodes.filter(({ role }) => !isHolder(role)).map((node) => node.label),
      arcs: arcs.map((arc) => [label(graph.arcs[arc][0]), label(graph.arcs[arc][1]),
        graph.arcs[arc][2] + graph.arcs[arc + 1][2]]),
      ...costs(arcs),
    };
  }
  return {
    source: labels("source")[0], sink: labels("sink")[0],
    nodes: graph.nodes.map((node) => node.label),
    arcs: graph.arcs.filter(([, , capacity]) => capacity > 0)
      .map(([sender, receiver, capacity]) => [label(sender), label(receiver), capacity]),
  };
}

/** @param {Label[]} taken @param {string} letter @returns {Label} a label that is free */
function freshLabel(taken, letter) {
  if (taken.length && taken.every((label) => typeof label === "number")) {
    return Math.max(...taken.map(Number)) + 1;
  }
  for (let number = taken.length; ; number++) {
    const label = `${letter}${number}`;
    if (!taken.includes(label)) return label;
  }
}

class Editor {
  /** @param {HTMLElement} home */
  constructor(home) {
    this.home = home;
    /** @type {Drawn} */
    this.graph = { left: ["l0", "l1", "l2"], right: ["r0", "r1", "r2"], edges: [] };
    /** @type {number|null} */
    this.selected = null;
    /** @type {number|null} */
    this.dragged = null;
    this.svg = svgElement("svg", { role: "group", "aria-label": "The graph, to be edited" });
    home.append(this.svg);
    this.connect();
  }

  connect() {
    const on = (/** @type {string} */ id, /** @type {() => void} */ act) =>
      byId(id, HTMLButtonElement).addEventListener("click", act);
    on("add-left", () => this.addNode(isMatching(this.graph) ? "left" : "node"));
    on("add-right", () => this.addNode("right"));
    on("delete-node", () => this.selected !== null && this.deleteNode(this.selected));
    input("node-name").addEventListener("change", () => this.rename(input("node-name").value.trim()));
    on("draw-clear", () => this.reset(select("draw-kind").value));
    select("draw-kind").addEventListener("change", () => this.reset(select("draw-kind").value));
    this.svg.addEventListener("pointerdown", (event) => this.onDown(/** @type {PointerEvent} */ (event)));
    this.svg.addEventListener("pointermove", (event) => this.onMove(/** @type {PointerEvent} */ (event)));
    this.svg.addEventListener("pointerup", (event) => this.onUp(/** @type {PointerEvent} */ (event)));
    this.svg.addEventListener("keydown", (event) => this.onKey(/** @type {KeyboardEvent} */ (event)));
  }

  /** @param {Story} story take over what is being shown, if it can be drawn */
  take(story) {
    const drawn = isDrawable(story) ? drawnOf(story.graph) : null;
    if (!drawn) return;
    this.graph = drawn;
    this.selected = null;
    this.build();
  }

  /** @param {string} kind */
  reset(kind) {
    this.graph = /flow/.test(kind)
      ? { source: "s", sink: "t", nodes: ["s", "a", "b", "t"], arcs: [] }
      : { left: ["l0", "l1", "l2"], right: ["r0", "r1", "r2"], edges: [] };
    if (kind === "assignment" || kind === "min-cost-flow") this.graph.costs = [];
    this.selected = null;
    this.build();
  }

  /** @returns {Story["graph"]} the graph as layouts want it: numbered nodes, arcs in pairs */
  numbered() {
    const { graph } = this;
    /** @type {StoryNode[]} */
    let nodes;
    /** @type {[number, number, number][]} */
    let arcs;
    if (isMatching(graph)) {
      const left = graph.left.map((label) => /** @type {StoryNode} */ ({ label, role: "left" }));
      const right = graph.right.map((label) => /** @type {StoryNode} */ ({ label, role: "right" }));
      nodes = [{ label: "source", role: "source" }, ...left, ...right, { label: "sink", role: "sink" }];
      arcs = graph.edges.map(([a, b]) =>
        [1 + graph.left.indexOf(a), 1 + graph.left.length + graph.right.indexOf(b), 1]);
    } else {
      nodes = graph.nodes.map((label) => ({
        label, role: label === graph.source ? "source" : label === graph.sink ? "sink" : "node",
      }));
      arcs = graph.arcs.map(([a, b, capacity]) =>
        [graph.nodes.indexOf(a), graph.nodes.indexOf(b), capacity]);
    }
    return {
      kind: isMatching(graph) ? "matching" : "flow", nodes,
      arcs: arcs.flatMap(([a, b, capacity]) => /** @type {StoryArc[]} */ ([[a, b, capacity], [b, a, 0]])),
      ...(graph.costs ? { costs: graph.costs.flatMap((cost) => [cost, 0 - cost]) } : {}),
    };
  }

  /** Draw it all anew; there is little of it. */
  build() {
    const graph = this.numbered();
    const flow = !isMatching(this.graph), { costs } = this.graph;
    select("draw-kind").value = costs ? (flow ? "min-cost-flow" : "assignment")
      : flow ? "flow" : "matching";
    byId("capacity-field", HTMLElement).hidden = !flow;
    byId("cost-field", HTMLElement).hidden = !costs;
    byId("add-left", HTMLElement).textContent = flow ? "Add node" : "Add left node";
    byId("add-right", HTMLElement).hidden = flow;
    byId("delete-node", HTMLButtonElement).disabled = this.selected === null;
    input("node-name").disabled = this.selected === null;
    input("node-name").value = this.selected === null ? "" : String(graph.nodes[this.selected].label);
    this.layout = layoutOf(graph, Math.max(300, Math.min(this.home.clientWidth - 2, 760)));
    const { width, height, radius } = this.layout;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("height", String(height));
    const story = /** @type {Story} */ ({ graph });
    /** @type {SVGElement[]} */
    const lines = [], texts = [];
    const pairs = Array.from({ length: graph.arcs.length / 2 }, (_, pair) => pair);
    const curves = pairs.map((pair) => curveOf(graph, /** @type {Layout} */ (this.layout), pair));
    const free = costs && pairs.length <= MANY_PAIRS ? freePlaces(curves, pairs, this.layout) : [];
    for (let pair = 0; pair < graph.arcs.length / 2; pair++) {
      const [sender, receiver, capacity] = graph.arcs[2 * pair];
      const curve = curves[pair];
      const name = `${nameOf(story, sender)} to ${nameOf(story, receiver)}`;
      const hit = svgElement("path", { d: pathData(curve), class: "hit", "data-pair": pair });
      hit.append(svgElement("title", {}, `Delete ${name}`));
      const line = svgElement("path", { d: pathData(curve), class: flow ? "line tree" : "line" });
      if (flow) line.setAttribute("marker-end", "url(#head-tree)");
      lines.push(line, hit);
      if (flow || costs) {
        const { x, y } = free[pair] || middleOf(curve);
        const told = [...(flow ? [capacity] : []), ...(costs ? [costs[pair]] : [])].join(" at ");
        texts.push(svgElement("text", { x, y, dy: "0.35em", class: "quiet" }, told));
      }
    }
    const nodes = graph.nodes.flatMap((node, number) => {
      if (!flow && (node.role === "source" || node.role === "sink")) return [];
      const { x, y } = /** @type {Layout} */ (this.layout).place[number];
      const element = svgElement("g", {
        class: `node ${node.role}${number === this.selected ? " selected" : ""}`, tabindex: 0,
        role: "button", transform: `translate(${x} ${y})`, "data-node": number,
        "aria-label": `${node.role === "node" ? "node" : `${node.role} node`} ${node.label}`,
        "aria-pressed": String(number === this.selected),
      });
      /** @type {Record<string, Record<string, string|number>>} */
      const places = {
        left: { x: -radius - 8, dy: "0.35em", "text-anchor": "end" },
        right: { x: radius + 8, dy: "0.35em", "text-anchor": "start" },
      };
      const ends = { source: { x: -radius, anchor: "start" }, sink: { x: radius, anchor: "end" } };
      const { x: start, anchor } = ends[/** @type {"source"|"sink"} */ (node.role)] ||
        { x: 0, anchor: "middle" };
      const place = places[node.role] || { x: start, y: -radius - 7, "text-anchor": anchor };
      element.append(svgElement("circle", { class: "ring", r: radius + 3.5 }),
        svgElement("circle", { class: "body", r: radius }),
        svgElement("text", { class: "label", ...place }, flow ? String(node.label) : nameOf(story, number)));
      return [element];
    });
    this.draft = svgElement("line", { class: "draft" });
    this.svg.replaceChildren(group("lines", lines), this.draft,
      group("arc-texts", texts), group("nodes", nodes));
  }

  /** @param {PointerEvent} event @returns {Point} in the drawing's own pixels */
  pointOf(event) {
    const box = this.svg.getBoundingClientRect();
    const { width, height } = /** @type {Layout} */ (this.layout);
    return {
      x: ((event.clientX - box.left) * width) / box.width,
      y: ((event.clientY - box.top) * height) / box.height,
    };
  }

  /** @param {PointerEvent} event @returns {number|null} the node under a pointer */
  nodeAt(event) {
    const element = document.elementFromPoint(event.clientX, event.clientY);
    const node = element?.closest("#editor [data-node]");
    return node ? Number(node.getAttribute("data-node")) : null;
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    this.dragged = this.nodeAt(event);
    this.moved = false;
    if (this.dragged !== null) event.preventDefault();
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    if (this.dragged === null || !this.draft) return;
    const from = /** @type {Layout} */ (this.layout).place[this.dragged];
    const to = this.pointOf(event);
    this.moved = this.moved || Math.hypot(to.x - from.x, to.y - from.y) > 18;
    for (const [key, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) {
      this.draft.setAttribute(key, String(value));
    }
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    const from = this.dragged, to = this.nodeAt(event);
    this.dragged = null;
    if (from !== null) {
      if (to !== null && to !== from) this.join(from, to, false);
      else if (to === from && !this.moved) this.choose(from);
      else this.build();
      return;
    }
    const target = event.target instanceof Element ? event.target : null;
    const pair = target?.getAttribute("data-pair");
    if (pair !== null && pair !== undefined) this.deletePair(Number(pair));
    else this.addNodeAt(this.pointOf(event));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    const node = target?.getAttribute("data-node");
    if (node === null || node === undefined) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(Number(node));
    } else if (event.key === "F2") {
      event.preventDefault();
      this.selected = Number(node);
      this.build();
      input("node-name").select();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.deleteNode(Number(node));
    }
  }

  /**
   * Select a node; with another one selected, join the two or part them.
   * @param {number} node
   */
  choose(node) {
    const first = this.selected;
    if (first === null || first === node) {
      this.selected = first === node ? null : node;
      this.build();
    } else {
      this.selected = null;
      this.join(first, node, true);
    }
    const element = this.svg.querySelector(`[data-node="${node}"]`);
    if (element instanceof SVGElement) element.focus();
  }

  /** @param {number} from @param {number} to @param {boolean} toggles part those joined already */
  join(from, to, toggles) {
    const { nodes } = this.numbered();
    const { graph } = this;
    let [a, b] = [nodes[from], nodes[to]];
    if (isMatching(graph)) {
      if (a.role === "right") [a, b] = [b, a];
      if (a.role !== "left" || b.role !== "right") {
        say("An edge joins a left node to a right node.");
        this.build();
        return;
      }
      const place = graph.edges.findIndex(([x, y]) => x === a.label && y === b.label);
      if (place < 0) graph.edges.push([a.label, b.label]);
      else if (toggles) graph.edges.splice(place, 1);
      this.setCost(place, toggles);
    } else {
      const capacity = Math.max(1, Math.min(255, Math.floor(Number(input("capacity").value) || 1)));
      const place = graph.arcs.findIndex(([x, y]) => x === a.label && y === b.label);
      if (place < 0) graph.arcs.push([a.label, b.label, capacity]);
      else if (toggles) graph.arcs.splice(place, 1);
      else graph.arcs[place][2] = capacity;
      this.setCost(place, toggles);
    }
    say("");
    this.build();
  }

  /**
   * Keep the costs beside the lines: a line that is joined again gets the new cost.
   * @param {number} place −1 for a new line @param {boolean} isGone
   */
  setCost(place, isGone) {
    const { costs } = this.graph;
    const cost = Number(input("new-cost").value) || 0;
    if (!costs) return;
    if (place < 0) costs.push(cost);
    else if (isGone) costs.splice(place, 1);
    else costs[place] = cost;
  }

  /** @param {number} pair */
  deletePair(pair) {
    this.graph.costs?.splice(pair, 1);
    if (isMatching(this.graph)) this.graph.edges.splice(pair, 1);
    else this.graph.arcs.splice(pair, 1);
    this.build();
  }

  /** @param {Point} point */
  addNodeAt({ x }) {
    const { width } = /** @type {Layout} */ (this.layout);
    this.addNode(isMatching(this.graph) ? (x < width / 2 ? "left" : "right") : "node");
  }

  /** @param {Side} side */
  addNode(side) {
    const { graph } = this;
    if (isMatching(graph)) {
      const own = side === "right" ? graph.right : graph.left;
      if (own.length >= DRAWABLE) return;
      own.push(freshLabel(own, side === "right" ? "r" : "l"));
    } else {
      graph.nodes.push(freshLabel(graph.nodes, "n"));
    }
    this.build();
  }

  /** @param {string} name for the selected node */
  rename(name) {
    if (this.selected === null || !name) return;
    const { label, role } = this.numbered().nodes[this.selected];
    const { graph } = this;
    const own = !isMatching(graph) ? graph.nodes : role === "left" ? graph.left : graph.right;
    if (own.some((other) => other !== label && String(other) === name)) {
      say(`There is a node ${name} already.`);
      this.build();
      return;
    }
    own[own.indexOf(label)] = name;
    const place = role === "right" ? 1 : 0;
    if (isMatching(graph)) {
      for (const edge of graph.edges) if (edge[place] === label) edge[place] = name;
    } else {
      for (const arc of graph.arcs) for (const end of [0, 1]) if (arc[end] === label) arc[end] = name;
      if (role !== "node") graph[/** @type {"source"|"sink"} */ (role)] = name;
    }
    this.selected = null; // so that the next node can be named, and is not joined to this one
    say("");
    this.build();
  }

  /** @param {number} number */
  deleteNode(number) {
    const { label, role } = this.numbered().nodes[number];
    const { graph } = this;
    if (isMatching(graph)) {
      const place = role === "left" ? 0 : 1;
      const own = role === "left" ? graph.left : graph.right;
      own.splice(own.indexOf(label), 1);
      graph.costs = graph.costs?.filter((_, edge) => graph.edges[edge][place] !== label);
      graph.edges = graph.edges.filter((edge) => edge[place] !== label);
    } else {
      if (role !== "node") {
        say("Source and sink stay.");
        return;
      }
      graph.nodes.splice(graph.nodes.indexOf(label), 1);
      graph.costs = graph.costs?.filter((_, arc) => !graph.arcs[arc].slice(0, 2).includes(label));
      graph.arcs = graph.arcs.filter(([a, b]) => a !== label && b !== label);
    }
    this.selected = null;
    this.build();
  }
}
