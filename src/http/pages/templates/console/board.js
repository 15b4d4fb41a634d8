// The board of a role: keys to walk over the cards, selection, and drag. Every act is a button of the board's form, so
// this module only decides which cards the form names. Without a selection, the form names the current card.

const board = document.getElementById("board");
const boardForm = document.getElementById("decide");

if (board) {
  const DRAG_PIXELS_MIN = 6;
  const SCROLL_ZONE_PIXELS = 48;
  const SCROLL_PIXELS_MAX = 18;
  let current = null;
  /** The only card that the form names, even if others are selected. */
  let only = null;

  const cardOf = (element) => element?.closest?.("#board .card") ?? null;
  const linkOf = (card) => card.querySelector("a[id]");
  const boxOf = (card) => card.querySelector("input");
  const cardsOf = (column) => [...column.querySelectorAll(".card")];
  const shownColumns = () => [...board.querySelectorAll(".column")].filter(isVisible);
  const selectedCards = () => [...board.querySelectorAll(".card input:checked")].map(cardOf);

  const currentCard = () => {
    const focused = cardOf(document.activeElement);
    if (focused) current = focused;
    return current?.isConnected ? current : null;
  };
  const focusCard = (card) => {
    if (!card) return;
    current = card;
    linkOf(card).focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const firstCard = () => shownColumns().map((column) => column.querySelector(".card")).find(Boolean);

  /** The card `distance` places after a card in its column. */
  const beside = (card, distance) => {
    const cards = cardsOf(card.closest(".column"));
    return cards[cards.indexOf(card) + distance];
  };
  const walk = (distance) => {
    const card = currentCard();
    focusCard(card ? beside(card, distance) : firstCard());
  };
  /** Moves the focus to the same height of the nearest column with cards. */
  const cross = (step) => {
    const card = currentCard();
    if (!card) return focusCard(firstCard());
    const columns = shownColumns();
    const height = cardsOf(card.closest(".column")).indexOf(card);
    for (let index = columns.indexOf(card.closest(".column")) + step; columns[index]; index += step) {
      const cards = cardsOf(columns[index]);
      if (cards.length) return focusCard(cards[Math.min(height, cards.length - 1)]);
    }
  };

  const showSelected = () => {
    const output = document.getElementById("selected");
    const count = selectedCards().length;
    if (output) output.textContent = count ? output.dataset.text.replace("{count}", count) : "";
  };
  const select = (card, isSelected = !boxOf(card).checked) => {
    boxOf(card).checked = isSelected;
    showSelected();
  };
  const selectAndWalk = (distance) => {
    const card = currentCard();
    if (card && boxOf(card)) select(card, true);
    walk(distance);
    if (currentCard() && boxOf(current)) select(current, true);
  };

  const { next, previous, left, right, choose, more } = board.dataset;
  addKey("j", next, () => walk(1));
  addKey("k", previous, () => walk(-1));
  addKey("ArrowDown", next, () => walk(1));
  addKey("ArrowUp", previous, () => walk(-1));
  addKey("ArrowRight", right, () => cross(1));
  addKey("ArrowLeft", left, () => cross(-1));
  if (boardForm) {
    addKey("x", choose, () => currentCard() && boxOf(current) && select(current));
    addKey("J", more, () => selectAndWalk(1));
    addKey("K", more, () => selectAndWalk(-1));
  }
  board.addEventListener("focusin", currentCard);
  board.addEventListener("change", showSelected);
  document.addEventListener("swapped", () => {
    showSelected();
    // The current card may have left the page.
    if (document.activeElement === document.body && !document.querySelector("dialog[open]")) focusCard(firstCard());
  });

  /** The cards that the form names. */
  const namedCards = () => {
    const selected = selectedCards();
    if (only) return [only];
    return selected.length || !currentCard() ? selected : [current];
  };
  /** The card that has the focus after the named cards have left. */
  const cardAfter = (named) => {
    const from = named.includes(current) ? current : named.at(-1);
    const cards = cardsOf(from.closest(".column"));
    const isStaying = (card) => !named.includes(card);
    const index = cards.indexOf(from);
    return cards.slice(index).find(isStaying) ?? cards.slice(0, index).findLast(isStaying);
  };

  boardForm?.addEventListener("submit", (event) => {
    if (namedCards().length) return;
    event.preventDefault();
    focusCard(firstCard());
  }, true);
  boardForm?.addEventListener("formdata", ({ formData }) => {
    const named = namedCards();
    formData.delete("card");
    for (const card of named) formData.append("card", boxOf(card).value);
    const after = named.length && cardAfter(named);
    if (after) formData.set("next", linkOf(after).id);
  });

  // Drag with the mouse or a pen. On touch screens, a finger scrolls, and the menu of the card moves it.
  let drag = null;

  const columnAt = (x, y) => document.elementFromPoint(x, y)?.closest("#board .column");
  /** How far to scroll when the pointer is this near to the start or the end of a box. */
  const pull = (position, start, end) => {
    const near = Math.max(start + SCROLL_ZONE_PIXELS - position, 0) - Math.max(position - end + SCROLL_ZONE_PIXELS, 0);
    return -Math.max(-1, Math.min(1, near / SCROLL_ZONE_PIXELS)) * SCROLL_PIXELS_MAX;
  };
  const scrollNear = () => {
    if (!drag?.ghost) return;
    const bounds = board.getBoundingClientRect();
    board.scrollLeft += pull(drag.x, bounds.left, bounds.right);
    const list = columnAt(drag.x, drag.y)?.querySelector(".cards");
    if (list) {
      const { top, bottom } = list.getBoundingClientRect();
      list.scrollTop += pull(drag.y, top, bottom);
    }
    requestAnimationFrame(scrollNear);
  };
  const follow = () => {
    drag.ghost.style.translate = `${drag.x - drag.dx}px ${drag.y - drag.dy}px`;
    const over = columnAt(drag.x, drag.y);
    board.querySelector(".column.over")?.classList.remove("over");
    if (over && over !== drag.card.closest(".column") && (over.dataset.step || "hire" in over.dataset)) over.classList.add("over");
  };
  const lift = () => {
    const bounds = drag.card.getBoundingClientRect();
    drag.dx = drag.startX - bounds.left;
    drag.dy = drag.startY - bounds.top;
    drag.ghost = drag.card.cloneNode(true);
    drag.ghost.removeAttribute("id");
    drag.ghost.inert = true;
    drag.ghost.classList.add("ghost");
    drag.ghost.style.width = `${bounds.width}px`;
    document.body.append(drag.ghost);
    drag.card.classList.add("lifted");
    getSelection()?.removeAllRanges();
    requestAnimationFrame(scrollNear);
  };
  const drop = () => {
    const over = board.querySelector(".column.over");
    over?.classList.remove("over");
    drag?.card.classList.remove("lifted");
    drag?.ghost?.remove();
    drag = null;
    return over;
  };
  const moveTo = (card, column) => {
    if ("hire" in column.dataset) {
      const back = encodeURIComponent(location.pathname);
      return location.assign(`${board.dataset.applications}/${card.id.slice(2)}/hire?back=${back}`);
    }
    only = boxOf(card).checked ? null : card;
    current = card;
    const button = document.createElement("button");
    button.name = "to";
    button.value = column.dataset.step;
    button.hidden = true;
    boardForm.append(button);
    boardForm.requestSubmit(button);
    button.remove();
    only = null;
  };

  if (boardForm) {
    board.addEventListener("dragstart", (event) => event.preventDefault());
    board.addEventListener("pointerdown", (event) => {
      const card = cardOf(event.target);
      if (!card || !boxOf(card) || event.button !== 0 || event.pointerType === "touch" || event.target.closest("input, .more")) return;
      drag = { card, startX: event.clientX, startY: event.clientY, x: event.clientX, y: event.clientY };
    });
    addEventListener("pointermove", (event) => {
      if (!drag) return;
      drag.x = event.clientX;
      drag.y = event.clientY;
      if (!drag.ghost && Math.hypot(drag.x - drag.startX, drag.y - drag.startY) >= DRAG_PIXELS_MIN) lift();
      if (drag.ghost) follow();
    });
    addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { card, ghost } = drag;
      const column = drop();
      if (!ghost) return;
      // The click that ends a drag must not open the candidate.
      const ignore = (click) => click.preventDefault();
      addEventListener("click", ignore, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", ignore, { capture: true }), 0);
      if (column) moveTo(card, column);
      event.preventDefault();
    });
    addEventListener("pointercancel", drop);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && drag?.ghost) drop();
    });
  }
}
