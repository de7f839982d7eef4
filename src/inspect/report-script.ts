import { LEVELS, STEPS } from "./scale.js";

/** What weights are written in, two characters each; none of them means anything to HTML. */
export const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** What the policy of a report lets through: the SHA-256 of SCRIPT, which test/inspect/html.test.ts holds. */
export const SCRIPT_HASH = "sha256-jNf9mWwU4C9kGmXQyOQWEuw8JYlv7grk11BaM+LBwYk=";

/**
 * The script of a report, as text: it runs in a page of its own, and its bytes must not depend on a
 * bundler. It makes elements and sets their text; it never makes markup of a text.
 */
export const SCRIPT = `
"use strict";
(() => {
const LEVELS = ${LEVELS}, STEPS = ${STEPS}, LISTED = 7, THUMB = 48;
const codes = new Uint8Array(128);
[..."${ALPHABET}"].forEach((character, code) => { codes[character.charCodeAt(0)] = code; });

document.documentElement.className = "live";
document.querySelectorAll("section[data-weights]").forEach(setUp);

function setUp(section, index) {
  const { layers, heads, rows, columns, top } = Object.fromEntries(
    Object.entries(section.dataset).map(([name, value]) => [name, Number(value)]));
  const steps = decode(section.dataset.weights);
  const queries = [...section.querySelector(".queries").children];
  const keys = [...section.querySelector(".keys").children];
  const shared = queries[0] === keys[0];
  const heat = section.querySelector(".heat");
  const cells = heat.querySelector(".cells");
  const cursor = heat.querySelector(".cursor");
  const readout = section.querySelector(".readout");
  const choices = section.querySelector(".choices");
  const thumbs = [];
  // The mean stands for all heads: it is what the page has drawn.
  let layer = layers - 1, head = heads > 1 ? -1 : 0;
  let plane = planeOf(layer, head);
  // What was picked stays when the pointer leaves; -1 is none.
  let picked = -1, pointed = -1, column = -1;

  if (layers > 1)
    choose("Layer", Array.from({ length: layers }, (_, at) => [String(at), at]), layer, (at) => {
      layer = at;
      draw();
      drawThumbs();
    });
  if (heads > 1)
    choose("Head", [["mean", -1], ...Array.from({ length: heads }, (_, at) => [String(at), at])], head, (at) => {
      head = at;
      draw();
    }, true);
  drawThumbs();
  follow();
  show();

  function planeOf(layer, head) {
    const size = rows * columns;
    const of = (head) => steps.subarray((layer * heads + head) * size, (layer * heads + head + 1) * size);
    if (head >= 0) return of(head);
    const mean = new Float64Array(size);
    for (let at = 0; at < heads; at++) of(at).forEach((step, i) => { mean[i] += step * step; });
    return mean.map((sum) => Math.sqrt(sum / heads));
  }

  function draw() {
    plane = planeOf(layer, head);
    fill(cells, plane, rows, columns);
    show();
  }

  function drawThumbs() {
    for (const { svg, at } of thumbs) {
      const small = pool(planeOf(layer, at), rows, columns);
      svg.setAttribute("viewBox", "0 0 " + small.columns + " " + small.rows);
      fill(svg, small.plane, small.rows, small.columns);
    }
  }

  function choose(name, options, chosen, pick, pictured) {
    const field = choices.appendChild(html("fieldset"));
    field.appendChild(html("legend", "", name));
    for (const [text, at] of options) {
      const label = field.appendChild(html("label"));
      const input = label.appendChild(html("input"));
      input.type = "radio";
      input.name = name + index;
      input.checked = at === chosen;
      input.addEventListener("change", () => pick(at));
      if (pictured) {
        const frame = label.appendChild(svg("svg", { class: "thumb", preserveAspectRatio: "none", "aria-hidden": "true" }));
        frame.append(svg("path", { class: "l0", d: "M0 0h999v999H0z" }), ...levels());
        thumbs.push({ svg: frame, at });
      }
      label.append(text);
    }
  }

  function follow() {
    const list = section.querySelector(".queries");
    const at = (event) => queries.indexOf(event.target.closest("button"));
    const turn = getComputedStyle(list).direction === "rtl" ? -1 : 1;
    queries[0].tabIndex = 0;
    list.addEventListener("pointerover", (event) => point(at(event), -1));
    list.addEventListener("pointerleave", () => point(-1, -1));
    list.addEventListener("focusin", (event) => {
      if (picked >= 0) queries[picked].tabIndex = -1;
      else queries[0].tabIndex = -1;
      picked = at(event);
      queries[picked].tabIndex = 0;
      show();
    });
    list.addEventListener("click", (event) => event.target.closest("button")?.focus());
    list.addEventListener("keydown", (event) => {
      const to = { ArrowRight: picked + turn, ArrowLeft: picked - turn, ArrowDown: picked + 1, ArrowUp: picked - 1, Home: 0, End: rows - 1 }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      queries[Math.min(Math.max(to, 0), rows - 1)].focus();
    });
    section.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || picked < 0) return;
      document.activeElement?.blur();
      queries.forEach((query, row) => { query.tabIndex = row === 0 ? 0 : -1; });
      picked = -1;
      show();
    });
    const cell = ({ clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(heat.getScreenCTM().inverse());
      const [row, column] = [Math.floor(y / heat.dataset.height), Math.floor(x / heat.dataset.width)];
      const inside = row >= 0 && row < rows && column < columns;
      return inside ? [row, Math.max(column, -1)] : [-1, -1];
    };
    heat.addEventListener("pointermove", (event) => point(...cell(event)));
    heat.addEventListener("pointerleave", () => point(-1, -1));
    heat.addEventListener("click", (event) => {
      const [row] = cell(event);
      if (row >= 0) queries[row].focus({ preventScroll: true });
    });
  }

  function point(row, at) {
    if (row === pointed && at === column) return;
    [pointed, column] = [row, at];
    show();
  }

  function show() {
    const row = pointed >= 0 ? pointed : picked;
    const looked = row < 0 ? null : plane.subarray(row * columns, (row + 1) * columns);
    if (!shared) queries.forEach((query, at) => { query.className = at === row ? "t on" : "t"; });
    keys.forEach((key, at) => {
      const level = looked ? levelOf(looked[at]) : 0;
      key.className = "t" + (level > 0 ? " l" + level : "") + (shared && at === row ? " on" : "");
    });
    mark(row);
    tell(row, looked);
  }

  // The row, and the labels that may have had no room.
  function mark(row) {
    cursor.replaceChildren();
    makeRoom(".rows", row, Number(heat.dataset.height));
    makeRoom(".columns", column, Number(heat.dataset.width));
    if (row < 0) return;
    const width = Number(heat.dataset.width), height = Number(heat.dataset.height);
    frame(0, row * height, columns * width, height);
    label("translate(-7 " + (row + 0.5) * height + ")", "end", ".35em", queries[row]);
    if (column < 0) return;
    const x = (column + 0.5) * width;
    frame(column * width, row * height, width, height);
    if ("slanted" in heat.dataset) label("translate(" + x + " -7) rotate(-45)", "start", "0", keys[column]);
    else label("translate(" + x + " -7)", "middle", "0", keys[column]);
  }

  // Hides the labels that are too near to that of a row or column.
  function makeRoom(group, at, size) {
    const every = Number(heat.querySelector(group).dataset.every);
    if (every === 1) return;
    heat.querySelectorAll(group + " text").forEach((text, index) => {
      const away = Math.abs(index * every - at) * size;
      const near = at >= 0 && away > 0 && away < 1.5 * Number(heat.dataset.font);
      text.setAttribute("visibility", near ? "hidden" : "visible");
    });
  }

  function frame(x, y, width, height) {
    cursor.append(svg("rect", { class: "frame", x, y, width, height }));
  }

  // On a ground that hides the labels it covers.
  function label(transform, anchor, dy, token) {
    const group = cursor.appendChild(svg("g", { transform }));
    const text = group.appendChild(svg("text", { "text-anchor": anchor, dy }, labelOf(token)));
    const { x, y, width, height } = text.getBBox();
    group.prepend(svg("rect", { class: "under", x: x - 2, y, width: width + 4, height }));
  }

  function tell(row, looked) {
    readout.replaceChildren();
    if (row < 0) {
      readout.append(html("p", "hint", "Point at a token, or at a row of the heat map, to see what it looks at."));
      return;
    }
    const say = readout.appendChild(html("p"));
    say.append(html("b", "", queries[row].textContent), " looks at");
    const order = [...looked.keys()].sort((a, b) => looked[b] - looked[a] || a - b);
    const listed = order.filter((at, place) => (place < LISTED && looked[at] > 0) || at === column);
    const list = readout.appendChild(html("ol"));
    for (const at of listed) {
      const weight = top * (looked[at] / STEPS) ** 2;
      const item = list.appendChild(html("li", at === column ? "here" : ""));
      const bar = html("span", "bar");
      bar.appendChild(html("i")).style.width = (100 * weight) / top + "%";
      item.append(html("span", "", keys[at].textContent), bar, html("span", "", percent(weight)));
    }
    if (listed.length === 0) list.append(html("li", "", "nothing"));
  }
}

function decode(text) {
  const steps = new Uint16Array(text.length / 2);
  for (let i = 0; i < steps.length; i++)
    steps[i] = 64 * codes[text.charCodeAt(2 * i)] + codes[text.charCodeAt(2 * i + 1)];
  return steps;
}

// Draws a plane of steps into the paths of its levels.
function fill(parent, plane, rows, columns) {
  const paths = Array(LEVELS + 1).fill("");
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < columns; ) {
      const from = x, level = levelOf(plane[y * columns + x]);
      while (x < columns && levelOf(plane[y * columns + x]) === level) x++;
      if (level > 0) paths[level] += "M" + from + " " + y + "h" + (x - from) + "v1H" + from + "z";
    }
  for (let level = 1; level <= LEVELS; level++)
    parent.querySelector(".l" + level).setAttribute("d", paths[level]);
}

// A small picture of a plane: the largest step of each block.
function pool(plane, rows, columns) {
  const [high, wide] = [Math.min(rows, THUMB), Math.min(columns, THUMB)];
  const small = new Float64Array(high * wide);
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < columns; x++) {
      const at = Math.floor((y * high) / rows) * wide + Math.floor((x * wide) / columns);
      small[at] = Math.max(small[at], plane[y * columns + x]);
    }
  return { plane: small, rows: high, columns: wide };
}

function levels() {
  return Array.from({ length: LEVELS }, (_, level) => svg("path", { class: "l" + (level + 1) }));
}

function levelOf(step) {
  return Math.round((step * LEVELS) / STEPS);
}

function percent(weight) {
  if (weight > 0 && weight < 0.0005) return "< 0.1 %";
  return weight === 0 ? "0 %" : (100 * weight).toFixed(1) + " %";
}

function labelOf(token) {
  const characters = [...token.textContent];
  return characters.length > 18 ? characters.slice(0, 17).join("") + "…" : token.textContent;
}

function html(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
})();
`;
