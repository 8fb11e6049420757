"use strict";
/*
 * The page answers itself where there is no server: runs of the discrete network are made here,
 * those of others were recorded by `augury explore --static`, and the rest is refused.
 */

/** @typedef {{graph: GraphRequest, model: string, other: string, seed: number, shown: Shown}} Recorded */
/** @typedef {{examples: Example[], models: {name: string}[], recorded: Recorded[], said: Said}} Demo */

const ELSEWHERE = "In this demo without a server, %s runs on the examples only, with the seed " +
  "that it was recorded with. For other runs, install augury and run augury explore.";

/** @param {Demo} demo @param {string} path as of the server @param {any} body @returns {any} */
function answered(demo, path, body) {
  if (path === "examples.json") return demo.examples;
  if (path === `${API}models`) return { models: demo.models, families: [] };
  const { graph, model, other, seed, maximise } = body;
  if (model === "discrete" && !other) {
    return { stories: [storyOf(demo.said, graph, { seed, maximise })], first_difference: null };
  }
  const wanted = JSON.stringify(graph);
  const found = demo.recorded.find((told) => told.model === model && told.other === (other || "") &&
    told.seed === seed && JSON.stringify(told.graph) === wanted);
  if (!found) throw new Refusal(ELSEWHERE.replace("%s", (model === "discrete" ? other : model) || "that network"));
  return found.shown;
}
