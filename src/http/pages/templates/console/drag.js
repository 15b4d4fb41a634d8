// Dragging with a mouse or a pen. A finger scrolls instead. Controls on the page have the same effects as dragging.

const DRAG_PIXELS_MIN = 6;
const SCROLL_ZONE_PIXELS = 48;
const SCROLL_PIXELS_MAX = 18;

/** Sends a form as if a button with this name and value had been pressed. */
function sendWith(form, name, value) {
  const button = document.createElement("button");
  button.name = name;
  button.value = value;
  button.hidden = true;
  form.append(button);
  form.requestSubmit(button);
  button.remove();
}

/** Returns the distance by which to scroll a box while the pointer is at this position. The distance is 0 unless the
    pointer is near the start or the end of the box. */
function pull(position, start, end) {
  const near = Math.max(start + SCROLL_ZONE_PIXELS - position, 0) - Math.max(position - end + SCROLL_ZONE_PIXELS, 0);
  return -Math.max(-1, Math.min(1, near / SCROLL_ZONE_PIXELS)) * SCROLL_PIXELS_MAX;
}

/**
 * Lets people drag items within `root`; Escape cancels.
 *   itemOf(element)    the item that a press on an element drags, if any
 *   targetOf(drag)     the element on which the item would be dropped now, if any; it has the class `over`
 *   scrollersAt(x, y)  the elements that scroll while the pointer is near their edge
 *   drop(item, target) handles the drop of the item on the target
 */
function dragItems(root, { itemOf, targetOf, scrollersAt, drop }) {
  let drag = null;

  const aim = (target) => {
    drag.target?.classList.remove("over");
    drag.target = target;
    target?.classList.add("over");
  };
  const scrollNear = () => {
    if (!drag?.ghost) return;
    for (const scroller of scrollersAt(drag.x, drag.y)) {
      if (!scroller) continue;
      const { left, right, top, bottom } = scroller.getBoundingClientRect();
      scroller.scrollLeft += pull(drag.x, left, right);
      scroller.scrollTop += pull(drag.y, Math.max(top, 0), Math.min(bottom, innerHeight));
    }
    requestAnimationFrame(scrollNear);
  };
  const follow = () => {
    drag.ghost.style.translate = `${drag.x - drag.dx}px ${drag.y - drag.dy}px`;
    aim(targetOf(drag));
  };
  const lift = () => {
    const bounds = drag.item.getBoundingClientRect();
    drag.dx = drag.startX - bounds.left;
    drag.dy = drag.startY - bounds.top;
    drag.ghost = drag.item.cloneNode(true);
    for (const named of [drag.ghost, ...drag.ghost.querySelectorAll("[id]")]) named.removeAttribute("id");
    drag.ghost.inert = true;
    drag.ghost.classList.add("ghost");
    drag.ghost.style.width = `${bounds.width}px`;
    document.body.append(drag.ghost);
    drag.item.classList.add("lifted");
    getSelection()?.removeAllRanges();
    requestAnimationFrame(scrollNear);
  };
  const end = () => {
    const ended = drag;
    if (ended) aim(null);
    ended?.item.classList.remove("lifted");
    ended?.ghost?.remove();
    drag = null;
  };

  root.addEventListener("dragstart", (event) => event.preventDefault());
  root.addEventListener("pointerdown", (event) => {
    const item = event.button === 0 && event.pointerType !== "touch" && itemOf(event.target);
    if (item) drag = { item, startX: event.clientX, startY: event.clientY, x: event.clientX, y: event.clientY };
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
    const { item, ghost, target } = drag;
    end();
    if (!ghost) return;
    // The click that ends a drag must not open a link.
    const ignore = (click) => click.preventDefault();
    addEventListener("click", ignore, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", ignore, { capture: true }), 0);
    if (target) drop(item, target);
    event.preventDefault();
  });
  addEventListener("pointercancel", end);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drag?.ghost) end();
  });
}
