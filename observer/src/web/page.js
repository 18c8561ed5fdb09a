"use strict";
// The page of a run that goes on: asks for its figures once a second and shows them. What came in datagrams is text.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 480, PLOT = 96, STRIP = 18;

const make = (name, className, text) => {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const draw = (name, attributes) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
// Writes only what changed: screen readers and selections are left alone.
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const style = (node, name) => { if (node.className !== name) node.className = name; };

const count = (n) => Number(n).toLocaleString("en");
const ms = (ns) => ns <= 0 ? "–" : ns < 1e5 ? `${(ns / 1e3).toFixed(0)} µs` : ns < 1e10 ? `${(ns / 1e6).toFixed(ns < 1e8 ? 2 : 0)} ms` : `${(ns / 1e9).toFixed(1)} s`;
const rate = (mhz) => (mhz / 1000).toFixed(1);
const clock = (ns) => new Date(ns / 1e6).toISOString().slice(11, 23);
const span = (ns) => {
  const s = Math.floor(ns / 1e9), two = (n) => String(n).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
};

const facts = new Map();
function fact(name, value) {
  if (!facts.has(name)) {
    const pair = make("div"), dd = make("dd");
    pair.append(make("dt", "", name), dd);
    $("facts").append(pair);
    facts.set(name, dd);
  }
  put(facts.get(name), value);
}

const tiles = new Map();
function tile(name, value, kind) {
  if (!tiles.has(name)) {
    const box = make("div"), b = make("b");
    box.append(b, make("span", "", name));
    $("tiles").append(box);
    tiles.set(name, [box, b]);
  }
  const [box, b] = tiles.get(name);
  style(box, `tile ${kind}`);
  put(b, value);
}

function health(live) {
  const o = live.observer;
  style($("observer"), `badge ${o.lost > 0 ? "bad" : "good"}`);
  put($("observer"), o.lost > 0 ? `Observer: LOSES DATAGRAMS, ${count(o.lost)} so far` : "Observer: complete, lost nothing");
  fact("longest loop gap", ms(o.loop_gap_max_ns));
  fact("wait in the kernel, p99", ms(o.queue_p99_ns));
  fact("longest wait", ms(o.queue_max_ns));
  fact("datagrams", count(live.datagrams.lighting));
  fact("run", span(live.run_ns));
}

const KINDS = { pass: "good", fail: "bad", invalid: "bad" };
let told = "";
function verdict(live) {
  const missing = `${count(live.lost)} missing, ${count(live.findings.violation)} violations`;
  const nothing = live.datagrams.lighting === 0 && live.observer.lost === 0;
  style($("verdict"), `badge ${nothing ? "open" : KINDS[live.verdict] || "open"}`);
  put($("verdict"), nothing ? "NOTHING SEEN" : live.verdict.toUpperCase());
  put($("reason"), live.reason);
  // The head stays in sight: of many sources it says how many, and which where it is pointed at.
  const names = live.source.name.split(", ");
  put($("source"), `${live.source.kind} ${names.length > 2 ? `${names.length} sources` : live.source.name}`);
  $("source").title = live.source.name;
  tile("missing datagrams", count(live.lost), live.lost > 0 ? "bad" : "good");
  tile("violations", count(live.findings.violation), live.findings.violation > 0 ? "bad" : "good");
  tile("warnings", count(live.findings.warning), live.findings.warning > 0 ? "open" : "");
  if (live.terms.waivers > 0) tile("waived findings", count(live.findings.waived), "");
  tile("streams", count(live.streams_seen), "");
  tile("malformed datagrams", count(live.datagrams.malformed), live.datagrams.malformed > 0 ? "open" : "");
  const news = `${live.verdict}: ${missing}` + (live.observer.lost > 0 ? ", the observer loses datagrams" : "");
  if (news !== told) put($("news"), told = news);
  document.title = live.lost > 0 ? `${count(live.lost)} missing – wireproof` : "wireproof";
}

const outputs = new Map();
// A young run fills the width as well: half a minute, a minute, then two. All charts show the same time.
const slotsOf = (live) => {
  const held = Math.max(0, ...live.outputs.map((o) => o.steps.longest_ns.length));
  return [4, 2, 1].map((part) => live.history / part).find((n) => held <= n) || held;
};
const shownSeconds = (slots, live) => Math.round(slots * live.step_ms / 1000);
function output(o, live, slots) {
  if (!outputs.has(o.name)) {
    const box = make("article", "output"), head = make("h3"), line = make("p");
    const plot = draw("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${PLOT}`, preserveAspectRatio: "none", role: "img" });
    const strip = draw("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${STRIP}`, preserveAspectRatio: "none", role: "img" });
    const scale = make("div", "axis"), time = make("div", "axis");
    const top = make("span"), start = make("span");
    scale.append(top);
    time.append(start, make("span", "", "now"));
    box.append(head, line, scale, plot, strip, time);
    outputs.set(o.name, { box, head, line, plot, strip, top, start });
  }
  const at = outputs.get(o.name), { steps } = o;
  put(at.head, o.name);
  put(at.line, `${rate(o.rate_mhz)} frames/s, ${count(o.complete)} complete, ${count(o.torn)} torn; interval p50 ${ms(o.p50_ns)}, longest ${ms(o.max_ns)}`);
  style(at.line, o.torn > 0 ? "bad" : "");
  const longest = Math.max(...steps.longest_ns, 1), most = Math.max(longest, o.p50_ns * 2) * 1.1;
  const dx = WIDTH / slots, from = slots - steps.longest_ns.length, seconds = shownSeconds(slots, live);
  put(at.start, `${seconds} s ago`);
  const x = (i) => (from + i) * dx, y = (ns) => PLOT - ns / most * PLOT;
  let path = "", up = true;
  steps.longest_ns.forEach((ns, i) => {
    if (ns > 0) path += `${up ? "M" : "L"}${(x(i) + dx / 2).toFixed(1)} ${y(ns).toFixed(1)}`;
    up = ns <= 0;
  });
  const base = draw("path", { class: "base", d: `M0 ${PLOT}H${WIDTH}M0 .5H${WIDTH}` });
  const median = draw("path", { class: "median", d: `M0 ${y(o.p50_ns).toFixed(1)}H${WIDTH}` });
  at.plot.replaceChildren(base, ...(o.p50_ns > 0 ? [median] : []), draw("path", { class: "trace", d: path }));
  put(at.top, ms(most));
  at.plot.setAttribute("aria-label", `Longest frame interval in each half second: ${ms(longest)} at most in the last ${seconds} seconds`);
  const marks = [];
  let torn = 0;
  steps.complete.forEach((n, i) => {
    const bad = steps.torn[i] > 0;
    torn += steps.torn[i];
    // Thin is complete, high is torn: not by colour alone.
    if (bad) marks.push(draw("rect", { class: "torn", x: x(i), y: 0, width: Math.max(dx, 3), height: STRIP }));
    else if (n > 0) marks.push(draw("rect", { class: "whole", x: x(i), y: STRIP * 0.35, width: dx + 0.2, height: STRIP * 0.3 }));
  });
  at.strip.replaceChildren(...marks);
  at.strip.setAttribute("aria-label", `Completeness: ${count(torn)} torn frames in the last ${seconds} seconds`);
  return at.box;
}

function frames(live) {
  const slots = slotsOf(live);
  put($("h-frames"), live.outputs.length > 0 ? `Frames, last ${shownSeconds(slots, live)} seconds` : "Frames");
  const boxes = live.outputs.map((o) => output(o, live, slots));
  const names = new Set(live.outputs.map((o) => o.name));
  for (const name of outputs.keys()) if (!names.has(name)) outputs.delete(name);
  if (boxes.length === 0) return;
  const shown = [...$("outputs").children];
  if (shown.length !== boxes.length || shown.some((box, i) => box !== boxes[i])) $("outputs").replaceChildren(...boxes);
}

const COLUMNS = [
  ["Stream", (s) => `${s.protocol} ${s.kind === "data" ? "" : s.kind + " "}${s.id}`],
  ["Source", (s) => s.source],
  ["Name", (s) => s.name || ""],
  ["Datagrams", (s) => count(s.datagrams)],
  ["Per second", (s) => rate(s.rate_mhz)],
  ["Missing", (s) => count(s.lost), (s) => s.lost > 0],
  ["Late", (s) => count(s.late), (s) => s.late > 0],
  ["Torn frames", (s) => count(s.torn), (s) => s.torn > 0],
  ["Interval p50", (s) => ms(s.p50_ns)],
  ["p99", (s) => ms(s.p99_ns)],
  ["Longest", (s) => ms(s.max_ns)],
  ["State", (s) => s.ended, (s) => s.ended === "silent"],
];
const rows = [];
function streams(live) {
  const only = $("trouble").checked, body = $("streams").tBodies[0];
  live.streams.forEach((s, i) => {
    if (!rows[i]) {
      const row = make("tr");
      COLUMNS.forEach(([name], k) => {
        const cell = make("td", k > 2 && k < 11 ? "n" : "");
        cell.dataset.name = name;
        row.append(cell);
      });
      rows[i] = row;
      body.append(row);
    }
    rows[i].hidden = only && !(s.lost || s.late || s.torn || s.ended !== "running");
    COLUMNS.forEach(([, text, hot], k) => {
      const cell = rows[i].cells[k];
      put(cell, text(s));
      if (hot) cell.classList.toggle("hot", hot(s));
    });
  });
  for (const row of rows.splice(live.streams.length)) row.remove();
  const { filter, streams_left_out: out, streams_not_looked_at: beyond } = live.terms;
  const more = live.streams_seen - live.streams.length, said = [];
  const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  if (more > 0) said.push(`${several(more, "more stream")} not listed here`);
  if (filter) said.push(`${several(out, "stream")} left out: where ${filter}`);
  if (filter && beyond > 0) said.push(`${several(beyond, "more stream")} the filter was not asked about`);
  put($("left-out"), said.join("; "));
}

const SEVERITIES = { violation: "bad", warning: "open" };
let listed = "";
function events(live) {
  const key = JSON.stringify(live.events);
  if (key === listed || (live.events.length === 0 && listed === "")) return;
  listed = key;
  $("events").replaceChildren(...live.events.map((e) => {
    const item = make("li"), time = make("time", "", clock(e.at_ns));
    time.dateTime = new Date(e.at_ns / 1e6).toISOString();
    const where = (e.stream ? `${e.stream}: ` : "") + e.text + (e.count > 1 ? ` (${count(e.count)} times)` : "");
    item.append(time, make("b", e.waived ? "" : SEVERITIES[e.severity] || "", e.waived ? `waived by ${e.waived} ${e.code}` : `${e.severity} ${e.code}`), where, make("code", "", `wireproof explain ${e.code}`));
    return item;
  }));
}

let shown = -1, shownAt = Date.now(), last = null;
function show(live) {
  last = live;
  if (live.looks !== shown) [shown, shownAt] = [live.looks, Date.now()];
  for (const part of [health, verdict, frames, streams, events]) part(live);
}

function stale(why) {
  document.body.classList.add("stale");
  style($("observer"), "badge open");
  put($("observer"), why);
  put($("news"), told = why);
}

async function ask() {
  const since = new Date(shownAt).toISOString().slice(11, 19);
  try {
    const answer = await fetch("/api/live", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(String(answer.status));
    const live = await answer.json();
    document.body.classList.remove("stale");
    if (live.looks > 0) show(live);
    if (live.looks > 0 && Date.now() - shownAt > 5000) stale(`Observer: no fresh figures since ${since}`);
  } catch (_) {
    stale(`The run has ended, or the observer cannot be reached. Last figures: ${since} UTC`);
  }
  setTimeout(ask, 1000);
}
$("trouble").addEventListener("change", () => { if (last) streams(last); });
ask();
