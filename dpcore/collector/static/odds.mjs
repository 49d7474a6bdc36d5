/**
 * How well answers can be guessed, in words, a picture and numbers, in the language that the respondent chooses.  The collector
 * computes the texts, and this module shows them.  Pages on other sites have no texts, and show nothing.
 */

import { make } from "./elements.mjs";

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
const { languages = [], first } = JSON.parse(at("odds-texts").textContent);

/** Whether there are texts to show. */
export const hasOdds = languages.length > 0;

/** The page's first language: the survey's, otherwise the first available one of the browser, otherwise English. */
function opening() {
  const available = (tag) => languages.find(({ texts }) => texts.code === tag || texts.code === tag.split("-")[0]);
  return available(first ?? "") ?? navigator.languages.map(available).find(Boolean) ?? languages[0];
}

/** The element for a question's sentence. */
export const chance = (name) => make("span", { id: `${name}-chance` });

/** Show the texts of a language; asked: the wording of a question. */
export function showOdds(asked, chosen = opening()) {
  if (!hasOdds) return;
  const { texts, questions, all, after } = chosen;
  at("odds").lang = texts.code;
  at("odds-title").textContent = texts.title;
  at("languages").replaceChildren(...languages.map((other) => {
    const button = make("button", { type: "button", lang: other.texts.code, textContent: other.texts.language,
      attributes: { "aria-pressed": String(other === chosen) } });
    button.addEventListener("click", () => {
      showOdds(asked, other);
      at("languages").children[languages.indexOf(other)].focus();
    });
    return button;
  }));
  at("odds-picture").replaceChildren(dots(all), make("p", { className: "legend" },
    make("span", { className: "guess", textContent: `${chosen.guess} ${texts.guessing}` }),
    make("span", { className: "more", textContent: `${all.dots - chosen.guess} ${texts.seeing}` })));
  at("odds-sentence").textContent = [all.sentence, after?.sentence ?? ""].join(" ").trim();
  at("odds-words").textContent = texts.paragraph_title;
  at("odds-paragraph").textContent = all.paragraph;
  at("odds-figures").textContent = texts.numbers_title;
  at("odds-numbers").replaceChildren(...table(chosen, asked));
  for (const [name, { sentence }] of Object.entries(questions)) {
    const place = at(`${name}-chance`); // missing if another question has its column
    if (place) Object.assign(place, { lang: texts.code, textContent: sentence });
  }
  at("odds").hidden = false;
}

/** A hundred dots: correct guesses without the report, further correct guesses with it, and the others. */
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
