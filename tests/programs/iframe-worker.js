// The site's search runs in a Worker, which browsers refuse to pages of a folder.  A frame of the page stands in for it.
// On its way there a question loses the words that say nothing, each of which would find all words that begin as it does.
const NOTHING = new Set(
  "a an and are as at be by can did do does for from have how i if in is it me my of on one or our should so that the there to was we what when where which who why with you your".split(
    " ",
  ),
);

window.Worker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    this.inside = frame.contentWindow;
    this.inside.document.open();
    this.inside.document.write("<!doctype html><body></body>");
    this.inside.document.close();
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.loaded = new Promise((done) => {
      const script = this.inside.document.createElement("script");
      script.src = url;
      script.onload = done;
      this.inside.document.body.appendChild(script);
    });
  }

  postMessage(message) {
    const data = typeof message.data === "string" ? { ...message, data: shortened(message.data) } : message;
    this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {}
};

function shortened(question) {
  const asked = question.replace(/^\s*what does (.+) mean\b/i, "$1"); // elsewhere a mean is a number
  const words = asked.replace(/[?!,;]/g, " ").split(/\s+/);
  return words.filter((word) => !NOTHING.has(word.toLowerCase())).join(" ") || question;
}
