// Pages are complete without this file. It draws the tables that are marked
// with data-chart as line charts (uPlot), and lets people choose a theme.
"use strict";

(function theme() {
  const root = document.documentElement;
  const saved = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = document.createElement("button");
  button.id = "theme";
  button.type = "button";
  button.className = "quiet";
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", "Switch to " + (dark() ? "light" : "dark") + " colours"); };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode: for this page only */ }
    label();
    document.dispatchEvent(new Event("themechange"));
  });
  label();
  document.querySelector(".top").append(button);
})();

document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

(function charts() {
  if (typeof uPlot === "undefined") return;
  const palettes = {
    light: ["#0b5a8c", "#b3402f", "#3f7d3a", "#7a4fa3", "#a86a00", "#1b7f86", "#8c3f6d", "#5b6770"],
    dark: ["#84c3f2", "#f2917f", "#8ccf84", "#c3a1ea", "#e6b45c", "#6fd0d6", "#e596c1", "#aab5bd"],
  };
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4]];
  const drawn = [];

  // read makes columns of numbers out of a table: first the days, then one
  // column per series; a row may carry a note.
  function read(table) {
    const names = [...table.tHead.rows[0].cells].slice(1).filter((c) => !c.hasAttribute("data-skip")).map((c) => c.textContent.trim());
    const data = [[], ...names.map(() => [])];
    const notes = [];
    for (const row of [...table.tBodies[0].rows].reverse()) {
      const day = Date.parse(row.cells[0].querySelector("time").dateTime) / 1000;
      data[0].push(day);
      names.forEach((_, i) => { const v = parseFloat(row.cells[i + 1].dataset.value ?? row.cells[i + 1].textContent); data[i + 1].push(Number.isFinite(v) ? v : null); });
      if (row.dataset.note) notes.push({ at: day, text: row.dataset.note });
    }
    return { names, data, notes };
  }

  function draw(entry) {
    const { host, table } = entry;
    entry.plot?.destroy();
    const { names, data, notes } = read(table);
    const style = getComputedStyle(document.body);
    const ink = style.color;
    const dark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const soft = dark ? "#a2acb5" : "#566069";
    const grid = { stroke: dark ? "#2d343a" : "#e3e0d9", width: 1 };
    const colors = palettes[dark ? "dark" : "light"];
    const unit = table.dataset.unit ?? "";
    const last = data[0].length - 1;
    // Lines that lie on an earlier one are dashed, so that both are seen.
    const covers = (i) => data.slice(1, i + 1).some((d) => d.filter((v, k) => v === data[i + 1][k]).length > .8 * d.length);
    entry.plot = new uPlot({
      width: host.clientWidth, height: 260, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1e3), "Etc/UTC"),
      cursor: { drag: { x: true, y: false } },
      scales: { y: { range: (_, lo, hi) => [0, Math.max(hi ?? 0, unit ? 1 : 2) * 1.08] } },
      axes: [
        { stroke: soft, grid: { show: false }, ticks: { stroke: grid.stroke } },
        { stroke: soft, grid, ticks: { show: false }, size: 52, values: (_, v) => v.map((x) => x + unit) },
      ],
      series: [
        { label: "Day", value: (_, v) => v == null ? "" : new Date(v * 1e3).toISOString().slice(0, 10) },
        ...names.map((label, i) => ({ label, stroke: colors[i % colors.length], width: 2, dash: covers(i) ? [9, 7] : dashes[Math.floor(i / colors.length) % dashes.length], points: { show: data[0].length < 3 }, value: (_, v) => v == null ? "–" : v + unit })),
      ],
      hooks: { ready: [(u) => { // the legend shows the latest day, and the one under the pointer
        u.setLegend({ idx: last });
        u.over.addEventListener("mouseleave", () => setTimeout(() => u.setLegend({ idx: last })));
      }], draw: [(u) => {
        const c = u.ctx;
        c.save();
        c.fillStyle = ink; c.strokeStyle = soft; c.setLineDash([3, 3]);
        for (const n of notes) {
          const x = u.valToPos(n.at, "x", true);
          if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
          c.beginPath(); c.moveTo(x, u.bbox.top); c.lineTo(x, u.bbox.top + u.bbox.height); c.stroke();
          c.beginPath(); c.arc(x, u.bbox.top + 4, 3 * devicePixelRatio, 0, 7); c.fill();
        }
        c.restore();
      }] },
    }, data, host);
  }

  for (const table of document.querySelectorAll("table[data-chart]")) {
    if (table.tBodies[0].rows.length < 2) continue;
    const host = document.createElement("div");
    host.className = "chart";
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", (table.caption?.textContent.trim() ?? "Chart") + " The same numbers are in the table below.");
    const details = table.closest("details");
    details.before(host);
    details.open = false;
    const entry = { host, table };
    drawn.push(entry);
    draw(entry);
  }
  let pending;
  const redraw = () => { cancelAnimationFrame(pending); pending = requestAnimationFrame(() => drawn.forEach(draw)); };
  addEventListener("resize", redraw);
  document.addEventListener("themechange", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
