"use strict";
/*
 * What people give becomes a request, and the server's answer goes to the player: examples,
 * families, a drawing, files and pasted text; the network and its settings; the link that holds it
 * all. The page in a file has none of this; a demo answers itself.
 */

/** @typedef {string|number} Label */
/** @typedef {{left: Label[], right: Label[], edges: [Label, Label][], costs?: number[]}} DrawnMatching */
/**
 * @typedef {{source: Label, sink: Label, nodes: Label[],
 *   arcs: [Label, Label, number][], costs?: number[]}} DrawnFlow
 */
/** @typedef {DrawnMatching|DrawnFlow} Drawn */
/** @typedef {Record<string, any>} GraphRequest see Graph in server.py */
/** @typedef {{name: string, about: string, graph: GraphRequest, settings?: Settings}} Example */
/**
 * @typedef {{model: string, other: string, seed: number, termination: string, exact: boolean,
 *   many_paths: boolean, neural_bottleneck: boolean, neural_augmentation: boolean,
 *   maximise: boolean|null}} Settings `maximise` is null where the graph says what is looked for
 */
/** @typedef {{name: string, kind: string, default: number|null, is_required: boolean}} Parameter */
/** @typedef {{name: string, about: string, parameters: Parameter[]}} Family */

const API = "api/v1/";
const MAX_LINK = 12000; // characters; longer ones are cut by programs that people paste them into

const MAX_UNPACKED = 4 * 2 ** 20; // bytes: as many as a request may have

/** @type {any} */
const streams = globalThis; // whose CompressionStream older type libraries do not know

/** Values that a family's fields start with, where the family itself has none. */
const FIRST_VALUES = /** @type {Record<string, number>} */ ({
  n: 8, degree: 3, nodes: 10, arcs: 24, p_within: 0.5, p_between: 0.05,
});

/** @type {[keyof Settings, string][]} settings that are boxes to tick */
const BOXES = [
  ["exact", "exact"], ["many_paths", "many-paths"], ["neural_bottleneck", "neural-bottleneck"],
  ["neural_augmentation", "neural-augmentation"],
];

/** @type {Demo|null} what takes the place of a server, in a page that has none */
const demo = inside("demo");

/** A request that the server refused; the message is its sentence. */
class Refusal extends Error {}

/**
 * @param {string} path @param {object} [body] @param {AbortSignal} [signal] gives the request up
 * @returns {Promise<any>}
 */
async function ask(path, body, signal) {
  if (demo) return answered(demo, path, body);
  const options = body === undefined ? { signal } : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    signal,
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refusal("The server does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Refusal(onPage(answer.error) || `The server answered with status ${response.status}.`);
  }
  return answer;
}

/** @param {string} [text] @returns {string|undefined} a sentence for the command, for the page */
function onPage(text) {
  return text
    ?.replace(/--cost, in Python [^,]*,/, "the checkbox “numbers are costs”")
    .replace("--capacity (flow=True)", "“a flow network”")
    .replace("--ignore-costs (ignore_costs=True)", "“ignore costs”")
    .replace(/--ignore-costs, in Python [^,]*,/, "the checkbox “ignore costs”")
    .replace(/--maximise, in Python .*$/, "look for the least sum or the greatest");
}

/** @param {string} text @param {boolean} [isBusy] */
function say(text, isBusy = false) {
  const message = byId("message", HTMLElement);
  message.textContent = text;
  message.hidden = !text;
  message.classList.toggle("busy", isBusy);
}

/** @param {Uint8Array} bytes @returns {string} */
function base64Of(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(text);
}

/**
 * @param {ReadableStream<any>} stream @param {number} [most] bytes; more are an error
 * @returns {Promise<Blob>}
 */
async function blobOf(stream, most = Infinity) {
  /** @type {BlobPart[]} */
  const parts = [];
  const reader = stream.getReader();
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("there is more behind this link than a page can show");
    }
  }
}

/** @param {object} value @returns {Promise<string>} what stands behind the # of a link */
async function packed(value) {
  const stream = new Blob([JSON.stringify(value)]).stream()
    .pipeThrough(new streams.CompressionStream("deflate-raw"));
  const text = base64Of(new Uint8Array(await (await blobOf(stream)).arrayBuffer()));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text @returns {Promise<any>} what a link holds, unless it is too much */
async function unpacked(text) {
  if (text.length > MAX_LINK) throw new Error("no link of ours is so long");
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")),
    (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream()
    .pipeThrough(new streams.DecompressionStream("deflate-raw"));
  return JSON.parse(await (await blobOf(stream, MAX_UNPACKED)).text());
}

/** @param {string} id @returns {HTMLSelectElement} */
function select(id) {
  return byId(id, HTMLSelectElement);
}

/** @param {string} id @returns {HTMLInputElement} */
function input(id) {
  return byId(id, HTMLInputElement);
}

/** @param {HTMLSelectElement} element @param {[string, string][]} options value and text */
function fill(element, options) {
  element.replaceChildren(...options.map(([value, text]) => {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = text;
    return option;
  }));
}

/** @returns {Omit<Settings, "maximise">} */
function settingsNow() {
  const boxes = Object.fromEntries(BOXES.map(([name, id]) => [name, input(id).checked]));
  return /** @type {Omit<Settings, "maximise">} */ ({
    model: select("model").value, other: select("other").value,
    seed: Math.max(0, Math.floor(Number(input("seed").value) || 0)),
    termination: select("termination").value, ...boxes,
  });
}

/** @param {Partial<Settings>} settings */
function useSettings(settings) {
  for (const [name, id] of BOXES) {
    if (name in settings) input(id).checked = Boolean(settings[name]);
  }
  if (settings.model) select("model").value = settings.model;
  select("other").value = settings.other || "";
  if (settings.seed !== undefined) input("seed").value = String(settings.seed);
  select("termination").value = settings.termination || "bfs";
}

/** The input part of the page: the graph that is being looked at, and how it got here. */
class Desk {
  constructor() {
    /** @type {Example[]} */
    this.examples = [];
    /** @type {Family[]} */
    this.families = [];
    /** @type {GraphRequest|null} */
    this.graph = null;
    /** @type {boolean|null} whether the greatest sum of its costs is looked for */
    this.maximise = null;
    this.asked = new AbortController();
    this.editor = new Editor(byId("editor", HTMLElement));
  }

  async start() {
    const [examples, models] = await Promise.all([ask("examples.json"), ask(`${API}models`)]);
    this.examples = examples;
    this.families = models.families;
    fill(select("model"), models.models.map((/** @type {any} */ model) => [model.name, model.name]));
    fill(select("other"), [["", "nothing"],
      ...models.models.map((/** @type {any} */ model) => [model.name, model.name])]);
    fill(select("example"), this.examples.map(({ name }, place) => [String(place), name]));
    fill(select("family"), this.families.map(({ name }) => [name, name]));
    select("model").value = "discrete";
    this.connect();
    this.showFamily();
    if (location.hash.length > 1) {
      const trouble = await this.openLink();
      if (!trouble) return;
      await this.openExample(0);
      say(`${trouble} This is the first example.`);
    } else {
      await this.openExample(0);
    }
  }

  connect() {
    const on = (/** @type {string} */ id, /** @type {string} */ event, /** @type {() => any} */ act) =>
      byId(id, HTMLElement).addEventListener(event, () => void act());
    on("example", "change", () => this.openExample(Number(select("example").value)));
    on("family", "change", () => this.showFamily());
    on("generate", "click", () => this.generate());
    on("file", "change", () => this.openFile());
    on("open-paste", "click", () => this.openPaste());
    on("draw-run", "click", () => this.run(this.editor.graph, false));
    on("run", "click", () => byId("panel-draw", HTMLElement).hidden ? this.run()
      : this.run(this.editor.graph, false));
    on("sense", "change", () => this.run(this.graph, false, select("sense").value === "greatest"));
    on("share", "click", () => this.share());
    for (const id of ["model", "other", "seed", "termination", ...BOXES.map(([, box]) => box)]) {
      on(id, "change", () => this.run());
    }
    window.addEventListener("hashchange", async () => {
      const trouble = location.hash.length > 1 && (await this.openLink());
      if (trouble) say(trouble);
    });
    connectTabs((name) => {
      if (name === "draw") this.editor.build();
    });
  }

  /** @returns {AbortSignal} of what is asked now; whatever was asked before is given up */
  begin() {
    this.asked.abort();
    this.asked = new AbortController();
    return this.asked.signal;
  }

  /**
   * Run the graph, a new one or the same again.
   * @param {GraphRequest|null} [graph]
   * @param {boolean} [isNew] whether the editor should show it too
   * @param {boolean|null} [maximise] the greatest sum of costs, the least, or as the graph says
   * @returns {Promise<string>} why it was refused, if it was
   */
  async run(graph = this.graph, isNew = true, maximise = this.maximise) {
    if (!graph) return "";
    const signal = this.begin();
    // What was chosen for another graph says nothing about one that has no costs.
    const hasNone = ("edges" in graph || "arcs" in graph) && !graph.costs && !graph.supply;
    const settings = { ...settingsNow(), maximise: hasNone ? null : maximise };
    say("Running…", true);
    try {
      const shown = await ask(`${API}story`,
        { graph, ...settings, other: settings.other || null }, signal);
      if (signal.aborted) return ""; // somebody has asked for something else meanwhile
      this.graph = graph;
      this.maximise = settings.maximise;
      this.showSense(shown.stories[0].graph.sense);
      say(""); // first: it takes room that the drawing can have
      player.load(shown);
      if (isNew) this.editor.take(shown.stories[0]);
    } catch (error) {
      if (!signal.aborted) return this.explain(error, graph, settings, signal);
    }
    return "";
  }

  /** @param {string} [sense] what the costs of the graph are looked at for, if it has any */
  showSense(sense) {
    byId("sense-field", HTMLElement).hidden = !sense;
    if (sense) select("sense").value = sense;
  }

  /**
   * Say what went wrong. A graph too large to be told can still be solved.
   * @param {unknown} error @param {GraphRequest} graph @param {Settings} settings
   * @param {AbortSignal} signal @returns {Promise<string>} why it was refused, if it was
   */
  async explain(error, graph, settings, signal) {
    if (!(error instanceof Refusal)) throw error;
    const isLarge = error.message.includes("too large to tell");
    if (!isLarge) {
      say(error.message);
      return error.message;
    }
    try {
      const { model, exact, seed, maximise } = settings;
      const solution = await ask(`${API}solve`, { graph, model, exact, seed, maximise }, signal);
      if (signal.aborted) return "";
      this.graph = graph;
      this.maximise = maximise;
      player.clear(); // what was there is another graph
      const what = solution.matching ? "A matching" : "A flow";
      const best = solution.cost === undefined ? "" : ` and ${solution.is_optimal ? "" : "not "}the best`;
      const proof = (solution.is_maximum ? "proven maximum" : "not proven maximum") + best;
      const cost = solution.cost === undefined ? "" : `, cost ${solution.cost.toLocaleString("en")}`;
      say(`${what} of ${solution.size.toLocaleString("en")}${cost}, ${proof}, in ` +
        `${counted(solution.rounds, "round")}. The graph is too large to be watched step by step: ` +
        `${error.message}.`, true);
    } catch (second) {
      if (!(second instanceof Refusal)) throw second;
      if (signal.aborted) return "";
      player.clear();
      say(second.message);
    }
    return "";
  }

  /** @param {number} place */
  async openExample(place) {
    const example = this.examples[place];
    byId("example-about", HTMLElement).textContent = example.about;
    if (example.settings) useSettings(example.settings);
    await this.run(example.graph, true, example.settings?.maximise ?? null);
  }

  showFamily() {
    const family = this.families.find(({ name }) => name === select("family").value);
    if (!family) return;
    byId("family-about", HTMLElement).textContent = family.about;
    byId("family-fields", HTMLElement).replaceChildren(...family.parameters.map((parameter) => {
      const label = htmlElement("label", parameter.name.replaceAll("_", " "));
      const field = document.createElement("input");
      field.type = "number";
      field.step = parameter.kind === "int" ? "1" : "any";
      field.name = parameter.name;
      const first = parameter.default ?? FIRST_VALUES[parameter.name];
      field.value = first === undefined ? "" : String(first);
      label.append(field);
      return label;
    }));
  }

  async generate() {
    const query = new URLSearchParams({ family: select("family").value });
    query.set("seed", input("family-seed").value || "0");
    if (input("family-costs").value) query.set("costs_to", input("family-costs").value);
    for (const field of byId("family-fields", HTMLElement).querySelectorAll("input")) {
      if (field.value) query.set(field.name, field.value);
    }
    const signal = this.begin();
    say("Running…", true);
    try {
      const graph = await ask(`${API}generate?${query}`, undefined, signal);
      if (!signal.aborted) await this.run(graph, true, null);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!signal.aborted) say(error.message);
    }
  }

  /** @returns {GraphRequest} what the fields beside file and text say */
  readOptions() {
    const options = /** @type {GraphRequest} */ ({
      flow: input("as-flow").checked, cost: input("as-cost").checked,
      ignore_costs: input("ignore-costs").checked,
    });
    for (const end of ["source", "sink"]) {
      if (input(end).value) options[end] = input(end).value;
    }
    return options;
  }

  /** @returns {boolean|null} what the field beside file and text says */
  readSense() {
    const sense = select("open-sense").value;
    return sense ? sense === "greatest" : null;
  }

  async openFile() {
    const file = input("file").files?.[0];
    if (!file) return;
    const data = base64Of(new Uint8Array(await file.arrayBuffer()));
    await this.run({ data, name: file.name, ...this.readOptions() }, true, this.readSense());
    input("file").value = ""; // so that the same file, once mended, can be opened again
  }

  async openPaste() {
    const text = byId("paste", HTMLTextAreaElement).value;
    await this.run({ text, name: "pasted text", ...this.readOptions() }, true, this.readSense());
  }

  async share() {
    if (!this.graph) return;
    const settings = { ...settingsNow(), maximise: this.maximise };
    const fragment = await packed({ graph: this.graph, settings });
    if (fragment.length > MAX_LINK) {
      say("This graph is too large for a link. Send the file, or one written by augury solve --html.");
      return;
    }
    history.replaceState(null, "", `#${fragment}`);
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied. It holds the graph and the settings.", true);
    } catch {
      say("The link is in the address bar. It holds the graph and the settings.", true);
    }
  }

  /** @returns {Promise<string>} what is wrong with the link in the address, if anything is */
  async openLink() {
    let told;
    try {
      told = await unpacked(location.hash.slice(1));
    } catch {
      // Whatever it was, there is nothing to run.
    }
    if (!told?.graph) return "This link is damaged: there is no graph in it.";
    const settings = told.settings instanceof Object ? told.settings : {};
    useSettings(settings);
    byId("example-about", HTMLElement).textContent = "";
    const refused = await this.run(told.graph, true, settings.maximise ?? null);
    return refused && `This link cannot be opened: ${refused.replace(/\.$/, "")}.`;
  }
}

/** @param {(name: string) => void} onShow */
function connectTabs(onShow) {
  const tabs = Array.from(document.querySelectorAll(demo ? "[role=tab]:not(.server)" : "[role=tab]"),
    (tab) => /** @type {HTMLElement} */ (tab));
  const show = (/** @type {HTMLElement} */ chosen) => {
    for (const tab of tabs) {
      const panel = byId(String(tab.getAttribute("aria-controls")), HTMLElement);
      panel.hidden = tab !== chosen;
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    onShow(chosen.id.replace("tab-", ""));
  };
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      const next = tabs[(place + way + tabs.length) % tabs.length];
      show(next);
      next.focus();
    });
  });
}

document.body.classList.toggle("demo", demo !== null);
const desk = new Desk();
desk.start().catch((error) => {
  if (!(error instanceof Refusal)) throw error; // a fault of ours: the console shall have it
  say(error.message);
});
