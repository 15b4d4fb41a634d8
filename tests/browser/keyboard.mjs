// Checks that a candidate can get from the portal to a sent application with the keyboard only, and always sees the
// focus.

import { base } from './company.mjs';
import { field, inspect, screenshot, visitor, WORDS } from './browser.mjs';

const TABS_MAX = 120;

export async function check(browser, { acme, engineer }, fault) {
  for (const [width, height] of [[1280, 720], [390, 700]]) {
    const context = await visitor(browser, fault, { width, height });
    await travel(await context.newPage(), acme, engineer, width, (message) => fault(`${width} px: ${message}`));
    await context.close();
  }
}

async function travel(page, acme, role, width, fault) {
  const words = WORDS.en;
  await page.goto(`${base}/careers/${acme.slug}?lang=en&q=platform`);
  await page.keyboard.press('Tab');
  const first = await focused(page, fault);
  if (first.href !== '#main') {
    fault(`the first stop is ${first.html}, not the link to the content`);
  }
  await screenshot(page, `keyboard-${width}-skip`);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  if (!(await page.evaluate(() => document.querySelector('main').contains(document.activeElement)))) {
    fault('the stop after the link to the content is not in the content');
  }
  await tabTo(page, fault, ({ text }) => text === role.name);
  await screenshot(page, `keyboard-${width}-card`);
  await enter(page, /\/roles\//);
  await tabTo(page, fault, ({ text }) => text === words.apply);
  await screenshot(page, `keyboard-${width}-apply`);
  await enter(page, /\/signup\//);
  await inspect(page, fault);
  const typed = { name: 'Grace Hopper', email: `grace.${width}@example.org`, phone: '1', links: 'https://example.org', note: 'Hello.' };
  const openedAt = Date.now();
  for (const [name, value] of Object.entries(typed)) {
    await tabTo(page, fault, (stop) => stop.name === name);
    await page.keyboard.type(value);
  }
  await tabTo(page, fault, (stop) => stop.name === 'cv');
  await tabTo(page, fault, (stop) => stop.name === 'consent');
  await page.keyboard.press('Space');
  if ((await field(page, 'homepage').inputValue()) !== '') {
    fault('Tab reaches the honeypot field');
  }
  await tabTo(page, fault, ({ text }) => text === words.send);
  await screenshot(page, `keyboard-${width}-send`);
  await page.waitForTimeout(Math.max(0, 3200 - (Date.now() - openedAt)));
  await enter(page, /\/status\//);
  await inspect(page, fault);
  // Use the controls of the status page.
  await tabTo(page, fault, ({ text }) => text === words.withdraw);
  await page.keyboard.press('Enter');
  await tabTo(page, fault, ({ text }) => text === words.sure);
  await screenshot(page, `keyboard-${width}-status`);
}

async function enter(page, url) {
  await page.keyboard.press('Enter');
  await page.waitForURL(url);
  await page.waitForLoadState();
}

async function tabTo(page, fault, is) {
  let stop;
  for (let nth = 0; nth < TABS_MAX; nth += 1) {
    await page.keyboard.press('Tab');
    stop = await focused(page, fault);
    if (is(stop)) {
      return;
    }
  }
  throw new Error(`${page.url()}: ${TABS_MAX} stops, and none is the expected one; the last is ${stop.html}`);
}

/// Returns the focused element. Unless it is the body, reports a fault if it is outside the window, covered or without
/// an outline.
async function focused(page, fault) {
  const stop = await page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    const element = document.activeElement;
    const outline = (style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    const box = element.getBoundingClientRect();
    const [x, y] = [box.x + Math.min(box.width / 2, innerWidth / 2), box.y + Math.min(box.height / 2, 20)];
    const at = document.elementFromPoint(x, y);
    return {
      html: element.outerHTML.slice(0, 120),
      text: element.textContent.trim(),
      name: element.getAttribute('name'),
      href: element.getAttribute('href'),
      isBody: element === document.body,
      isSeen: box.width > 0 && x >= 0 && y >= 0 && x < innerWidth && y < innerHeight,
      isFree: at !== null && (element.contains(at) || at.contains(element)),
      // The link of a role in a list shows the focus around the role's whole entry.
      hasOutline: outline(getComputedStyle(element)) || outline(getComputedStyle(element, '::after')),
    };
  });
  if (!stop.isBody && !(stop.isSeen && stop.isFree && stop.hasOutline)) {
    fault(`${page.url()}: the focus is not visible on ${stop.html} (in the window: ${stop.isSeen}, free: ${stop.isFree}, outline: ${stop.hasOutline})`);
  }
  return stop;
}
