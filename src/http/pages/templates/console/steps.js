// The steps of a role: people drag a step to another position. Dropping a step sends the form that contains the step's
// up and down buttons.

const pipeline = document.querySelector("ol.pipeline");

if (pipeline && !pipeline.closest("fieldset:disabled")) {
  const positionOf = (item) => [...pipeline.children].indexOf(item) + 1;
  pipeline.classList.add("draggable");
  dragItems(pipeline, {
    itemOf: (element) => element.closest(".step")?.parentElement,
    targetOf: ({ item, x, y }) => {
      const over = document.elementFromPoint(x, y)?.closest(".pipeline > li");
      if (!over || over === item) return null;
      over.classList.toggle("below", positionOf(over) > positionOf(item));
      return over;
    },
    scrollersAt: () => [document.querySelector("main"), document.scrollingElement],
    drop: (item, over) => sendWith(item.querySelector(".updown"), "to", positionOf(over)),
  });
}
