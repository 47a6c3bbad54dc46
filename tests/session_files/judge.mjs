// What pi's own reader makes of a session file: `node judge.mjs PI_PACKAGE FILE`. It may write to the file as pi does.
import { pathToFileURL } from "node:url";

const [pi, file] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(`${pi}/dist/index.js`));
const session = SessionManager.open(file);
const entries = session.getEntries();
const labels = entries.map((entry) => [entry.id, session.getLabel(entry.id)]).filter(([, label]) => label);
const context = session.buildSessionContext().messages.map((message) => {
  const { content = message.summary ?? "" } = message;
  return typeof content === "string" ? content : content.map((block) => block.text ?? "").join("");
});
console.log(
  JSON.stringify({
    id: session.getSessionId(),
    parents: Object.fromEntries(entries.map((entry) => [entry.id, entry.parentId])),
    leaf: session.getLeafId(),
    path: session.getBranch().map((entry) => entry.id),
    labels: Object.fromEntries(labels),
    name: session.getSessionName() ?? null,
    context,
  }),
);
