// One board: the strip of the day on top (canvas), pictures and tables below (HTML from Python).
// The browser holds no data: it sends back a window of time or a name, and draws what comes.

const two = (n) => String(n).padStart(2, "0");
const utc = (us) => {
  const d = new Date(us / 1000);
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ` +
    `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} UTC`;
};
const HELP = "drag: choose a time · double click: whole window · click: hold the cursor and find it in the events · " +
  "w/s: zoom · a/d: earlier, later · [ ]: previous, next metric that stands out · p: keep · /: filter · Esc: clear · ?: this help";
const make = (tag, name, parent) => {
  const node = document.createElement(tag);
  node.className = name;
  parent.append(node);
  return node;
};

function drawStrip(canvas, strip, [start, end]) {
  const wide = canvas.clientWidth, high = 74, ratio = window.devicePixelRatio || 1;
  if (!wide || !strip.lanes) return;
  canvas.width = wide * ratio;
  canvas.height = high * ratio;
  const pen = canvas.getContext("2d"), look = getComputedStyle(canvas);
  const ink = (name) => look.getPropertyValue(`--wb-${name}`).trim();
  const x = (us) => ((us - strip.t0) / (strip.t1 - strip.t0)) * wide;
  pen.scale(ratio, ratio);
  pen.fillStyle = ink("soft");
  for (const [low, high_] of strip.gaps) pen.fillRect(x(low), 0, x(high_) - x(low), high - 16);
  const rows = Math.max(1, strip.lanes.length), tall = (high - 18) / rows;
  pen.font = "10px system-ui, sans-serif";
  strip.lanes.forEach((lane, row) => {
    const foot = (row + 1) * tall, most = Math.max(1, ...lane.own.map((n, i) => n + lane.other[i]));
    const size = (n) => 2 + (tall - 4) * Math.log1p(n) / Math.log1p(most), step = wide / lane.own.length;
    lane.own.forEach((own, i) => {
      const all = own + lane.other[i];
      if (!all) return;
      pen.fillStyle = ink("peer");
      pen.fillRect(i * step, foot - size(all), Math.max(step, 1.5), size(all));
      pen.fillStyle = ink("line");
      if (own) pen.fillRect(i * step, foot - size(own), Math.max(step, 1.5), size(own));
    });
    pen.fillStyle = ink("bg");
    pen.globalAlpha = 0.75;
    pen.fillRect(0, foot - tall + 1, pen.measureText(lane.name).width + 6, tall - 1);
    pen.globalAlpha = 1;
    pen.fillStyle = ink("dim");
    pen.fillText(lane.name, 2, foot - tall / 2 + 3);
  });
  pen.fillStyle = ink("mark");
  pen.fillRect(x(strip.incident[1]) - 1, 0, 2, high - 16);
  pen.globalAlpha = 0.14;
  pen.fillStyle = ink("line");
  pen.fillRect(x(start), 0, Math.max(2, x(end) - x(start)), high - 16);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink("line");
  pen.strokeRect(x(start) + 0.5, 0.5, Math.max(2, x(end) - x(start)), high - 17);
  pen.fillStyle = ink("dim");
  const steps = [6e8, 18e8, 36e8, 108e8, 216e8, 864e8, 6048e8], step = steps.find((s) => (strip.t1 - strip.t0) / s <= 12) || 6048e8;
  for (let t = Math.ceil(strip.t0 / step) * step; t < strip.t1; t += step) pen.fillText(utc(t).slice(step < 864e8 ? 11 : 5, 16), x(t) - 12, high - 4);
}

function render({ model, el }) {
  const root = make("div", "wb", el);
  root.tabIndex = 0;
  root.setAttribute("aria-label", "incident view; press ? for keys");
  const canvas = make("canvas", "wb-strip", root), status = make("div", "wb-status", root);
  const clock = make("span", "wb-clock", status), told = make("span", "wb-told", status), filter = make("input", "", status);
  filter.placeholder = "filter rows ( / )";
  filter.setAttribute("aria-label", "filter rows");
  const help = make("div", "wb-help", root), body = make("div", "wb-body", root);
  help.hidden = true;
  help.textContent = HELP;
  let drag = null, held = null;

  const busy = () => root.classList.add("wb-busy");
  const say = (what) => { busy(); model.send(what); };
  const choose = (low, high) => {
    busy();
    const size = Math.abs(high - low), grain = size > 12e7 ? 1e6 : size > 12e5 ? 1e4 : 1; // no false precision
    model.set("window", [Math.min(low, high), Math.max(low, high)].map((t) => Math.round(t / grain) * grain));
    model.save_changes();
  };
  const strip = () => drawStrip(canvas, model.get("strip"), model.get("window"));
  const sieve = () => {
    const word = filter.value.toLowerCase();
    for (const row of body.querySelectorAll("tbody tr")) row.hidden = word !== "" && !row.textContent.toLowerCase().includes(word);
  };
  const fill = () => {
    const open = [...body.querySelectorAll("details")].map((one) => one.open), within = body.contains(document.activeElement);
    body.innerHTML = model.get("body");
    [...body.querySelectorAll("details")].forEach((one, i) => { one.open = open[i] || false; });
    root.classList.remove("wb-busy");
    if (within) root.focus({ preventScroll: true }); // what had the focus is gone; the keys stay
    held = null;
    sieve();
    strip();
    requestAnimationFrame(toIncident);
  };
  const toIncident = () => { if (model.get("strip").incident) find(model.get("strip").incident[1], false); };

  // Where on a picture a pointer is: its time, and a function from time to user units.
  const place = (target, event) => {
    const box = target.getBoundingClientRect();
    if (target === canvas) {
      const s = model.get("strip");
      return { t: s.t0 + ((event.clientX - box.left) / box.width) * (s.t1 - s.t0), target };
    }
    const d = target.dataset, user = ((event.clientX - box.left) / box.width) * d.width;
    const share = Math.min(1, Math.max(0, (user - d.left) / (d.right - d.left)));
    return { t: +d.t0 + share * (d.t1 - d.t0), target };
  };
  const pictureOf = (event) => event.target === canvas ? canvas : event.target.closest?.("svg[data-t0]");
  const shape = (svg, tag, name) => {
    const found = svg.querySelector(`.${name}`) || svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    found.setAttribute("class", name);
    return found;
  };
  const unit = (svg, t) => {
    const d = svg.dataset;
    return +d.left + ((t - d.t0) / (d.t1 - d.t0)) * (d.right - d.left);
  };
  const cursor = (t) => {
    clock.textContent = t === null ? "" : utc(t);
    for (const svg of body.querySelectorAll("svg[data-t0]")) {
      const line = shape(svg, "line", "wb-cursor"), at = t === null ? -9 : unit(svg, t);
      const out = t === null || t < +svg.dataset.t0 || t > +svg.dataset.t1;
      for (const [name, value] of [["x1", at], ["x2", at], ["y1", 18], ["y2", svg.viewBox.baseVal.height - 22]]) line.setAttribute(name, value);
      line.setAttribute("visibility", out ? "hidden" : "visible");
    }
  };
  const brush = (low, high) => {
    for (const svg of body.querySelectorAll("svg[data-t0]")) {
      const box = shape(svg, "rect", "wb-brush"), a = unit(svg, Math.min(low, high)), b = unit(svg, Math.max(low, high));
      for (const [name, value] of [["x", a], ["y", 18], ["width", Math.max(0, b - a)], ["height", svg.viewBox.baseVal.height - 40]]) box.setAttribute(name, value);
    }
    if (low !== high) drawStrip(canvas, model.get("strip"), [Math.min(low, high), Math.max(low, high)]);
  };
  const find = (t, mark = true) => {
    let best = null;
    for (const row of body.querySelectorAll("tr[data-ts]")) {
      row.classList.remove("near");
      if (!best || Math.abs(row.dataset.ts - t) < Math.abs(best.dataset.ts - t)) best = row;
    }
    if (!best) return;
    if (mark) best.classList.add("near");
    best.closest(".wb-scroll").scrollTop = best.offsetTop - 60;
  };

  root.addEventListener("pointerdown", (event) => {
    const target = pictureOf(event);
    if (!target || event.button !== 0) return;
    root.focus({ preventScroll: true });
    drag = { ...place(target, event), x: event.clientX };
    target.setPointerCapture?.(event.pointerId);
    event.preventDefault();
  });
  root.addEventListener("pointermove", (event) => {
    const target = drag ? drag.target : pictureOf(event);
    if (!target) { if (held === null) cursor(null); return; }
    const { t } = place(target, event);
    if (held === null || drag) cursor(t);
    if (drag && Math.abs(event.clientX - drag.x) > 4) brush(drag.t, t);
  });
  root.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const from = drag, { t } = place(from.target, event);
    drag = null;
    if (Math.abs(event.clientX - from.x) > 4) { choose(from.t, t); return; }
    held = held === null ? t : null;
    cursor(t);
    if (held !== null) find(t);
  });
  root.addEventListener("dblclick", (event) => { if (pictureOf(event)) say({ type: "reset" }); });
  const pick = (row) => say({ type: row.dataset.pick, name: row.dataset.name });
  body.addEventListener("click", (event) => { const row = event.target.closest("tr[data-pick]"); if (row) pick(row); });
  filter.addEventListener("input", sieve);
  root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the notebook has keys of its own
    if (event.target === filter) { if (event.key === "Escape") { filter.value = ""; sieve(); root.focus(); } return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = event.target.closest?.("tr[data-pick]");
    const zoom = (factor) => say({ type: "zoom", factor }), pan = (share) => say({ type: "pan", share });
    const keys = {
      w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.5), d: () => pan(0.5), p: () => say({ type: "keep" }),
      "[": () => say({ type: "step", by: -1 }), "]": () => say({ type: "step", by: 1 }),
      "?": () => { help.hidden = !help.hidden; }, "/": () => filter.focus(),
      Escape: () => { held = null; drag = null; cursor(null); brush(0, 0); strip(); }, Enter: () => row && pick(row),
    };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });

  const saying = () => { told.textContent = model.get("status"); };
  model.on("change:body", fill);
  model.on("change:strip", strip);
  model.on("change:window", strip);
  model.on("change:status", saying);
  model.on("change:drawn", () => root.classList.remove("wb-busy"));
  let shown = false; // before the first layout nothing can be drawn or scrolled
  const watch = new ResizeObserver(() => { strip(); if (!shown) { shown = true; toIncident(); } });
  watch.observe(canvas);
  const theme = new MutationObserver(strip);
  theme.observe(document.body, { attributes: true });
  fill();
  saying();
  return () => { watch.disconnect(); theme.disconnect(); };
}

export default { render };
