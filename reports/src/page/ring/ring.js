"use strict";
(() => {
  const record = JSON.parse(document.getElementById("record").textContent);
  const frames = record.frames, names = record.names;
  const id = (name) => document.getElementById(name);
  if (!frames.length || !record.picks) return;
  let at = -1, focus = 0, bars = [];

  const make = (name, cls, text) => {
    const e = document.createElement(name);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const add = (to, ...parts) => parts.forEach((part) => to.append(part));
  const spaced = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const digits = (n) => String(n).padStart(3, "0");
  const ms = (ns) => Math.floor(ns / 1e6) + "." + digits(Math.floor(ns / 1e3) % 1e3);
  const us = (ns) => (ns < 0 ? "-" : "") + Math.floor(Math.abs(ns) / 1e3) + "." + digits(Math.abs(ns) % 1e3) + " \u00b5s";
  // A figure says where in the record it stands, and what stands there where it is written differently.
  const figure = (path, text) => {
    const value = path.split("/").slice(1).reduce((v, key) => v[key], record);
    const e = make("span", "", text(value));
    e.dataset.path = path;
    const plain = path.endsWith("percent") ? value.toFixed(3) : String(value);
    if (plain !== e.textContent) e.dataset.value = plain;
    return e;
  };
  const stage = (row) => names.stages[row.stage] ?? "stage " + row.stage;
  const device = (row) => row.device === null ? "" : names.devices[row.device] ?? "device " + row.device;
  const share = (f, ns) => Math.min(100, Math.max(0, (ns - f.from_ns) * 100 / (f.to_ns - f.from_ns)));

  const axis = (f) => {
    const e = make("div", "x");
    e.setAttribute("aria-hidden", "true");
    const rough = (f.to_ns - f.from_ns) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((n) => n * power >= rough * 0.999) ?? 10);
    for (let n = Math.ceil(f.from_ns / step), left = 8; left-- && n * step <= f.to_ns; n++) {
      const ns = n * step, size = Math.abs(ns);
      const text = size >= 1e6 ? ns / 1e6 + " ms" : size >= 1e3 ? ns / 1e3 + " \u00b5s" : ns ? ns + " ns" : "0";
      const mark = make("span", share(f, ns) > 92 ? "end" : "", text);
      mark.style.left = share(f, ns) + "%";
      e.append(mark);
    }
    return e;
  };

  const tell = (i, move) => {
    const f = frames[at], base = "/frames/" + at + "/spans", row = f.rows[f.spans.row[i]], out = id("live");
    const who = stage(row) + (device(row) && ", " + device(row));
    out.replaceChildren(make("b", "", who), ": starts ", figure(base + "/offset_ns/" + i, us),
      f.spans.offset_ns[i] < 0 ? " (before the frame's start)" : " after the frame's start", ", takes ",
      figure(base + "/duration_ns/" + i, us), " = ", figure(base + "/duration_ns/" + i, ms), " ms, ends at ",
      us(f.spans.offset_ns[i] + f.spans.duration_ns[i]));
    if (f.spans.count[i]) add(out, "; counts ", figure(base + "/count/" + i, spaced));
    bars.forEach((bar, n) => { bar.tabIndex = n === i ? 0 : -1; bar.classList.toggle("told", n === i); });
    focus = i;
    if (move) bars[i].focus();
  };

  const picture = (f) => {
    const rows = f.rows.map((row) => {
      const line = make("div", "g"), who = make("span", "who", stage(row) + " ");
      if (row.device !== null) who.append(make("small", "", device(row)));
      const track = make("span", "track"), sum = make("span", "sum");
      add(line, who, track, sum);
      return { line, track, sum, cls: row.device === null ? "d0" : "d" + (row.device % 3 + 1), n: 0, longest: -1 };
    });
    bars = f.spans.row.map((r, i) => {
      const row = rows[r], bar = make("button", row.cls), from = share(f, f.spans.offset_ns[i]);
      bar.type = "button";
      bar.style.left = from + "%";
      bar.style.width = share(f, f.spans.offset_ns[i] + f.spans.duration_ns[i]) - from + "%";
      bar.setAttribute("aria-label", (stage(f.rows[r]) + " " + device(f.rows[r])).trim() + ", "
        + us(f.spans.offset_ns[i]) + ", takes " + us(f.spans.duration_ns[i]));
      bar.addEventListener("focus", () => tell(i));
      bar.addEventListener("mouseenter", () => tell(i));
      row.track.append(bar);
      row.n++;
      if (row.longest < 0 || f.spans.duration_ns[i] > f.spans.duration_ns[row.longest]) row.longest = i;
      return bar;
    });
    rows.forEach((row) => {
      if (row.n > 1) row.sum.append(row.n + "\u00d7, longest ");
      add(row.sum, figure("/frames/" + at + "/spans/duration_ns/" + row.longest, ms), " ms");
    });
    id("gantt").replaceChildren(axis(f), ...rows.map((row) => row.line));
  };

  const line = (...parts) => {
    const p = make("p");
    add(p, ...parts);
    return p;
  };
  const which = (f) => {
    const of = (key, text = spaced) => figure("/frames/" + at + "/" + key, text);
    const head = line("Frame ", of("id", String), ": ", of("duration_ns", ms), " ms (", of("duration_ns", us), "), number ",
      of("number"), " of ", figure("/summary/frames", spaced), ", ", f.slowest === 1 ? "the slowest" : "slowness rank ",
      f.slowest === 1 ? "" : of("slowest"), ", ", of("at_ns", ms), " ms after the first");
    head.className = "lead";
    const facts = [];
    const fact = (...parts) => {
      if (facts.length) facts.push("; ");
      facts.push(...parts);
    };
    if (f.covered_percent !== null) fact(of("covered_percent", (n) => n.toFixed(3)), " % of its time explained");
    if (f.prologue_ns) fact(of("prologue_ns", ms), " ms of work beside the frame before");
    fact(of("records"), " records");
    if (f.asked.length) {
      fact("cause: ");
      f.asked.forEach((who, n) => facts.push(n ? ", " : "", figure("/frames/" + at + "/asked/" + n, String)));
      if (f.asked_more) facts.push(" and ", of("asked_more"), " more");
    }
    const all = [head, line(...facts)];
    const warn = (...parts) => {
      const p = line(...parts);
      p.className = "bad";
      all.push(p);
    };
    if (f.deadlines_missed) warn("Deadline missed by ", of("overrun_ns", ms), " ms.");
    if (f.truncated) warn("Events of this frame were dropped over the batch limit.");
    if (f.missing_before) {
      warn("GAP in front of it, ids missing: ", of("missing_before"), " (", of("skipped_before"),
        " left out on purpose, ", of("lost_before"), " lost).");
      if (!f.lost_before) all.at(-1).className = "open";
    }
    const before = at ? f.number - frames[at - 1].number - 1 : f.number - 1;
    if (before) all.push(line(spaced(before) + " whole frames of the ring in front of it are not on this page."));
    if (before) all.at(-1).className = "sub";
    if (f.spans_left_out) all.push(line("Spans that are not drawn: ", of("spans_left_out"), "."));
    id("which").replaceChildren(...all);
  };

  const show = (to) => {
    if (to === at || !(to >= 0 && to < frames.length)) return;
    const inside = id("gantt").contains(document.activeElement);
    at = to;
    const f = frames[at];
    which(f);
    picture(f);
    id("live").replaceChildren("Point at a span, or go to one with the up and down arrow keys, for its exact times.");
    focus = Math.min(focus, bars.length - 1);
    if (bars.length) bars[Math.max(0, focus)].tabIndex = 0;
    bars.forEach((bar, n) => { if (n !== Math.max(0, focus)) bar.tabIndex = -1; });
    if (inside && bars.length) tell(Math.max(0, focus), true);
    document.querySelectorAll("[data-frame]").forEach((b) => b.setAttribute("aria-pressed", String(+b.dataset.frame === at)));
    id("back").disabled = at === 0;
    id("on").disabled = at === frames.length - 1;
    try { history.replaceState(null, "", "#frame=" + f.id); } catch { /* a page in a sandbox has no address */ }
  };

  const linked = () => {
    const wanted = /^#frame=(\d+)$/.exec(location.hash);
    return wanted ? frames.findIndex((f) => f.id === +wanted[1]) : -1;
  };
  document.querySelectorAll("[data-frame]").forEach((b) => b.addEventListener("click", () => show(+b.dataset.frame)));
  id("back").addEventListener("click", () => show(at - 1));
  id("on").addEventListener("click", () => show(at + 1));
  addEventListener("hashchange", () => show(linked()));
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const inside = id("gantt").contains(document.activeElement);
    if (e.key === "ArrowLeft") show(at - 1);
    else if (e.key === "ArrowRight") show(at + 1);
    else if (inside && e.key === "ArrowUp") tell(Math.max(0, focus - 1), true);
    else if (inside && e.key === "ArrowDown") tell(Math.min(bars.length - 1, focus + 1), true);
    else return;
    e.preventDefault();
  });
  id("still").hidden = true;
  id("chart").hidden = false;
  const first = linked();
  show(first < 0 ? record.picks.p95 : first);
})();
