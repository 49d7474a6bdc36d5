/** What the browser's client says of bundles: {name: {file: base64}} -> {name: message}, "" of one that it opens. */
import * as ldp from "./ldpflow.mjs";

export async function openAll(bundles) {
  const said = {};
  for (const [name, files] of Object.entries(bundles)) {
    try {
      await ldp.openBundle(async (file) => Uint8Array.from(atob(files[file]), (letter) => letter.charCodeAt(0)));
      said[name] = "";
    } catch (error) {
      said[name] = error instanceof ldp.SchemeError ? error.message : `not a SchemeError: ${error.stack}`;
    }
  }
  return said;
}
