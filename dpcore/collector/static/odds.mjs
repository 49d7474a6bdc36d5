/**
 * How well answers can be guessed, in words, a picture and numbers, in the language that a person chooses.  The collector computes
 * and words all of it; this module shows it.  Where it hands out nothing, a page elsewhere, nothing is shown.
 */

import { make } from "./elements.mjs";

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
const { languages = [], first } = JSON.parse(at("odds-texts").textContent);

/** Whether there is anything to tell. */
export const isTold = languages.length > 0;

/** The language that a page opens with: the survey's, else the first of the browser's that there is, else English. */
function opening() {
  const known = (tag) => languages.find(({ texts }) => texts.code === tag || texts.code === tag.split("-")[0]);
  return known(first ?? "") ?? navigator.languages.map(known).find(Boolean) ?? languages[0];
}

/** The place under a question where its sentence stands. */
export const chance = (name) => make("span", { id: `${name}-chance` });

/** Show everything; asked: how the page puts a question's name. */
export function tellOdds(asked, told = opening()) {
  if (!isTold) return;
  const { texts, questions, all, after } = told;
  at("odds").lang = texts.code;
  at("odds-title").textContent = texts.title;
  at("languages").replaceChildren(...languages.map((other) => {
    const button = make("button", { type: "button", lang: other.texts.code, textContent: other.texts.language,
      attributes: { "aria-pressed": String(other === told) } });
    button.addEventListener("click", () => {
      tellOdds(asked, other);
      at("languages").children[languages.indexOf(other)].focus();
    });
    return button;
  }));
  at("odds-picture").replaceChildren(dots(all), make("p", { className: "legend" },
    make("span", { className: "guess", textContent: `${told.guess} ${texts.guessing}` }),
    make("span", { className: "more", textContent: `${all.dots - told.guess} ${texts.seeing}` })));
  at("odds-sentence").textContent = [all.sentence, after?.sentence ?? ""].join(" ").trim();
  at("odds-words").textContent = texts.paragraph_title;
  at("odds-paragraph").textContent = all.paragraph;
  at("odds-figures").textContent = texts.numbers_title;
  at("odds-numbers").replaceChildren(...table(told, asked));
  for (const [name, { sentence }] of Object.entries(questions)) {
    const place = at(`${name}-chance`); // none where its column is asked with another
    if (place) Object.assign(place, { lang: texts.code, textContent: sentence });
  }
  at("odds").hidden = false;
}

/** A hundred dots: those that guessing has right, those that whoever sees the report has right beyond, and the others. */
function dots({ dots: filled, picture }) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 100 100", role: "img", "aria-label": picture })) svg.setAttribute(name, value);
  for (let i = 0; i < 100; i += 1) {
    const dot = document.createElementNS(SVG, "circle");
    const kind = i >= filled ? "none" : i < 50 ? "guess" : "more";
    const place = { class: kind, cx: 5 + 10 * (i % 10), cy: 5 + 10 * Math.floor(i / 10), r: kind === "none" ? 3.2 : 3.7 };
    for (const [name, value] of Object.entries(place)) dot.setAttribute(name, value);
    svg.append(dot);
  }
  return svg;
}

function table({ texts, questions, together }, asked) {
  const heads = texts.numbers;
  const columns = ["average", "worst", "ratio", "variation"];
  const row = (title, line) => make("tr", {}, make("th", { scope: "row", textContent: title }),
    ...columns.map((name) => make("td", { textContent: line[name], attributes: { "data-label": heads[name] } })));
  return [
    make("table", {},
      make("thead", {}, make("tr", {}, ...["question", ...columns].map((name) => make("th", { scope: "col", textContent: heads[name] })))),
      make("tbody", {}, ...Object.entries(questions).map(([name, line]) => row(asked({ name }), line)),
        ...together.map(([title, line]) => row(title, line)))),
    ...["formula_worst", "formula_average", "formula_all"].map((name) => make("p", { className: "small", textContent: heads[name] })),
  ];
}
