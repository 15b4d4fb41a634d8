// A person who uses only the keyboard and must see, after every key, which element has the focus.

const TABS_MAX = 150;

/// Waits for the page to which the last key leads. Returns its focused element, with the reason if the focus cannot be
/// seen.
async function settled(page) {
  for (;;) {
    await page.waitForLoadState();
    try {
      return await focused(page);
    } catch (error) {
      // The browser left the page during the evaluation.
      if (!error.message.includes('Execution context was destroyed')) {
        throw error;
      }
    }
  }
}

function focused(page) {
  return page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    const element = document.activeElement;
    const hasRing = (style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    const box = element.getBoundingClientRect();
    // A link can span several lines.
    const [line = box] = element.getClientRects();
    const [x, y] = [line.x + Math.min(line.width, innerWidth) / 2, line.y + Math.min(line.height / 2, 20)];
    const at = document.elementFromPoint(x, y);
    const reasons = [
      [element === document.body || element === document.documentElement, 'nothing has the focus'],
      [!element.checkVisibility({ visibilityProperty: true, opacityProperty: true }), 'it is hidden'],
      [box.width === 0 || box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight, 'it is outside the window'],
      [at === null || !(element.contains(at) || at.contains(element)), `it is covered by ${at?.outerHTML.slice(0, 80)}`],
      // The link of a card shows the focus around the whole card.
      [![null, '::after'].some((part) => hasRing(getComputedStyle(element, part))), 'it has no ring'],
    ];
    return {
      html: element.outerHTML.slice(0, 160).replace(/\s+/g, ' '),
      text: element.textContent.trim(),
      id: element.id,
      name: element.getAttribute('name'),
      value: element.getAttribute('value'),
      href: element.getAttribute('href'),
      action: element.form?.getAttribute('action') ?? null,
      isGo: element.matches('.go'),
      reason: reasons.find(([isSo]) => isSo)?.[1],
    };
  });
}

export function typist(page, fault) {
  const stopAfter = async (key) => {
    const stop = await settled(page);
    if (stop.reason) {
      fault(`${page.url()}: after ${key}, ${stop.reason}: ${stop.html}`);
    }
    return stop;
  };
  /// Presses a key, waits for `effect`, and checks that the focus can be seen.
  const press = async (key, effect) => {
    await Promise.all([effect?.(), page.keyboard.press(key)]);
    return stopAfter(key);
  };
  /// Presses a shortcut of two keys. The page accepts the second key only for a moment after the first, and a check of
  /// the focus can take longer on a busy machine. Therefore `pressBoth` first presses the first key alone and checks
  /// the focus.
  const pressBoth = async (first, second, effect) => {
    await press(first);
    await press('Escape');
    await Promise.all([effect(), page.keyboard.press(first).then(() => page.keyboard.press(second))]);
    return stopAfter(`${first} ${second}`);
  };
  const type = async (text) => {
    for (const letter of text) {
      await page.keyboard.type(letter);
      await stopAfter(letter);
    }
  };
  /// Presses Tab or Shift+Tab until the focus is on the control that `is` describes.
  const tabTo = async (is, key = 'Tab') => {
    let stop;
    for (let nth = 0; nth < TABS_MAX; nth += 1) {
      stop = await press(key);
      if (is(stop)) {
        return stop;
      }
    }
    throw new Error(`${page.url()}: ${TABS_MAX} stops, and none is ${is}; the last is ${stop.html}`);
  };
  return { press, pressBoth, type, tabTo, stopAfter };
}
