// One dialog, which the tools fill.
import { byId, complaint, word } from "./dom.js";

const dialog = byId("dialog"), failed = byId("dialog-failed");
let whenClosed = () => {};
byId("close").onclick = () => dialog.close();
dialog.addEventListener("close", () => { whenClosed(); byId("dialog-body").replaceChildren(); });

export function openDialog(title, ...content) {
  byId("dialog-title").textContent = title;
  byId("close").textContent = word("close");
  byId("dialog-body").replaceChildren(...content);
  complain(null);
  whenClosed = () => {};
  if (!dialog.open) dialog.showModal();
}

/** Do something when the dialog is closed, such as stopping what runs. */
export const onClose = (action) => { whenClosed = action; };
export const closeDialog = () => dialog.close();

/** Say in the dialog, which hides the rest of the page, what went wrong; with null nothing any more. */
export function complain(error) {
  failed.textContent = error ? complaint(error) : "";
}
