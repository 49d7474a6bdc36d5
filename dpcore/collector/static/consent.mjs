/**
 * The consent page: a form made from the scheme, a plain sentence about what leaves the device and what epsilon means, each label
 * that is sent in clear by its name, and the report itself before it is sent.  Answers live in the form alone.  All that is stored, on this device, is how many reports
 * left it for this survey and round, and when the last one did: each further one would tell more, and the page says so.
 */

import { make } from "./elements.mjs";
import { Client, INSTANTS, InvalidRecord, dateIn, isDate, fetchBundle, writeReport } from "./ldpflow.mjs";
import { chance, isTold, tellOdds } from "./odds.mjs";

const place = document.querySelector('meta[name="ldpflow"]').dataset;
const at = (id) => document.getElementById(id);
const wording = JSON.parse(at("wording").textContent);
const number = (value, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });
const isInstant = ({ unit }) => unit === INSTANTS;
const unitOf = (attribute) => (isDate(attribute) ? "" : attribute.unit);
const shown = (attribute, x) => (isDate(attribute) ? dateIn(x, attribute.unit) : number(x, 6));
const inWords = (name) => name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
const asked = ({ name, key, column }) => wording.questions?.[key ? column : name] ?? inWords(key ? column : name);
const idOf = ({ key, name }) => key ?? name; // of what is asked: an attribute, or a column of two that are asked together
const inARow = (names) => new Intl.ListFormat("en-GB").format(names.map((name) => name.replaceAll("_", " ")));
const MOST_RADIOS = 8;

let scheme;
let known = 0; // reports that had left when the person was last told of them
let drawn = { answers: null, report: null, text: null }; // the report of these answers, so that nobody draws twice

// ---- What this device remembers

const memory = () => `ldpflow ${scheme.digest} ${place.round}`;

/** What left this device before: {reports, last, arrived}; null where the browser lets a page keep nothing. */
function before() {
  try {
    const kept = JSON.parse(localStorage.getItem(memory()) ?? "{}");
    return { reports: Number.isSafeInteger(kept?.reports) && kept.reports > 0 ? kept.reports : 0, last: kept?.last, arrived: kept?.arrived === true };
  } catch (error) {
    return error instanceof SyntaxError ? { reports: 1, last: null, arrived: false } : null;
  }
}

/** Remember that a report leaves, or has arrived; false where the browser does not let us. */
function remember(arrived) {
  const reports = Math.max(known, before()?.reports ?? 0);
  try {
    localStorage.setItem(memory(), JSON.stringify({ reports, last: new Date().toISOString(), arrived }));
    return true;
  } catch {
    return false;
  }
}

/** Tell of what has left since the person was last told, and return whether anything has. */
function tellOfBefore() {
  const { reports, last, arrived } = before() ?? { reports: known };
  if (reports <= known) return false;
  const when = new Date(last);
  const on = Number.isNaN(when.valueOf()) || !last ? "" : ` on ${when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}`;
  const [these, many] = reports === 1 ? ["A report", "both"] : [`${reports} reports`, `all ${reports + 1}`];
  at("before-title").textContent = arrived ? "You have sent your report" : "Your report was on its way";
  at("before-when").textContent = arrived
    ? `${these} for this survey left this device${reports === 1 ? "" : ", the last"}${on}, and arrived. You need do nothing more.`
    : `${these} for this survey left this device${reports === 1 ? "" : ", the last"}${on}. Whether it arrived, this page does not know; it may have.`;
  at("before-cost").textContent =
    `If you answer again, a new report is drawn, and it tells more about you: whoever sees ${many} can become at most `
    + `${sureness((reports + 1) * totalEpsilon())} % sure, not ${sureness(totalEpsilon())} %, of one of two `
    + `${scheme.attributes.size > 1 ? "sets of answers" : "answers"} that seemed equally likely (ε = ${number((reports + 1) * totalEpsilon(), 2)}, `
    + `not ${number(totalEpsilon(), 2)}). It would also count you ${reports === 1 ? "twice" : `${reports + 1} times`}.`;
  for (const id of ["promise", "odds", "clear", "asking", "review", "sent"]) at(id).hidden = true;
  at("before").hidden = false;
  at("again").onclick = () => {
    known = reports;
    at("before").hidden = true;
    ask();
    at("send").disabled = at("back").disabled = false;
    scrollTo(0, 0);
    at("form").querySelector("input, select").focus();
  };
  return true;
}

// ---- What is promised

/** How sure one can become of one of two answers held equally likely, in per cent, rounded up. */
function sureness(epsilon) {
  const share = 100 / (1 + Math.exp(-epsilon));
  const digits = share < 99 ? 0 : share < 99.9 ? 1 : 2;
  return number(Math.min(Math.ceil(share * 10 ** digits) / 10 ** digits, 99.99), digits);
}

function totalEpsilon() {
  const sums = scheme.units.map((unit) => unit.reduce((sum, name) => sum + scheme.attributes.get(name).epsilon, 0));
  return scheme.reporting === "all" ? sums.reduce((a, b) => a + b) : Math.max(...sums);
}

function promise() {
  const total = totalEpsilon();
  at("title").textContent = document.title = wording.title ?? inWords(scheme.name);
  at("description").textContent = scheme.description ? `${scheme.description}.` : "";
  at("leaves").textContent =
    "What leaves is a report: a few whole numbers that this page draws by chance. Your answers only shift the odds."
    + (scheme.reporting === "one" && scheme.units.length > 1 ? " It is about one of the questions only, drawn by chance too." : "")
    + (inClear() ? ` Beside them go ${inClear()}, as you say ${scheme.labels.size > 1 ? "them" : "it"}.` : "")
    + " You will see it before it is sent. The survey learns about everyone together, not about you.";
  const also = inClear();
  const learned = `${also ? "Of all else, whoever sees this one report" : "From this one report, whoever sees it"} can learn this much and no more: of two `
    + (scheme.attributes.size > 1 ? "sets of answers" : "answers")
    + ` that seemed equally likely before${also ? `, ${also} known` : ""}, they can become at most ${sureness(total)} % sure of one. `
    + (scheme.attributes.size > 1 ? "For one question alone it is less, and is said there. " : "");
  at("means").textContent = `${isTold ? "" : learned}In the language of privacy: ε = ${number(total, 2)}${scheme.attributes.size > 1 ? " in all" : ""}. `
    + `A second report would tell as much again, so send one${before() ? "" : ": this browser lets the page remember nothing, so it cannot warn you"}.`;
  at("about").replaceChildren(
    "Made and checked on this device by ",
    make("code", { textContent: "ldpflow.mjs" }),
    ". Scheme ",
    make("code", { textContent: scheme.digest.slice(0, 16) }),
    ". That you took part, and when, is visible to whoever receives the report.",
    before() ? " This page remembers on this device that a report was sent, and when, and nothing else." : "",
  );
  at("about").hidden = false;
  ask();
}

/** The names of what is sent in clear, as words in a sentence; "" where nothing is. */
const inClear = () => inARow([...scheme.labels.keys()]);

/** Name every label, and what it tells. */
function tellOfLabels() {
  const names = inClear();
  if (!names) return;
  const [they, them, are, say] = scheme.labels.size > 1 ? ["they", "them", "are", "say"] : ["it", "it", "is", "says"];
  at("promise-title").textContent = `Your answers stay on this device, all but ${names}`;
  at("clear-title").textContent = `Not hidden: ${names}`;
  at("clear-why").textContent = `What you choose there is sent as it is, without any chance, and whoever receives the report can read ${them}. `
    + `So results can be shown by ${names}.`;
  at("clear-risk").textContent = `${they.replace(/^./, (letter) => letter.toUpperCase())} ${say} which group you belong to. Where few people are alike in `
    + `${scheme.labels.size > 1 ? "all of them" : "it"}, that may tell whose report this is. What is promised above is not promised of ${them}.`;
  at("unprotected").textContent = `But ${names} ${are} sent as you said ${them}, and nothing protects ${them}.`;
  at("never").textContent = `All your answers but ${names}`;
}

/** Show the form, and what is said of it. */
function ask() {
  for (const id of ["promise", "asking"]) at(id).hidden = false;
  at("odds").hidden = !isTold;
  at("clear").hidden = scheme.labels.size === 0;
}

// ---- The form

/** What is asked, a column once: attributes, and the columns of those that ask two together; id -> each. */
function questions() {
  const byColumn = new Map();
  for (const one of [...scheme.reported.values()].flatMap((attribute) => attribute.sides ?? [attribute])) {
    if (!byColumn.has(one.column)) byColumn.set(one.column, one);
  }
  return new Map([...byColumn.values()].map((one) => [idOf(one), one]));
}

/** How sure one can become of an answer: as the collector tells it, else by the epsilon that is promised. */
const sureOf = ({ name, epsilon }) => (isTold ? [chance(name), ` (ε\u00a0=\u00a0${number(epsilon, 2)})`]
  : [`At most ${sureness(epsilon)} % sure of one of two equally likely answers (ε = ${number(epsilon, 2)}).`]);

/** Two questions, of whose answers one report tells. */
function together(attribute) {
  const shown = questions();
  const here = attribute.sides.filter((side) => shown.has(side.key));
  const above = [...shown.values()].filter((one) => attribute.sides.some((side) => side.column === one.column) && !here.includes(one));
  const said = above.length ? `What you say to ${new Intl.ListFormat("en-GB").format(above.map((one) => `“${asked(one)}”`))} above counts here too. ` : "";
  const gives = make("p", { className: "gives", id: `${attribute.name}-gives`,
    textContent: `${said}One answer is drawn for both together. ` });
  gives.append(...sureOf(attribute));
  return make("fieldset", { className: "together", id: attribute.name, attributes: { "aria-describedby": `${attribute.name}-gives` } },
    make("legend", { textContent: asked(attribute) }), gives, ...here.map(question));
}

function question(attribute) {
  if (attribute.sides) return together(attribute);
  const name = idOf(attribute);
  const gives = make("p", {
    className: "gives",
    id: `${name}-gives`,
    textContent: attribute.type === "label" ? "Not hidden: this is sent as you say it."
      : bounds(attribute),
  });
  if (attribute.type !== "label" && !attribute.key) gives.append(...sureOf(attribute));
  const wrong = make("p", { className: "wrong", id: `${name}-wrong` });
  const open = attribute.type === "label" ? "open" : "";
  const described = { "aria-describedby": `${name}-gives ${name}-wrong` };
  if (!attribute.isNumber && attribute.categories.length <= MOST_RADIOS) {
    const choices = attribute.categories.map((label) => make("label", {},
      make("input", { type: "radio", name, value: label }), make("span", { textContent: nameOf(attribute, label) })));
    return make("fieldset", { className: open, id: name, attributes: described },
      make("legend", { textContent: asked(attribute) }), gives, make("div", { className: "choices" }, ...choices), wrong);
  }
  const id = `${name}-input`;
  const input = attribute.isNumber
    ? make("input", { id, name, attributes: described, ...(isDate(attribute) ? { type: isInstant(attribute) ? "datetime-local" : "date" } : { type: "text", inputMode: "decimal" }) })
    : make("select", { id, name, attributes: described }, make("option", { value: "", textContent: "Choose" }),
      ...attribute.categories.map((label) => make("option", { value: label, textContent: nameOf(attribute, label) })));
  const label = make("label", { htmlFor: id, textContent: asked(attribute) });
  const unit = make("span", { className: "unit", textContent: unitOf(attribute) });
  return make("div", { className: `field ${open}`, id: name }, label, gives, make("div", { className: "amount" }, input, unit), wrong);
}

const nameOf = (attribute, label) => (attribute.missing === "category" && label === "missing" ? "I would rather not say" : label);

/** The ranges of a number in words, where there are few; an edge is in the upper one. */
function ranges({ bins }) {
  const told = bins.map((edge) => number(edge, 6));
  const words = [`below ${told[0]}`, ...told.slice(1).map((edge, i) => `${told[i]} to below ${edge}`), `${told.at(-1)} and above`];
  return (words.length > MOST_RADIOS ? [words[0], words[1], "…", words.at(-1)] : words).join("; ");
}

const noun = (attribute) => (isInstant(attribute) ? "time" : isDate(attribute) ? "date" : "number");

function bounds(attribute) {
  if (!attribute.isNumber) return "";
  const mayStay = attribute.missing === "category" ? "Leave it empty if you would rather not say. " : "";
  if (attribute.bins) return `Your number counts as one of ${attribute.bins.length + 1} ranges: ${ranges(attribute)}. ${mayStay}`;
  const range = `${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}`;
  const outside = attribute.outside === "clip" ? `Anything outside ${range} counts as the nearer end. ` : `A ${noun(attribute)} from ${range}. `;
  const nearest = attribute.points ? `Your ${noun(attribute)} counts as the nearest of ${attribute.points.length} values. ` : "";
  return outside + nearest + mayStay;
}

/** The answers as a record: column -> what was chosen or written, '' where nothing was. */
function answers() {
  const data = new FormData(at("form"));
  const entries = [...questions()].map(([id, { column, isNumber, unit }]) => {
    const said = (data.get(id) ?? "").trim();
    if (isInstant({ unit }) && said) return [column, new Date(said).toISOString()]; // of the zone of this device
    return [column, isNumber ? said.replaceAll(/[,\s](?=\d{3}(\D|$))/g, "") : said];
  });
  return Object.fromEntries(entries);
}

function complain(error) {
  for (const id of questions().keys()) mark(id, "");
  if (!(error instanceof InvalidRecord)) throw error;
  const { column } = [...scheme.reported.values()].flatMap((each) => each.sides ?? [each]).find(({ name }) => name === error.attribute);
  const [id, attribute] = [...questions()].find(([, one]) => one.column === column);
  const isEmpty = answers()[column] === "";
  const expected = attribute.isNumber
    ? `Please write a ${noun(attribute)}${attribute.outside === "refuse" ? ` from ${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}` : ""}, such as ${example(attribute)}.`
    : "Please choose one.";
  mark(id, isEmpty ? `This one is still open. ${expected}` : expected);
  at(id).querySelector("input, select").focus();
}

const example = (attribute) => (isDate(attribute) ? dateIn((attribute.lower + attribute.upper) / 2, attribute.unit)
  : number(attribute.bins?.[0] ?? Number(((attribute.lower + attribute.upper) / 5).toPrecision(2)), 6));

function mark(name, text) {
  at(`${name}-wrong`).textContent = text;
  for (const input of at(name).querySelectorAll("input, select")) {
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

// ---- The report, before it is sent

function listed(words) {
  const shown = words.slice(0, 6).map((word) => `“${word}”`).join(", ");
  return words.length > 6 ? `${shown} and ${words.length - 6} more` : shown || "none";
}

/** What an answer of the report says, in words. */
function says(attribute, { level, values }) {
  const { categories, mechanism } = attribute;
  const scale = mechanism.levels > 1 ? `Scale ${level + 1} of ${mechanism.levels}, ` : "";
  const [low, high] = mechanism.ranges(level)[0];
  switch (attribute.mechanismName) {
    case "randomized_response": return `“${categories[values[0]]}”`;
    case "unary_encoding": return `Marks ${listed(categories.filter((_, i) => Math.floor(values[i >> 5] / 2 ** (i % 32)) % 2 === 1))}`;
    case "subset_selection": return `One of ${listed(values.map((value) => categories[value]))}, or none of them`;
    case "hadamard_response": return `Symbol ${values[0]} of ${high}`;
    case "local_hashing": return `Bin ${values[2]} of the hash ${values[0]} x + ${values[1]}`;
    case "crossed_wave": return `${["Of the place", "Of the product", "Of the first", "Of the second"][level]}, cell ${values[0] + 1} of ${high + 1}`;
    case "wavelet_laplace": return `${scale}${values.length} numbers with noise: ${values.slice(0, 2).map((v) => number(v).replace("-", "−")).join("; ")}${values.length > 2 ? "; …" : ""}`;
    default: return `${scale}cell ${values[0] + 1 - low} of ${high - low + 1}`.replace(/^./, (letter) => letter.toUpperCase());
  }
}

/** What somebody said, as the page shows it. */
function inOwnWords(attribute, said) {
  const words = attribute.isNumber && said && Number.isFinite(Number(said)) ? number(Number(said), 6) : said;
  return words ? `${words} ${unitOf(attribute)}`.trim() : "–";
}

function show({ report, text, answers: said }) {
  at("lines").replaceChildren(...[...scheme.reported.values()].map((attribute) => {
    const answer = report.answers.get(attribute.name);
    const own = (attribute.sides ?? [attribute]).map((one) => inOwnWords(one, said[one.column])).join("; ");
    if (attribute.type === "label") {
      return make("li", { className: "open" }, make("h3", { textContent: asked(attribute) }),
        make("div", { className: "stays" }, make("div", { className: "what", textContent: "Stays here" }), "Nothing"),
        make("div", { className: "leaves" }, make("div", { className: "what", textContent: "Is sent, not hidden" }),
          `“${nameOf(attribute, attribute.categories[answer.values[0]])}”`));
    }
    return make("li", {}, make("h3", { textContent: asked(attribute) }),
      make("div", { className: "stays" }, make("div", { className: "what", textContent: "Stays here" }), own),
      make("div", { className: "leaves" }, make("div", { className: "what", textContent: "Is sent" }),
        answer ? says(attribute, answer) : "Nothing: not this question"));
  }));
  at("bytes").textContent = text;
  at("size").textContent = `${text.length} letters: the scheme, a random number that lets it be counted once, and the answers`
    + `${inClear() ? `, ${inClear()} among them` : ""}.`;
  at("unsent").textContent = "";
  for (const id of ["asking", "promise", "odds", "clear"]) at(id).hidden = true;
  at("review").hidden = false;
  at("review-title").focus();
  scrollTo(0, 0);
}

async function prepare(event) {
  event.preventDefault();
  const said = answers();
  try {
    if (JSON.stringify(said) !== JSON.stringify(drawn.answers)) {
      const report = await new Client(scheme).report(said, place.round);
      drawn = { answers: said, report, text: writeReport(report, scheme) };
      at("send").disabled = false; // where another was refused for good
    }
    for (const id of questions().keys()) mark(id, "");
    show(drawn);
  } catch (error) {
    complain(error);
  }
}

async function send() {
  if (!drawn.leaves) {
    if (tellOfBefore()) return; // another tab has sent one
    known += 1;
    drawn.leaves = true;
  }
  remember(false); // before it leaves: where the answer is lost, the report may have arrived
  at("send").disabled = at("back").disabled = true;
  at("unsent").textContent = "";
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(place.reports, { method: "POST", headers, body: drawn.text, credentials: "omit" });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new NotTaken(answer.status, said.reason);
    at("arrived").textContent = said.answer === "already have it"
      ? "Your report had arrived before, and is counted once." : "Your report has arrived and is counted once.";
    at("kept").textContent = remember(true)
      ? "This device remembers that a report was sent." : "This browser lets the page remember nothing, so please do not answer again.";
    at("form").reset();
    for (const id of ["lines", "bytes"]) at(id).replaceChildren();
    at("review").hidden = true;
    at("sent").hidden = false;
    at("sent-title").focus();
    drawn = { answers: null, report: null, text: null };
  } catch (error) {
    at("unsent").textContent = error.isFinal
      ? `The survey does not take this report (${error.message}). Nothing of it was kept, and sending it again would not help.`
      : `It could not be sent (${error.message}). Trying again sends the same report, and it is counted once.`;
    at("send").disabled = error.isFinal ?? false;
    at("back").disabled = false;
  }
}

/** An answer that is not a receipt; final where the same report would get it again. */
class NotTaken extends Error {
  constructor(status, reason) {
    super(reason ? reason.replaceAll("_", " ") : `the collector answered ${status}`);
    this.isFinal = [413, 422].includes(status);
  }
}

function back() {
  at("review").hidden = true;
  ask();
  scrollTo(0, 0);
  at("form").querySelector("input, select").focus();
}

try {
  scheme = await fetchBundle(new URL(place.bundle, location.href));
  promise();
  tellOfLabels();
  const shown = questions();
  at("form").append(...[...scheme.reported.values()].filter((each) => each.sides || shown.has(each.name)).map(question),
    make("div", { className: "actions" }, make("button", { type: "submit", id: "prepare", textContent: "Show me my report" })),
    make("p", { className: "small", textContent: "It is drawn here and shown to you. Nothing is sent yet." }));
  tellOdds(asked);
  at("form").addEventListener("submit", prepare);
  at("form").addEventListener("input", ({ target }) => mark(target.name, ""));
  at("send").addEventListener("click", send);
  at("back").addEventListener("click", back);
  tellOfBefore();
  const look = () => at("before").hidden && at("sent").hidden && !at("send").disabled && tellOfBefore() && at("before-title").focus();
  addEventListener("storage", look); // another tab has sent one
  addEventListener("pageshow", look); // or did while this page lay in the browser's memory
} catch (error) {
  at("trouble").textContent = `The survey cannot be shown, and nothing has been sent: ${error.message}.`;
}
