// Stores the text of fields with `data-draft` until the form is submitted, so that the text survives a reload and the
// end of the session. The drafts are only in the sessionStorage of this tab, so closing the tab deletes them.

function draftKey(field) {
  return `draft ${location.pathname} ${field.closest("form")?.getAttribute("action") ?? ""} ${field.name}`;
}

function restoreDrafts() {
  for (const field of document.querySelectorAll("[data-draft]")) {
    if (field.value === "") field.value = sessionStorage.getItem(draftKey(field)) ?? "";
  }
}
restoreDrafts();
document.addEventListener("swapped", restoreDrafts);
document.addEventListener("input", ({ target }) => {
  if ("draft" in target.dataset) sessionStorage.setItem(draftKey(target), target.value);
});
function dropDrafts(form) {
  for (const field of form.querySelectorAll("[data-draft]")) sessionStorage.removeItem(draftKey(field));
}
document.addEventListener("sent", ({ detail }) => detail.ok && dropDrafts(detail.form));
document.addEventListener("submit", (event) => event.defaultPrevented || dropDrafts(event.target));
