// Shows the buttons with `data-copy="ID"`, which copy the value of the field with this id. If the browser refuses, for
// example outside a secure context, the text of the field remains selected, so that the user can copy it.
document.querySelectorAll("[data-copy]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      say(button.dataset.copied);
    } catch {
      field.focus();
    }
  });
});
