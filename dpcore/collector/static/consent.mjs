/**
 * The consent page: a form made from the scheme, what leaves the device and what epsilon means, the labels that are sent unprotected,
 * and the report before it is sent.  Answers exist in the form only.  The page stores on this device how many reports were sent for
 * this survey and round, and when the last one was: each further report would reveal more, and the page says so.
 */

import { inWords, make, titleOf } from "./elements.mjs";
import { Client, InvalidRecord, cellOf, isDate, fetchBundle, writeReport } from "./ldpflow.mjs";
import { chance, hasOdds, showOdds } from "./odds.mjs";
import { described, formOf, number } from "./words.mjs";

const place = document.querySelector('meta[name="ldpflow"]').dataset;
const at = (id) => document.getElementById(id);
const wording = JSON.parse(at("wording").textContent);
const unitOf = (attribute) => (isDate(attribute) ? "" : attribute.unit);
const asked = (one) => wording.questions?.[one.key ? one.column : one.name] ?? titleOf(one);
const idOf = ({ key, name }) => key ?? name; // of a question: an attribute, or a column of a joint attribute

let scheme;
let known = 0; // sent reports that the page has shown to the respondent
let drawn = { answers: null, report: null, text: null }; // the report of these answers, which is drawn once

// ---- The memory of this device

const memory = () => `ldpflow ${scheme.digest} ${place.round}`;

/** The reports sent from this device: {reports, last, arrived}; null if the browser does not let pages store anything. */
function before() {
  try {
    const kept = JSON.parse(localStorage.getItem(memory()) ?? "{}");
    return { reports: Number.isSafeInteger(kept?.reports) && kept.reports > 0 ? kept.reports : 0, last: kept?.last, arrived: kept?.arrived === true };
  } catch (error) {
    return error instanceof SyntaxError ? { reports: 1, last: null, arrived: false } : null;
  }
}

/** Store that a report is being sent, or has arrived; false if the browser does not allow it. */
function remember(arrived) {
  const reports = Math.max(known, before()?.reports ?? 0);
  try {
    localStorage.setItem(memory(), JSON.stringify({ reports, last: new Date().toISOString(), arrived }));
    return true;
  } catch {
    return false;
  }
}

/** Show reports that were sent since the last time, and return whether there are any. */
function showSentBefore() {
  const { reports, last, arrived } = before() ?? { reports: known };
  if (reports <= known) return false;
  const when = new Date(last);
  const on = Number.isNaN(when.valueOf()) || !last ? "" : ` on ${when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}`;
  const [these, many] = reports === 1 ? ["A report", "both reports"] : [`${reports} reports`, `all ${reports + 1} reports`];
  at("before-title").textContent = arrived ? "You have sent your report" : "Your report may have been sent";
  at("before-when").textContent = arrived
    ? `${these} for this survey left this device${reports === 1 ? "" : ", the last"}${on}, and arrived. You need not do anything else.`
    : `${these} for this survey left this device${reports === 1 ? "" : ", the last"}${on}. This page does not know whether it arrived; it may have.`;
  at("before-cost").textContent =
    `If you answer again, a new report is drawn, and it reveals more about you. Anyone who sees ${many} can guess which of two equally likely `
    + `${scheme.attributes.size > 1 ? "sets of answers" : "answers"} is yours with at most ${certainty((reports + 1) * totalEpsilon())} % certainty, instead of `
    + `${certainty(totalEpsilon())} % (ε = ${number((reports + 1) * totalEpsilon(), 2)} instead of ${number(totalEpsilon(), 2)}). `
    + `You would also be counted ${reports === 1 ? "twice" : `${reports + 1} times`}.`;
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

// ---- The promise

/** The largest posterior probability of one of two equally likely answers, in per cent, rounded up. */
function certainty(epsilon) {
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
  at("title").textContent = document.title = wording.title ?? inWords(scheme.name).replace(/^./, (letter) => letter.toUpperCase());
  at("description").textContent = scheme.description ? `${scheme.description}.` : "";
  at("leaves").textContent =
    "Only a report leaves: a few whole numbers that this page draws at random. Your answers only change their probabilities."
    + (scheme.reporting === "one" && scheme.units.length > 1 ? " The report is about one question only, chosen at random." : "")
    + (unprotectedNames() ? ` It also contains ${unprotectedNames()}, exactly as you answer.` : "")
    + " You will see it before it is sent. The survey learns about all respondents together, not about you.";
  const also = unprotectedNames();
  const learned = `Anyone who sees this report${also ? ` and knows your ${also}` : ""} can guess which of two equally likely `
    + (scheme.attributes.size > 1 ? "sets of answers" : "answers")
    + ` is yours with at most ${certainty(total)} % certainty. `
    + (scheme.attributes.size > 1 ? "Each single question reveals less; the figure is shown at the question. " : "");
  at("means").textContent = `${hasOdds ? "" : learned}The privacy parameter is ε = ${number(total, 2)}${scheme.attributes.size > 1 ? " in total" : ""}. `
    + `A second report would reveal as much again, so send only one${before() ? "" : ": this browser lets the page store nothing, so it cannot warn you"}.`;
  at("about").replaceChildren(
    "Made and verified on this device by ",
    make("code", { textContent: "ldpflow.mjs" }),
    ". Scheme ",
    make("code", { textContent: scheme.digest.slice(0, 16) }),
    ". The receiver of the report can see that you took part, and when.",
    before() ? " This page stores on this device only that a report was sent, and when." : "",
  );
  at("about").hidden = false;
  ask();
}

/** The names of the labels as words in a sentence; "" if there are none. */
const unprotectedNames = () => new Intl.ListFormat("en-GB").format([...scheme.labels.values()].map(titleOf));

/** Show the labels, and what they reveal. */
function showLabels() {
  const names = unprotectedNames();
  if (!names) return;
  const [them, are] = scheme.labels.size > 1 ? ["them", "are"] : ["it", "is"];
  at("promise-title").textContent = `Your answers stay on this device, except ${names}`;
  at("clear-title").textContent = `Not hidden: ${names}`;
  at("clear-why").textContent = `Your answers there are sent unchanged, and the receiver of the report can read ${them}. `
    + `The survey uses ${them} to show results by ${names}.`;
  at("clear-risk").textContent = `The receiver learns from ${names} which group you belong to. In a small group, this may `
    + `identify your report. The promise above does not cover ${them}.`;
  at("unprotected").textContent = `But ${names} ${are} sent exactly as you answered, without protection.`;
  at("never").textContent = `All your answers except ${names}`;
}

/** Show the form and its explanations. */
function ask() {
  for (const id of ["promise", "asking"]) at(id).hidden = false;
  at("odds").hidden = !hasOdds;
  at("clear").hidden = scheme.labels.size === 0;
}

// ---- The form

/** The questions, each column once: attributes, and the columns of joint attributes; id -> question. */
function questions() {
  const byColumn = new Map();
  for (const one of [...scheme.reported.values()].flatMap((attribute) => attribute.sides ?? [attribute])) {
    if (!byColumn.has(one.column)) byColumn.set(one.column, one);
  }
  return new Map([...byColumn.values()].map((one) => [idOf(one), one]));
}

/** The odds of an answer: the collector's sentence, otherwise the figure that epsilon promises. */
const oddsOf = ({ name, epsilon }) => (hasOdds ? [chance(name), ` (ε\u00a0=\u00a0${number(epsilon, 2)})`]
  : [`At most ${certainty(epsilon)} % certainty about one of two equally likely answers (ε = ${number(epsilon, 2)}).`]);

/** The two questions of a joint attribute, which has one report. */
function together(attribute) {
  const shown = questions();
  const here = attribute.sides.filter((side) => shown.has(side.key));
  const above = [...shown.values()].filter((one) => attribute.sides.some((side) => side.column === one.column) && !here.includes(one));
  const note = above.length ? `Your answer to ${new Intl.ListFormat("en-GB").format(above.map((one) => `“${asked(one)}”`))} above is used here too. ` : "";
  const gives = make("p", { className: "gives", id: `${attribute.name}-gives`,
    textContent: `${note}One answer is drawn for both together. ` });
  gives.append(...oddsOf(attribute));
  return make("fieldset", { className: "together", id: attribute.name, attributes: { "aria-describedby": `${attribute.name}-gives` } },
    make("legend", { textContent: asked(attribute) }), gives, ...here.map(question));
}

function question(attribute) {
  if (attribute.sides) return together(attribute);
  const [name, form] = [idOf(attribute), formOf(attribute)];
  const gives = make("p", {
    className: "gives",
    id: `${name}-gives`,
    textContent: attribute.type === "label" ? "Not hidden: this is sent as you answer it."
      : form.hint(attribute),
  });
  if (attribute.type !== "label" && !attribute.key) gives.append(...oddsOf(attribute));
  const wrong = make("p", { className: "wrong", id: `${name}-wrong`, attributes: form.isChecked ? { "aria-live": "polite" } : {} });
  const open = attribute.type === "label" ? "open" : "";
  const described = { "aria-describedby": `${name}-gives ${name}-wrong` };
  const type = form.control(attribute);
  if (type === "checkbox" || type === "radio") {
    const choices = attribute.categories.map((label) => make("label", {},
      make("input", { type, name, value: label }), make("span", { textContent: nameOf(attribute, label) })));
    return make("fieldset", { className: open, id: name, attributes: described },
      make("legend", { textContent: asked(attribute) }), gives, make("div", { className: "choices" }, ...choices), wrong);
  }
  const id = `${name}-input`;
  const input = type === "input"
    ? make("input", { id, name, attributes: described, ...form.input(attribute) })
    : make("select", { id, name, attributes: described }, make("option", { value: "", textContent: "Choose" }),
      ...attribute.categories.map((label) => make("option", { value: label, textContent: nameOf(attribute, label) })));
  const label = make("label", { htmlFor: id, textContent: asked(attribute) });
  const unit = make("span", { className: "unit", textContent: unitOf(attribute) });
  return make("div", { className: `field ${open}`, id: name }, label, gives, make("div", { className: "amount" }, input, unit), wrong);
}

const nameOf = ({ missing, titles }, label) => titles?.get(label)
  ?? (missing === "category" && label === "missing" ? "I would rather not say" : label);

/** The answers as a record: column -> the chosen or written text, '' if empty; the list of chosen options of a set. */
function answers() {
  const data = new FormData(at("form"));
  return Object.fromEntries([...questions()].map(([id, one]) => [one.column, formOf(one).answer(data.getAll(id), one)]));
}

function complain(error) {
  for (const id of questions().keys()) mark(id, "");
  if (!(error instanceof InvalidRecord)) throw error;
  const { column } = [...scheme.reported.values()].flatMap((each) => each.sides ?? [each]).find(({ name }) => name === error.attribute);
  const [id, attribute] = [...questions()].find(([, one]) => one.column === column);
  mark(id, `${answers()[column] === "" ? "This question is not answered yet. " : ""}${formOf(attribute).wanted(attribute)}`);
  at(id).querySelector("input, select").focus();
}

/** Mark an answer that is wrong while it is given. */
function judge({ target: { name } }) {
  const attribute = questions().get(name);
  const answer = answers()[attribute.column];
  try {
    if (formOf(attribute).isChecked && answer !== "") cellOf(attribute, { [attribute.column]: answer });
    mark(name, "");
  } catch {
    mark(name, formOf(attribute).wanted(attribute));
  }
}

function mark(name, text) {
  at(`${name}-wrong`).textContent = text;
  for (const input of at(name).querySelectorAll("input, select")) {
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

// ---- The report, before it is sent

/** The respondent's own answer as the page shows it. */
function inOwnWords(attribute, answer) {
  const words = formOf(attribute).inOwnWords(attribute, answer);
  return words ? `${words} ${unitOf(attribute)}`.trim() : "–";
}

function show({ report, text, answers: own }) {
  at("lines").replaceChildren(...[...scheme.reported.values()].map((attribute) => {
    const answer = report.answers.get(attribute.name);
    const words = (attribute.sides ?? [attribute]).map((one) => inOwnWords(one, own[one.column])).join("; ");
    if (attribute.type === "label") {
      return make("li", { className: "open" }, make("h3", { textContent: asked(attribute) }),
        make("div", { className: "stays" }, make("div", { className: "what", textContent: "Stays here" }), "Nothing"),
        make("div", { className: "leaves" }, make("div", { className: "what", textContent: "Is sent, not hidden" }),
          `“${nameOf(attribute, attribute.categories[answer.values[0]])}”`));
    }
    return make("li", {}, make("h3", { textContent: asked(attribute) }),
      make("div", { className: "stays" }, make("div", { className: "what", textContent: "Stays here" }), words),
      make("div", { className: "leaves" }, make("div", { className: "what", textContent: "Is sent" }),
        answer ? described(attribute, answer) : "Nothing: not this question"));
  }));
  at("bytes").textContent = text;
  at("size").textContent = `${text.length} characters: the scheme, a random number so that the report is counted once, and the answers`
    + `${unprotectedNames() ? `, including ${unprotectedNames()}` : ""}.`;
  at("unsent").textContent = "";
  for (const id of ["asking", "promise", "odds", "clear"]) at(id).hidden = true;
  at("review").hidden = false;
  at("review-title").focus();
  scrollTo(0, 0);
}

async function prepare(event) {
  event.preventDefault();
  const record = answers();
  try {
    if (JSON.stringify(record) !== JSON.stringify(drawn.answers)) {
      const report = await new Client(scheme).report(record, place.round);
      drawn = { answers: record, report, text: writeReport(report, scheme) };
      at("send").disabled = false; // it is disabled after a final refusal
    }
    for (const id of questions().keys()) mark(id, "");
    show(drawn);
  } catch (error) {
    complain(error);
  }
}

async function send() {
  if (!drawn.leaves) {
    if (showSentBefore()) return; // another tab has sent one
    known += 1;
    drawn.leaves = true;
  }
  remember(false); // before sending: if the response is lost, the report may still have arrived
  at("send").disabled = at("back").disabled = true;
  at("unsent").textContent = "";
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(place.reports, { method: "POST", headers, body: drawn.text, credentials: "omit" });
    const receipt = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new NotTaken(answer.status, receipt.reason);
    at("arrived").textContent = receipt.answer === "already have it"
      ? "Your report had arrived before, and is counted once." : "Your report has arrived and is counted once.";
    at("kept").textContent = remember(true)
      ? "This device remembers that a report was sent." : "This browser lets the page store nothing, so please do not answer again.";
    at("form").reset();
    for (const id of ["lines", "bytes"]) at(id).replaceChildren();
    at("review").hidden = true;
    at("sent").hidden = false;
    at("sent-title").focus();
    drawn = { answers: null, report: null, text: null };
  } catch (error) {
    at("unsent").textContent = error.isFinal
      ? `The survey refused this report (${error.message}). It was not stored, and sending it again would not help.`
      : `The report could not be sent (${error.message}). If you try again, the same report is sent and counted once.`;
    at("send").disabled = error.isFinal ?? false;
    at("back").disabled = false;
  }
}

/** A response that is not a receipt; final if the same report would be refused again. */
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
  showLabels();
  const shown = questions();
  at("form").append(...[...scheme.reported.values()].filter((each) => each.sides || shown.has(each.name)).map(question),
    make("div", { className: "actions" }, make("button", { type: "submit", id: "prepare", textContent: "Show me my report" })),
    make("p", { className: "small", textContent: "The report is made here and shown to you. Nothing is sent yet." }));
  showOdds(({ name }) => asked(scheme.attributes.get(name)));
  at("form").addEventListener("submit", prepare);
  at("form").addEventListener("input", judge);
  at("send").addEventListener("click", send);
  at("back").addEventListener("click", back);
  showSentBefore();
  const look = () => at("before").hidden && at("sent").hidden && !at("send").disabled && showSentBefore() && at("before-title").focus();
  addEventListener("storage", look); // another tab has sent one
  addEventListener("pageshow", look); // or did so while this page was in the browser's cache
} catch (error) {
  at("trouble").textContent = `The survey cannot be shown, and nothing has been sent: ${error.message}.`;
}
