// The board of a role: keys that move the focus from card to card, selection, and dragging. The buttons of the bar send
// the board's form, and dropping a card on a step sends the same form. This module decides which cards the form names.
// Without a selection, the form names the current card. If a card is dropped on the column of hired candidates, the
// page for hiring the candidate opens instead.

const board = document.getElementById("board");
const boardForm = document.getElementById("decide");

if (board) {
  let current = null;
  /** The dropped card, if it was not selected. The form then names only this card, even if others are selected. */
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

  /** The card `distance` positions after a card in its column. */
  const beside = (card, distance) => {
    const cards = cardsOf(card.closest(".column"));
    return cards[cards.indexOf(card) + distance];
  };
  const walk = (distance) => {
    const card = currentCard();
    focusCard(card ? beside(card, distance) : firstCard());
  };
  /** Moves the focus to the nearest column with cards on the right (`step` is 1) or on the left (`step` is -1): to the
      card at the same position or, if the column has fewer cards, to its last card. */
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
  /** The ids of the other cards in the column of the card with the focus: first those below it, then those above it. */
  let around = [];
  document.addEventListener("swapping", () => {
    const card = cardOf(document.activeElement);
    const cards = card ? cardsOf(card.closest(".column")) : [];
    const index = cards.indexOf(card);
    around = [...cards.slice(index + 1), ...cards.slice(0, index).reverse()].map(({ id }) => id);
  });
  document.addEventListener("swapped", ({ detail }) => {
    showSelected();
    // The current card may have left the page. Changes by others move the focus only if they removed the
    // element that had it.
    if (document.activeElement !== document.body || document.querySelector("dialog[open]")) return;
    if (detail.isLive && !detail.isFocusLost) return;
    focusCard(around.map((id) => document.getElementById(id)).find(Boolean) ?? firstCard());
  });

  /** The cards that the form names. */
  const namedCards = () => {
    const selected = selectedCards();
    if (only) return [only];
    return selected.length || !currentCard() ? selected : [current];
  };
  /** The card that gets the focus after the named cards have left. */
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

  const columnAt = (x, y) => document.elementFromPoint(x, y)?.closest("#board .column");
  const moveTo = (card, column) => {
    if ("hire" in column.dataset) {
      const back = encodeURIComponent(location.pathname);
      return location.assign(`${board.dataset.applications}/${card.id.slice(2)}/hire?back=${back}`);
    }
    only = boxOf(card).checked ? null : card;
    current = card;
    sendWith(boardForm, "to", column.dataset.step);
    only = null;
  };

  if (boardForm) {
    dragItems(board, {
      itemOf: (element) => {
        const card = cardOf(element);
        return card && boxOf(card) && !element.closest("input, .more") ? card : null;
      },
      targetOf: ({ item, x, y }) => {
        const column = columnAt(x, y);
        const isTarget = column && column !== item.closest(".column") && (column.dataset.step || "hire" in column.dataset);
        return isTarget ? column : null;
      },
      scrollersAt: (x, y) => [board, columnAt(x, y)?.querySelector(".cards")],
      drop: moveTo,
    });
  }
}
