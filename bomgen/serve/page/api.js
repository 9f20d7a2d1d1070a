// The calls of bomgen serve.
import { languageCode } from "./dom.js";

const token = new URLSearchParams(location.search).get("token") || "";
const page = crypto.randomUUID();
let turn = 0;

/** An answer that is an error: `data` has error, message and perhaps more. */
export class CallError extends Error {
  constructor(data) {
    super(data.message || data.error);
    this.data = data;
  }
}

const address = (name) => `api/${name}?token=${encodeURIComponent(token)}`;

/** Send a request and `read` its answer. */
async function send(name, request, read) {
  try {
    return await read(await fetch(address(name), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ page, language: languageCode(), ...request }),
    }));
  } catch (error) {
    throw error instanceof CallError ? error : new CallError({ error: "lost" });
  }
}

/** The next turn: a call that has it ends those of its lane with an older one. Others wait for each other. */
export const newTurn = () => ++turn;

/** Call, and return the answer. Progress of a long call goes to `progress`. A call without a turn that a newer one has ended
    is made again: nothing has replaced it. */
export const call = (name, request = {}, progress = () => {}) => send(name, request, async (response) => {
  let answer;
  if ((response.headers.get("Content-Type") || "").includes("ndjson")) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value || "")).split("\n");
      rest = lines.pop();
      for (const line of lines.filter(Boolean)) {
        const data = JSON.parse(line);
        if ("progress" in data) progress(data.progress);
        else answer = data;
      }
      if (done) break;
    }
  } else answer = await response.json();
  if (answer?.error === "cancelled" && !request.turn) return call(name, request, progress);
  if (!answer || answer.error) throw new CallError(answer || { error: "lost" });
  return answer;
});

/** Ask for a file, and return its name and content. */
export const file = (name, request) => send(name, request, async (response) => {
  if (!response.ok) throw new CallError(await response.json());
  const named = /filename="(.*)"/.exec(response.headers.get("Content-Disposition") || "");
  return { name: named ? named[1] : "bomgen", content: await response.blob() };
});

/** Stop the long call; what it has found is its answer. */
export const stop = () => call("stop").catch(() => {});

// The processes of a page end with it; if it comes back, its next call starts them again.
addEventListener("pagehide", () => navigator.sendBeacon(address("leave"), new Blob([JSON.stringify({ page })], { type: "application/json" })));
