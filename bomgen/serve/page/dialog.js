// One dialog, which the tools fill.
import { byId, word } from "./dom.js";

const dialog = byId("dialog");
let whenClosed = () => {};
byId("close").onclick = () => dialog.close();
dialog.addEventListener("close", () => { whenClosed(); byId("dialog-body").replaceChildren(); });

export function openDialog(title, ...content) {
  byId("dialog-title").textContent = title;
  byId("close").textContent = word("close");
  byId("dialog-body").replaceChildren(...content);
  whenClosed = () => {};
  if (!dialog.open) dialog.showModal();
}

/** Do something when the dialog is closed, such as stopping what runs. */
export const onClose = (action) => { whenClosed = action; };
export const closeDialog = () => dialog.close();
