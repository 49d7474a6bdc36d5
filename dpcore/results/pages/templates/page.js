// Shows the row of a picture's table that is pointed at.  Without this the table says the same.
"use strict";
for (const figure of document.querySelectorAll("figure[data-rows]")) {
  const along = figure.dataset.axis, frame = figure.querySelector(".frame");
  const rows = document.getElementById(figure.dataset.rows).tBodies[0].rows;
  const mark = make("mark"), tip = make("tip");

  function make(name) {
    const made = document.createElement("div");
    made.className = `${name} ${along}`;
    made.hidden = true;
    made.setAttribute("aria-hidden", "true");
    return frame.appendChild(made);
  }

  function lines(row) {
    const told = [];
    for (const cell of row.cells) {
      const text = cell.textContent.trim(), label = cell.dataset.label;
      if (!text || cell.matches(".trend")) continue;
      if (label || !told.length) told.push(label ? `${label} ${text}` : text);
      else told[told.length - 1] += ` ${text}`;
    }
    return told;
  }

  function show(event) {
    const drawn = [...frame.children].find(one => one.dataset.at && one.offsetHeight);  // wide or narrow
    const at = drawn.dataset.at.split(" ").map(Number);
    const box = frame.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
    const here = along === "x" ? x : y;
    const nearest = at.reduce((best, place, n) => Math.abs(place - here) < Math.abs(at[best] - here) ? n : best, 0);
    tip.replaceChildren(...lines(rows[nearest]).map(text => {
      const line = document.createElement("div");
      line.textContent = text;
      return line;
    }));
    tip.hidden = mark.hidden = false;
    mark.style[along === "x" ? "left" : "top"] = `${100 * at[nearest]}%`;
    const left = (along === "x" ? at[nearest] : x) * box.width, top = (along === "x" ? y : at[nearest]) * box.height;
    const flips = left + 14 + tip.offsetWidth > box.width;
    tip.style.left = `${Math.max(0, flips ? left - 14 - tip.offsetWidth : left + 14)}px`;
    tip.style.top = `${Math.max(0, Math.min(top + 14, box.height - tip.offsetHeight))}px`;
  }

  const hide = () => { tip.hidden = mark.hidden = true; };
  frame.addEventListener("pointermove", show);
  frame.addEventListener("pointerdown", show);
  frame.addEventListener("pointerleave", hide);
  document.addEventListener("keydown", event => { if (event.key === "Escape") hide(); });
}
